/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets of a group to the parent of its node, and from it. */
#ifndef NETINC_NODE_UPLINK_IO_H
#define NETINC_NODE_UPLINK_IO_H

#include "node/node_group.h"

/* The group, which nobody has seen yet, may have to ask @parent. 0 or a negative errno. */
int netinc_uplink_init(struct netinc_node_group *g, const struct netinc_peer *parent,
		       struct netinc_group_cfg *cfg, gfp_t gfp);

/* Of struct netinc_group_ops and struct netinc_agg_ops. */
void netinc_uplink_send(struct netinc_group *grp, const struct netinc_pkt *pkt, const void *body,
			u32 len);
void netinc_uplink_send_partial(struct netinc_agg *agg, const struct netinc_slot *slot, u32 part,
				bool again);
/* What waits for more to leave with. */
void netinc_uplink_flush(struct netinc_node_group *g);

#endif
