/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nodes that are announced on links by LLDP (IEEE 802.1AB): an organizationally specific TLV, which
 * lldpd sends and receives for us. OUI 02-49-4E, which is locally administered, subtype 1; then a
 * byte 1 (version), a byte 4 or 6, the UDP port (big-endian), and the address.
 */
#ifndef INC_TOOL_LLDP_H
#define INC_TOOL_LLDP_H

#include "ask.h"

#define LLDP_MAX_NODES	16

struct lldp_node {
	char dev[16];
	struct ask_target at;
};

/* All ports of lldpd announce this node, NULL: none. 0, or the exit status, with the error said. */
int lldp_announce(const struct ask_target *at);
/*
 * What neighbours announce, by @dev or (NULL) any port: how many, no two of one device the same.
 * Less than 0: minus the exit status, with the error said; more than LLDP_MAX_NODES are one.
 */
int lldp_find(const char *dev, struct lldp_node *nodes);

#endif
