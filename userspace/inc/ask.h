/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `inc ping` and `inc topo` share: the nodes that they ask from a UDP socket, as a rank does
 * that wants to join.
 */
#ifndef INC_TOOL_ASK_H
#define INC_TOOL_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/inc_wire.h>

#include "tool.h"

struct ask_target {
	struct addr addr;
	uint16_t port;
	uint32_t ifindex;	/* of a link-local address, or that packets are to go by; 0: any */
	bool bound;		/* nothing goes or comes by another device */
};

/* A JOIN, the first of a rank that is alone in its group. */
struct ask_question {
	struct inc_hdr hdr;
	struct inc_join join;
};

void ask_make_question(struct ask_question *q, uint32_t group, uint32_t nonce);
/* Microseconds of CLOCK_MONOTONIC. */
uint64_t ask_now(void);
/* INC's UDP port on this machine: the module's, or the usual one if there is no module. */
uint16_t ask_own_port(void);
/* The parent of this network namespace; 0, or the exit status, with the error printed. */
int ask_parent(struct ask_target *to);
/* @text, an address or a name, by @dev if that is given. Likewise. */
int ask_given(struct ask_target *to, const char *text, const struct arg *dev);
bool ask_same(const struct ask_target *a, const struct ask_target *b);
/* Valid until the next call. */
const char *ask_text(const struct ask_target *to);
/* The same; a link-local address with its interface behind it, as fe80::1%eth0. */
const char *ask_place(const struct ask_target *to);
/* A socket that only hears what comes from there, or a negative errno; open: which it prints. */
int ask_connect(const struct ask_target *to);
int ask_open(const struct ask_target *to);

#endif
