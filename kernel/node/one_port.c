// SPDX-License-Identifier: GPL-2.0-only
/*
 * Results by IP multicast, at a node: which group of addresses a group of ranks gets, by which port
 * its ranks are reached, and which hosts hear what goes there. The engine (group_multicast.c) knows
 * it of the ranks; a host hears when all ranks that share its copies do.
 */
#include <linux/random.h>
#include "core/nf_hooks.h"
#include "node/node_group.h"

/*
 * Chooses one of the IP multicast groups that results may go to. Groups of one node should not meet
 * there: who is in one would hear the other's results, too, and drop them. Switches send those on
 * to everybody which have the link address of 224.0.0.x.
 */
int netinc_node_group_choose(struct netinc_node_group *g, const struct netinc_node_cfg *limits,
			     struct netinc_group_cfg *cfg, gfp_t gfp)
{
	u32 bits, addr;
	__be32 said;

	if (!limits->multicast_len)
		return 0;
	bits = limits->multicast_len < 32 ? U32_MAX >> limits->multicast_len : 0;
	addr = be32_to_cpu(limits->multicast) | (get_random_u32() & bits);
	if (!(addr & 0x7fff00))
		addr |= bits & 0x100;
	said = cpu_to_be32(addr);
	cfg->multicast.family = AF_INET;
	cfg->multicast.udp_port = htons(netinc_port);
	memcpy(cfg->multicast.addr, &said, sizeof(said));
	if (netinc_path_init(&g->many, g->nn->net, &cfg->multicast, htons(netinc_port), 0, gfp)) {
		g->many.net = NULL;
		return -ENOMEM;
	}
	g->many.multicast = true;
	return 0;
}

/* Do they come by one port, over IPv4, and know the node by one address? */
static bool same_port(const struct netinc_node_group *g, u32 a, u32 b)
{
	const struct netinc_link *one = &g->link[a], *other = &g->link[b];

	return one->via == other->via && one->path.oif == other->path.oif &&
	       one->path.peer.family == AF_INET && other->path.peer.family == AF_INET &&
	       g->grp.members[a].peer.ifindex == g->grp.members[b].peer.ifindex &&
	       !memcmp(one->path.local, other->path.local, sizeof(one->path.local));
}

/* A member of this machine is reached by no port, and keeps the others from nothing. */
static void find_way(struct netinc_node_group *g)
{
	u32 way = NETINC_NO_RANK, i;

	g->way_known = true;
	g->way = NETINC_NO_RANK;
	for (i = 0; i < g->grp.nmembers; i++) {
		if (!g->grp.members[i].present || !g->link[i].via)
			continue;
		if (way == NETINC_NO_RANK)
			way = i;
		if (!same_port(g, way, i))
			return;
	}
	if (way == NETINC_NO_RANK)
		return;
	g->way = way;
	netinc_path_turn(&g->many, &g->grp.cfg.multicast, g->link[way].via,
			 g->link[way].path.local);
}

bool netinc_node_group_may_hear(struct netinc_node_group *g, u32 child)
{
	if (!g->many.net)
		return false;
	if (!g->way_known)
		find_way(g);
	return g->way != NETINC_NO_RANK && g->link[child].via;
}

static void find_hearing(struct netinc_node_group *g)
{
	const struct netinc_member *m = g->grp.members;
	u32 i;

	g->hearing_known = true;
	g->hearing_seen = g->grp.multicast.changes;
	g->nhearing = 0;
	for (i = 0; i < g->grp.nmembers; i++)
		g->link[i].hears = netinc_node_group_is_host(g, i);
	for (i = 0; i < g->grp.nmembers; i++)
		if (m[i].present && !(m[i].hears && netinc_node_group_may_hear(g, i)))
			g->link[g->link[i].host].hears = false;
	for (i = 0; i < g->grp.nmembers; i++)
		g->nhearing += g->link[i].hears;
}

u32 netinc_node_group_hearing(struct netinc_node_group *g)
{
	if (!g->many.net)
		return 0;
	if (!g->hearing_known || g->hearing_seen != g->grp.multicast.changes)
		find_hearing(g);
	return g->nhearing > 1 ? g->nhearing : 0;
}
