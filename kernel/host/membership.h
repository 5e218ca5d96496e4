/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A rank's membership of an IP multicast group, if its node sends results to one: at most one, as
 * long as the rank is in the run in which the node has said so.
 */
#ifndef NETINC_HOST_MEMBERSHIP_H
#define NETINC_HOST_MEMBERSHIP_H

#include <linux/in.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct netinc_rank;
struct socket;

struct netinc_membership {
	struct work_struct work;	/* makes it what the engine says */
	/* address of the group that the rank is in, or is about to be; 0: none; rank->lock */
	__be32 group;
	struct socket *sock;		/* which is in the group; the work's, NULL: there is none */
};

void netinc_membership_init_rank(struct netinc_rank *rank);
/* The rank is dead: it is in none from now on. May sleep. */
void netinc_membership_fini_rank(struct netinc_rank *rank);
/* Is it not what the engine says? Then it is to be updated. With the rank's lock. */
bool netinc_membership_changed(const struct netinc_rank *rank);
/* Makes it what the engine says, some time later. */
void netinc_membership_update(struct netinc_rank *rank);
/* Is @addr, of IPv4, the group that the rank is in? With the rank's lock. */
bool netinc_membership_has(const struct netinc_rank *rank, const u8 *addr);

int netinc_membership_init(void);
void netinc_membership_fini(void);

#endif
