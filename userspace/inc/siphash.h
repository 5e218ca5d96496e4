/* SPDX-License-Identifier: GPL-2.0-only */
/* The proof in a JOIN: that its sender has a node's key. Layout: protocol.rst, Joining. */
#ifndef INC_TOOL_SIPHASH_H
#define INC_TOOL_SIPHASH_H

#include <linux/inc_wire.h>

/* Fills in @join->proof, of a rank's JOIN to @group; the rest of it is as it goes out. */
void join_prove(struct inc_join *join, uint32_t group, uint32_t rank,
		const unsigned char key[INC_KEY_LEN]);

#endif
