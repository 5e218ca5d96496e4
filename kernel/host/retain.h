/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Services that the endpoint engine wants of its host so that a rank can go on at another node: see
 * engine/ep_move.c and ep_retain.c.
 */
#ifndef NETINC_HOST_RETAIN_H
#define NETINC_HOST_RETAIN_H

#include "engine/endpoint.h"

struct netinc_rank;

/*
 * Payload that is kept: copies, each in a place that holds a block. All places that there may be
 * are charged when READY comes; each is allocated when it is needed first, and used again until the
 * rank goes.
 */
struct netinc_store {
	/* places not in use, linked by their first bytes; rank->lock, as the rest */
	void *spare;
	u32 place;		/* bytes of one */
	u32 places;		/* that there are */
	u32 most;		/* that there may be */
	s64 charged;		/* bytes */
	int refused;		/* errno of the limit that has been met; 0: none was */
};

bool netinc_retain_init(struct netinc_ep *ep, u32 n);
bool netinc_retain_payload(struct netinc_ep *ep, struct netinc_pay *pay);
void netinc_retain_release(struct netinc_ep *ep, struct netinc_pay *pay);
/* A place for what is going to be sent, which forget() takes back; NULL: there is no memory. */
void *netinc_retain_place(struct netinc_rank *rank);
/* The interface by which a rank reaches a place of its plan, 0: as the route says. */
u32 netinc_rank_oif(const struct netinc_rank *rank, const struct netinc_peer *peer);
bool netinc_rank_retarget(struct netinc_ep *ep, u32 at);
void netinc_rank_send_to(struct netinc_ep *ep, const struct netinc_peer *peer,
			 const struct netinc_pkt *pkt, const void *body, u32 len);
/* Frees the room and what is in it. Nobody uses the rank any more. */
void netinc_retain_fini(struct netinc_rank *rank);

#endif
