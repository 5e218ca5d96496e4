/* SPDX-License-Identifier: GPL-2.0-only */
/* For node.c and node_out.c. */
#ifndef INC_SIM_NODE_H
#define INC_SIM_NODE_H

#include "sim.h"

/* The partial of a block, as it has gone up last. */
struct partial_sent {
	bool valid;
	u64 block;
	u32 epoch;
	u32 opseq;
	u16 flags;
	u32 len;		/* of the result of it, bytes */
	u8 dtype;
};

struct node_group {
	struct netinc_group g;
	struct node_group *next;
	struct node *node;	/* with what is this group's own */
	void *mem;
	u32 link[SIM_MAX_HOSTS];	/* where a child's packets go to, as the engine has said */
	struct partial_sent sent[SIM_DELIVERED];
};

static inline struct node_group *node_group_of(struct netinc_group *g)
{
	return container_of(g, struct node_group, g);
}

static inline struct node *node_of(struct netinc_group *g)
{
	return node_group_of(g)->node;
}

extern const struct netinc_agg_ops node_agg_ops;

/* node.c */
/* Do all come by one port, so that multicast reaches them? */
bool node_may_hear(struct netinc_group *g, u32 child);

/* node_out.c */
/* For a host, by its address; it leaves with node_flush(). */
void node_queue(struct node *n, u32 to, struct dgram *d);
/* A control packet, for a child or NETINC_ALL. */
void node_send(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt, const void *body,
	       u32 len);
void node_flush(struct node *n);
bool node_silent(const struct node *n);
/* A contribution without elements, or such a result: several in a row are one packet. */
void node_queue_empty(struct node *n, u32 to, const struct netinc_pkt *pkt);

/* node_up.c */
/* Control packets and partials to the parent. */
void node_send_up(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body, u32 len);
void node_send_partial(struct netinc_agg *agg, const struct netinc_slot *slot, u32 part,
		       bool again);
/* A result has come from the parent: it is that of the partial which has gone up. */
void node_verify_taken(struct netinc_agg *agg, const struct netinc_slot *slot);
/* A frame from the parent. */
void node_rx_down(struct node *n, const struct frame *f);

#endif
