// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events for the multicast group, and errors: numbers and addresses, of which the reader makes
 * words.
 */
#include <linux/math64.h>
#include <linux/netlink.h>
#include <net/genetlink.h>
#include "engine/endpoint.h"
#include "engine/group.h"
#include "core/events.h"
#include "netlink/nl_policy.h"
#include "netlink/nl_put.h"

struct event {
	enum inc_event type;
	u32 ifindex;		/* 0: none */
	bool about_node;
	bool about_group;
	u32 group;
	u8 stripe;		/* INC_STRIPE() */
	u32 incarnation;
	u32 epoch;
	u32 rank;		/* NETINC_NO_RANK: none */
	const struct netinc_error *error;	/* NULL or code 0: none */
	bool late;		/* there is a block, and for how long it was waited for */
	u64 block;
	bool waits;		/* it is told for how long it was waited */
	u64 waited_us;
	bool moves;		/* there is a placement */
	u8 placement;
	const struct netinc_peer *place;	/* NULL or family 0: none */
	const char *tenant;	/* NULL: none */
	bool about_limits;	/* there is a scope */
	enum inc_limit_scope scope;
};

/* Puts what one side of a disagreement has asked for; nothing if that is not known. */
static int put_desc(struct sk_buff *skb, int attr, const struct inc_desc *d)
{
	struct nlattr *nest;

	if (!d->coll)
		return 0;
	nest = nla_nest_start(skb, attr);
	if (!nest || nla_put_u32(skb, INC_A_DESC_COLL, d->coll) ||
	    nla_put_u32(skb, INC_A_DESC_TYPE, d->type) || nla_put_u32(skb, INC_A_DESC_OP, d->op) ||
	    nla_put_u32(skb, INC_A_DESC_WIRE, d->wire) ||
	    nla_put_u32(skb, INC_A_DESC_MODE, d->mode) ||
	    nla_put_u32(skb, INC_A_DESC_ROOT, be32_to_cpu(d->root)) ||
	    nla_put_u32(skb, INC_A_DESC_OPSEQ, be32_to_cpu(d->opseq)) ||
	    netinc_nl_put_u64(skb, INC_A_DESC_COUNT, be64_to_cpu(d->count)) ||
	    (d->mode & INC_MODE_COUNTS &&
	     nla_put_u32(skb, INC_A_DESC_COUNTS_HASH, (u32)be64_to_cpu(d->counts_hash))))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

int netinc_nl_put_error_nest(struct sk_buff *skb, int attr, const struct netinc_error *e)
{
	struct nlattr *nest;

	if (!e || !e->code)
		return 0;
	nest = nla_nest_start(skb, attr);
	if (!nest || nla_put_u32(skb, INC_A_ERROR_CODE, e->code) ||
	    nla_put_u32(skb, INC_A_ERROR_OPSEQ, e->opseq) ||
	    (e->rank[0] != NETINC_NO_RANK && nla_put_u32(skb, INC_A_ERROR_RANK0, e->rank[0])) ||
	    (e->rank[1] != NETINC_NO_RANK && nla_put_u32(skb, INC_A_ERROR_RANK1, e->rank[1])) ||
	    put_desc(skb, INC_A_ERROR_DESC0, &e->desc[0]) ||
	    put_desc(skb, INC_A_ERROR_DESC1, &e->desc[1]))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/*
 * @hide: which run of a group it is, and where that goes to, which dumps do not tell everybody
 * either.
 */
static int fill_event(struct sk_buff *skb, const struct event *e, bool hide)
{
	if (nla_put_u32(skb, INC_A_EVENT_TYPE, e->type) ||
	    ((e->ifindex || e->about_node) &&
	     nla_put_u32(skb, INC_A_EVENT_IFINDEX, e->ifindex)) ||
	    (e->about_group && (nla_put_u32(skb, INC_A_EVENT_GROUP, e->group) ||
				(!hide &&
				 nla_put_u32(skb, INC_A_EVENT_INCARNATION, e->incarnation)) ||
				nla_put_u32(skb, INC_A_EVENT_EPOCH, e->epoch))) ||
	    netinc_nl_put_stripe(skb, INC_A_EVENT_STRIPE, INC_A_EVENT_STRIPES, e->stripe) ||
	    (e->rank != NETINC_NO_RANK && nla_put_u32(skb, INC_A_EVENT_RANK, e->rank)) ||
	    (e->late && netinc_nl_put_u64(skb, INC_A_EVENT_BLOCK, e->block)) ||
	    (e->waits &&
	     nla_put_u32(skb, INC_A_EVENT_WAITED_MS, netinc_nl_to_ms(e->waited_us))) ||
	    (e->moves && nla_put_u32(skb, INC_A_EVENT_PLACEMENT, e->placement)) ||
	    (e->tenant && nla_put_string(skb, INC_A_EVENT_TENANT, e->tenant)) ||
	    (e->about_limits && nla_put_u32(skb, INC_A_EVENT_SCOPE, e->scope)) ||
	    (e->place && e->place->family && !(hide && e->about_group) &&
	     netinc_nl_put_parent_nest(skb, INC_A_EVENT_PARENT, e->place)))
		return -EMSGSIZE;
	return netinc_nl_put_error_nest(skb, INC_A_EVENT_ERROR, e->error);
}

/* To one of the multicast groups. */
static void send_to(struct net *net, u32 listeners, const struct event *e)
{
	struct nlattr *nest;
	struct sk_buff *skb;
	void *hdr;

	if (!netinc_nl_ready() || !genl_has_listeners(&netinc_nl_family, net, listeners))
		return;
	skb = genlmsg_new(NLMSG_GOODSIZE, GFP_ATOMIC);
	if (!skb)
		return;
	hdr = genlmsg_put(skb, 0, 0, &netinc_nl_family, 0, INC_CMD_EVENT);
	nest = hdr ? nla_nest_start(skb, INC_A_EVENT) : NULL;
	if (!nest || fill_event(skb, e, listeners != INC_NLGRP_DETAILS)) {
		nlmsg_free(skb);
		return;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	genlmsg_multicast_netns(&netinc_nl_family, net, skb, 0, listeners, GFP_ATOMIC);
}

static void send_event(struct net *net, const struct event *e)
{
	send_to(net, INC_NLGRP_EVENTS, e);
	send_to(net, INC_NLGRP_DETAILS, e);
}

void netinc_event_node(struct net *net, enum inc_event type, u32 ifindex)
{
	struct event e = {
		.type = type, .ifindex = ifindex, .about_node = true, .rank = NETINC_NO_RANK
	};

	send_event(net, &e);
}

void netinc_event_group(struct net *net, enum inc_event type, const struct netinc_group *g,
			u32 ifindex, u32 rank)
{
	struct event e = { .type = type,
			   .ifindex = ifindex,
			   .about_group = true,
			   .group = g->cfg.id,
			   .stripe = g->cfg.stripe,
			   .incarnation = g->cfg.incarnation,
			   .epoch = g->epoch,
			   .rank = rank };

	if (type == INC_EVENT_GROUP_ERROR) {
		e.error = &g->error;
	} else if (type == INC_EVENT_RANK_LATE || type == INC_EVENT_RANK_BACK) {
		e.late = true;
		e.waits = true;
		e.block = g->late_block;
		e.waited_us = g->late_us;
	}
	send_event(net, &e);
}

void netinc_event_rank(struct net *net, enum inc_event type, const struct netinc_ep *ep)
{
	struct event e = { .type = type,
			   .about_group = true,
			   .group = ep->cfg.group,
			   .stripe = ep->cfg.stripe,
			   .incarnation = ep->incarnation,
			   .epoch = ep->epoch,
			   .rank = ep->cfg.rank };

	if (type == INC_EVENT_GROUP_ERROR) {
		e.error = &ep->error;
	} else if (type == INC_EVENT_MOVING || type == INC_EVENT_MOVED) {
		e.moves = true;
		e.placement = netinc_ep_placement(ep);
		e.place = &ep->plan[netinc_ep_place(ep, ep->move)];
	}
	send_event(net, &e);
}

void netinc_event_parent(struct net *net, const struct netinc_peer *parent)
{
	struct event e = { .type = INC_EVENT_PARENT,
			   .ifindex = parent->ifindex,
			   .rank = NETINC_NO_RANK,
			   .place = parent };

	send_event(net, &e);
}

void netinc_event_rank_parent(struct net *net, enum inc_event type, const struct netinc_ep *ep,
			      const struct netinc_peer *parent, u64 us)
{
	struct event e = { .type = type,
			   .about_group = true,
			   .group = ep->cfg.group,
			   .stripe = ep->cfg.stripe,
			   .incarnation = ep->incarnation,
			   .epoch = ep->epoch,
			   .rank = ep->cfg.rank,
			   .waits = true,
			   .waited_us = us,
			   .place = parent };

	send_event(net, &e);
}

void netinc_event_group_parent(struct net *net, enum inc_event type, const struct netinc_group *g,
			       u32 ifindex, const struct netinc_peer *parent, u64 us)
{
	struct event e = { .type = type,
			   .ifindex = ifindex,
			   .about_node = true,
			   .about_group = true,
			   .group = g->cfg.id,
			   .stripe = g->cfg.stripe,
			   .incarnation = g->cfg.incarnation,
			   .epoch = g->epoch,
			   .rank = NETINC_NO_RANK,
			   .waits = true,
			   .waited_us = us,
			   .place = parent };

	send_event(net, &e);
}

void netinc_event_tenant(struct net *net, enum inc_event type, const char *name)
{
	struct event e = { .type = type, .rank = NETINC_NO_RANK, .tenant = name };

	send_event(net, &e);
}

void netinc_event_limits(struct net *net, enum inc_limit_scope scope)
{
	struct event e = { .type = INC_EVENT_LIMIT_SET,
			   .rank = NETINC_NO_RANK,
			   .about_limits = true,
			   .scope = scope };

	send_event(net, &e);
}
