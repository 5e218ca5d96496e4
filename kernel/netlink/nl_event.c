// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events for the multicast group, and errors in words: a group's error names the ranks on both
 * sides and what each of them asked for.
 */
#include <linux/math64.h>
#include <linux/netlink.h>
#include <net/genetlink.h>
#include "engine/endpoint.h"
#include "engine/group.h"
#include "core/events.h"
#include "netlink/nl_family.h"
#include "reduce/reduce.h"

struct event {
	enum inc_event type;
	u32 ifindex;		/* 0: none */
	bool about_group;
	u32 group;
	u32 incarnation;
	u32 epoch;
	u32 rank;		/* NETINC_NO_RANK: none */
	const char *text;	/* NULL: none */
};

static const char * const causes[] = {
#define INC_ERROR(number, text) [number] = text,
#include <linux/inc_names.h>
#undef INC_ERROR
};

static int put_desc(char *buf, int size, u32 rank, const struct inc_desc *d)
{
	int len = scnprintf(buf, size, "rank %u: %s", rank, netinc_coll_name(d->coll));

	if (d->type != INC_TYPE_NONE)
		len += scnprintf(buf + len, size - len, " %s", netinc_type_name(d->type));
	if (d->op != INC_OP_NONE)
		len += scnprintf(buf + len, size - len, " %s", netinc_op_name(d->op));
	if (d->type != INC_TYPE_NONE)
		len += scnprintf(buf + len, size - len, " %llu", be64_to_cpu(d->count));
	if (d->wire != d->type)
		len += scnprintf(buf + len, size - len, " as %s", netinc_type_name(d->wire));
	if (d->coll <= INC_COLL_MAX && netinc_coll_rooted(d->coll))
		len += scnprintf(buf + len, size - len, " root %u", be32_to_cpu(d->root));
	if (d->mode & INC_MODE_SATURATE)
		len += scnprintf(buf + len, size - len, " saturating");
	if (d->mode & INC_MODE_COUNTS)
		len += scnprintf(buf + len, size - len, " with counts %08x",
				 (u32)be64_to_cpu(d->counts_hash));
	return len;
}

/* Both sides of a disagreement, as far as they are known. */
static void put_sides(char *buf, const struct netinc_error *e)
{
	bool order = e->desc[0].opseq != e->desc[1].opseq;
	int len = 0, i;

	if (e->code == INC_ERR_UNSUPPORTED)
		len = scnprintf(buf, NETINC_ERROR_TEXT, "%s: ", causes[e->code]);
	for (i = 0; i < 2; i++) {
		if (e->rank[i] == NETINC_NO_RANK)
			continue;
		if (i && e->rank[0] != NETINC_NO_RANK)
			len += scnprintf(buf + len, NETINC_ERROR_TEXT - len, ", ");
		len += put_desc(buf + len, NETINC_ERROR_TEXT - len, e->rank[i], &e->desc[i]);
		if (order)
			len += scnprintf(buf + len, NETINC_ERROR_TEXT - len, " as operation %u",
					 be32_to_cpu(e->desc[i].opseq));
	}
}

void netinc_nl_error_text(char *buf, const struct netinc_error *e)
{
	const char *cause = e->code < ARRAY_SIZE(causes) && causes[e->code] ? causes[e->code] :
									      "unknown error";

	if (e->rank[0] == NETINC_NO_RANK)
		scnprintf(buf, NETINC_ERROR_TEXT, "%s", cause);
	else if (e->desc[0].coll)
		put_sides(buf, e);
	else if (e->code == INC_ERR_MISMATCH)
		scnprintf(buf, NETINC_ERROR_TEXT, "%s: rank %u with what was completed without it",
			  cause, e->rank[0]);
	else
		scnprintf(buf, NETINC_ERROR_TEXT, "rank %u %s", e->rank[0], cause);
}

static void late_text(char *buf, enum inc_event type, const struct netinc_group *g)
{
	scnprintf(buf, NETINC_ERROR_TEXT, "block %llu %s for %llu ms", g->late_block,
		  type == INC_EVENT_RANK_LATE ? "has waited" : "waited", div_u64(g->late_us, 1000));
}

static int fill_event(struct sk_buff *skb, const struct event *e)
{
	if (nla_put_u8(skb, INC_A_EVENT_TYPE, e->type) ||
	    (e->ifindex && nla_put_u32(skb, INC_A_EVENT_IFINDEX, e->ifindex)) ||
	    (e->about_group && (nla_put_u32(skb, INC_A_EVENT_GROUP, e->group) ||
				nla_put_u32(skb, INC_A_EVENT_INCARNATION, e->incarnation) ||
				nla_put_u32(skb, INC_A_EVENT_EPOCH, e->epoch))) ||
	    (e->rank != NETINC_NO_RANK && nla_put_u32(skb, INC_A_EVENT_RANK, e->rank)) ||
	    (e->text && nla_put_string(skb, INC_A_EVENT_TEXT, e->text)))
		return -EMSGSIZE;
	return 0;
}

static void send_event(struct net *net, const struct event *e)
{
	struct nlattr *nest;
	struct sk_buff *skb;
	void *hdr;

	if (!netinc_nl_ready() || !genl_has_listeners(&netinc_nl_family, net, 0))
		return;
	skb = genlmsg_new(NLMSG_GOODSIZE, GFP_ATOMIC);
	if (!skb)
		return;
	hdr = genlmsg_put(skb, 0, 0, &netinc_nl_family, 0, INC_CMD_EVENT);
	nest = hdr ? nla_nest_start(skb, INC_A_EVENT) : NULL;
	if (!nest || fill_event(skb, e)) {
		nlmsg_free(skb);
		return;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	genlmsg_multicast_netns(&netinc_nl_family, net, skb, 0, 0, GFP_ATOMIC);
}

static void put_addr(char *text, int size, const struct netinc_peer *peer)
{
	u32 port = be16_to_cpu((__force __be16)peer->udp_port);

	if (peer->family == AF_INET)
		scnprintf(text, size, "%pI4 port %u", peer->addr, port);
	else if (peer->family == AF_INET6)
		scnprintf(text, size, "%pI6c port %u", peer->addr, port);
	else
		scnprintf(text, size, "none");
}

void netinc_event_node(struct net *net, enum inc_event type, u32 ifindex)
{
	struct event e = { .type = type, .ifindex = ifindex, .rank = NETINC_NO_RANK };

	send_event(net, &e);
}

void netinc_event_group(struct net *net, enum inc_event type, const struct netinc_group *g,
			u32 ifindex, u32 rank)
{
	struct event e = { .type = type,
			   .ifindex = ifindex,
			   .about_group = true,
			   .group = g->cfg.id,
			   .incarnation = g->cfg.incarnation,
			   .epoch = g->epoch,
			   .rank = rank };
	char text[NETINC_ERROR_TEXT];

	if (type == INC_EVENT_GROUP_ERROR && g->error.code) {
		netinc_nl_error_text(text, &g->error);
		e.text = text;
	} else if (type == INC_EVENT_RANK_LATE || type == INC_EVENT_RANK_BACK) {
		late_text(text, type, g);
		e.text = text;
	}
	send_event(net, &e);
}

/* Where a rank is, or goes: to the @size bytes at @text. */
static void put_place(char *text, int size, const struct netinc_ep *ep)
{
	static const char * const places[] = { "node", "standby", "edge" };
	int len = scnprintf(text, size, "%s ", places[netinc_ep_placement(ep)]);

	put_addr(text + len, size - len, &ep->plan[ep->nplan ? ep->move % ep->nplan : 0]);
}

void netinc_event_rank(struct net *net, enum inc_event type, const struct netinc_ep *ep)
{
	struct event e = { .type = type,
			   .about_group = true,
			   .group = ep->cfg.group,
			   .incarnation = ep->incarnation,
			   .epoch = ep->epoch,
			   .rank = ep->cfg.rank };
	char text[NETINC_ERROR_TEXT];

	if (type == INC_EVENT_GROUP_ERROR && ep->error.code) {
		netinc_nl_error_text(text, &ep->error);
		e.text = text;
	} else if (type == INC_EVENT_MOVING || type == INC_EVENT_MOVED) {
		put_place(text, sizeof(text), ep);
		e.text = text;
	}
	send_event(net, &e);
}

void netinc_event_parent(struct net *net, const struct netinc_peer *parent)
{
	struct event e = { .type = INC_EVENT_PARENT,
			   .ifindex = parent->ifindex,
			   .rank = NETINC_NO_RANK };
	char text[64];

	put_addr(text, sizeof(text), parent);
	e.text = text;
	send_event(net, &e);
}
