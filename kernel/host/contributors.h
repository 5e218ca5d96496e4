/* SPDX-License-Identifier: GPL-2.0-only */
/* The ranks that the last partial results of a rank are made of: for INC_IOC_CONTRIBUTED. */
#ifndef NETINC_HOST_CONTRIBUTORS_H
#define NETINC_HOST_CONTRIBUTORS_H

#include <linux/inc_socket.h>

#define NETINC_CONTRIBUTED	16	/* completions that are remembered */

struct netinc_rank;
struct netinc_op_request;

/* The result of an operation that some ranks are not in. */
struct netinc_contributors {
	u64 handle;		/* 0: none */
	u32 size;		/* ranks of the group */
	u32 missing;
	u32 ranks[INC_MAX_RANKS / 32];	/* bit rank % 32 of rank / 32: is in it */
};

struct netinc_contributed {
	u32 next;
	struct netinc_contributors last[NETINC_CONTRIBUTED];
};

/* Ranks that are not in the result. */
u32 netinc_contributed_missing(const struct netinc_op_request *req);
/* A completion is about to be handed over: remember it if it is partial. Process context. */
void netinc_contributed_note(struct netinc_rank *rank, const struct netinc_op_request *req);
/* What has been remembered; @known NULL: nothing has. */
void netinc_contributed_free(struct netinc_rank *rank, struct netinc_contributed *known);
/* Those of the operation @handle, or of the last one if it is 0, to @c; 0 or -ENOENT. */
int netinc_contributed_get(struct netinc_rank *rank, u64 handle, struct netinc_contributors *c);

#endif
