/* SPDX-License-Identifier: GPL-2.0-only */
/* The ranks that the last partial results of a rank are made of: for INC_IOC_CONTRIBUTED. */
#ifndef NETINC_HOST_CONTRIBUTORS_H
#define NETINC_HOST_CONTRIBUTORS_H

#include <linux/inc_socket.h>

#define NETINC_CONTRIBUTED	16	/* completions that are remembered */

struct netinc_rank;
struct netinc_op_request;

struct netinc_contributed {
	u32 next;
	struct inc_contributed last[NETINC_CONTRIBUTED];	/* handle 0: none */
};

/* Ranks that are not in the result. */
u32 netinc_contributed_missing(const struct netinc_op_request *req);
/* A completion is about to be handed over: remember it if it is partial. Process context. */
void netinc_contributed_note(struct netinc_rank *rank, const struct netinc_op_request *req);
/* Fills in the rest of @c; 0 or -ENOENT. */
int netinc_contributed_get(struct netinc_rank *rank, struct inc_contributed *c);

#endif
