/* SPDX-License-Identifier: GPL-2.0-only */
/* What the endpoint engine wants of its host so that a rank can go on at another node: see engine/move.c and kept.c. */
#ifndef NETINC_FAILOVER_H
#define NETINC_FAILOVER_H

#include "engine/endpoint.h"

struct netinc_rank;

bool netinc_failover_keep_room(struct netinc_ep *ep, u32 n);
bool netinc_failover_keep(struct netinc_ep *ep, struct netinc_pay *pay);
void netinc_failover_forget(struct netinc_ep *ep, struct netinc_pay *pay);
/* The interface by which a rank reaches a place of its plan, 0: as the route says. */
u32 netinc_failover_oif(const struct netinc_rank *rank, const struct netinc_peer *peer);
bool netinc_failover_retarget(struct netinc_ep *ep, u32 at);
void netinc_failover_send_to(struct netinc_ep *ep, const struct netinc_peer *peer, const struct netinc_pkt *pkt,
			     const void *body, u32 len);
/* Copies the @len bytes of what is kept as @pay. */
void netinc_failover_copy(const struct netinc_pay *pay, void *to, u32 len);
/* Frees the room and what is in it. The rank's lock is held, or nobody uses it any more. */
void netinc_failover_fini(struct netinc_ep *ep);

#endif
