/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Of Linux, core/nf_hooks.h and node/node_group.h what node/one_port.c uses, for test_one_port.c.
 */
#ifndef INC_STUB_ONE_PORT_H
#define INC_STUB_ONE_PORT_H

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "engine/group.h"

#define U32_MAX	(~0u)
#define gfp_t	unsigned int

struct net;

struct netinc_net {
	struct net *net;
};

struct netinc_node_cfg {
	__be32 multicast;
	u8 multicast_len;
};

struct netinc_path {
	struct net *net;
	struct netinc_peer peer;
	u32 oif;
	u8 local[16];
	bool multicast;
};

struct netinc_link {
	struct netinc_path path;
	u32 host, via;
	bool hears;
};

struct netinc_node_group {
	struct netinc_net *nn;
	struct netinc_path many;
	u32 way, nhearing, hearing_seen;
	bool way_known, hearing_known;
	struct netinc_link *link;
	struct netinc_group grp;
};

extern unsigned short netinc_port;

u32 get_random_u32(void);
int netinc_path_init(struct netinc_path *path, struct net *net, const struct netinc_peer *peer,
		     __be16 sport, u32 oif, gfp_t gfp);
void netinc_path_turn(struct netinc_path *path, const struct netinc_peer *peer, u32 oif,
		      const u8 *local);

static inline bool netinc_node_group_is_host(const struct netinc_node_group *g, u32 child)
{
	return g->link[child].host == child && g->grp.members[child].present;
}

int netinc_node_group_choose(struct netinc_node_group *g, const struct netinc_node_cfg *limits,
			     struct netinc_group_cfg *cfg, gfp_t gfp);
bool netinc_node_group_may_hear(struct netinc_node_group *g, u32 child);
u32 netinc_node_group_hearing(struct netinc_node_group *g);

#endif
