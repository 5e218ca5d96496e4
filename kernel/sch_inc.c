// SPDX-License-Identifier: GPL-2.0-only
/*
 * sch_inc: a queueing discipline that knows INC packets.
 *
 * Three classes (enum inc_sched_class), each a FIFO of its own with its own limit: control packets and results;
 * contributions; everything else. A result that waits holds up all ranks of a group, a contribution one, so the first
 * class goes strictly before the second. INC as a whole and everything else share the link by bytes:
 *
 * SHARE. `balance` says who has had too much, in bytes times percent. While both sides have something waiting, an INC
 * packet of n bytes takes n * (100 - share) off it and any other packet adds n * share; INC is served while it is not
 * negative. So it returns to about 0 after share : (100 - share) bytes, and over any stretch of time in which both
 * wait neither side is off its part by more than its own longest packet: nothing starves, whatever the sizes are.
 * Who waits alone is served alone (the qdisc conserves work) and runs into no debt by that, but it wears off what the
 * absent side owes, never further than to 0. What a side owes itself stays: a sender whose queue runs empty between
 * two packets would otherwise get more than its share.
 *
 * The choice is a function of the queues and of `balance` alone, so peek() looks and changes nothing, and a result
 * that comes while a parent qdisc waits for tokens overtakes what was peeked at before.
 *
 * A super-packet is one entry of a queue, of the class of its first header. In the counters it is its segments.
 *
 * LOCKING: everything in struct sched_data is written under the root qdisc's lock. Options are written under RTNL too,
 * therefore dump() reads them under RTNL alone.
 */
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <linux/inc.h>
#include <linux/inc_sched.h>

#include "engine/wire.h"

#define SHARE_DEFAULT	80
#define SHARE_MAX	99
#define LIMIT_DEFAULT	1000
#define LIMIT_MAX	1000000
#define MAX_VLANS	8

struct options {
	u32 share;		/* percent */
	u32 limit;		/* skbs per class */
	u16 port;
};

struct band {
	struct sk_buff_head queue;
	u64 packets;		/* sent, in segments */
	u64 bytes;		/* sent, with the headers of all segments */
	u64 drops;		/* skbs */
	u32 backlog;		/* bytes waiting */
};

struct sched_data {
	struct options opt;
	struct band band[INC_SCHED_CLASSES];
	s64 balance;		/* bytes * percent; negative: INC owes. See SHARE */
	u64 blocks;		/* INC headers seen at enqueue */
};

/* Offset of the network header of a frame whose VLAN tags stand in its data, and its protocol; negative: none. */
static int skip_vlans(const struct sk_buff *skb, __be16 *proto)
{
	int off = offsetof(struct ethhdr, h_proto);
	const __be16 *p;
	__be16 buf;
	int i;

	if (skb->dev->type != ARPHRD_ETHER)
		return -1;
	for (i = 0; i <= MAX_VLANS; i++, off += VLAN_HLEN) {
		p = skb_header_pointer(skb, off, sizeof(buf), &buf);
		if (!p)
			return -1;
		*proto = *p;
		if (!eth_type_vlan(*proto))
			return off + sizeof(buf);
	}
	return -1;
}

/* Offset of the UDP header behind the IPv4 header at @off; negative: no UDP, or a fragment. */
static int udp_in_ipv4(const struct sk_buff *skb, int off)
{
	const struct iphdr *ip;
	struct iphdr buf;

	ip = skb_header_pointer(skb, off, sizeof(buf), &buf);
	if (!ip || ip->version != 4 || ip->ihl < 5 || ip->protocol != IPPROTO_UDP || ip_is_fragment(ip))
		return -1;
	return off + ip->ihl * 4;
}

static int udp_in_ipv6(const struct sk_buff *skb, int off)
{
	const struct ipv6hdr *ip;
	struct ipv6hdr buf;
	__be16 frag;
	u8 next;

	ip = skb_header_pointer(skb, off, sizeof(buf), &buf);
	if (!ip || ip->version != 6)
		return -1;
	next = ip->nexthdr;
	off = ipv6_skip_exthdr(skb, off + sizeof(*ip), &next, &frag);
	return off < 0 || next != IPPROTO_UDP || frag ? -1 : off;
}

static int udp_offset(const struct sk_buff *skb)
{
	int off = skb_network_offset(skb);
	__be16 proto = skb->protocol;

	if (eth_type_vlan(proto))
		off = skip_vlans(skb, &proto);
	if (off < 0)
		return -1;
	switch (proto) {
	case htons(ETH_P_IP):
		return udp_in_ipv4(skb, off);
	case htons(ETH_P_IPV6):
		return udp_in_ipv6(skb, off);
	default:
		return -1;
	}
}

/* How long the datagrams are that a UDP packet of @len bytes of payload is sent as, but for the last. */
static u32 segment_len(const struct sk_buff *skb, u32 len)
{
	const struct skb_shared_info *info = skb_shinfo(skb);

	return info->gso_type & SKB_GSO_UDP_L4 && info->gso_size ? min_t(u32, info->gso_size, len) : len;
}

/* A packet on the port whose first header is not one that a node would take is "other": the port buys no priority. */
static enum inc_sched_class classify(const struct sk_buff *skb, u16 port, u32 *blocks)
{
	struct netinc_pkt pkt;
	struct inc_hdr hdr_buf;
	struct udphdr udp_buf;
	const struct inc_hdr *hdr;
	const struct udphdr *udp;
	int off = udp_offset(skb);
	u32 len, seg;

	*blocks = 0;
	if (off < 0)
		return INC_SCHED_OTHER;
	udp = skb_header_pointer(skb, off, sizeof(udp_buf), &udp_buf);
	if (!udp || (udp->dest != htons(port) && udp->source != htons(port)))
		return INC_SCHED_OTHER;
	off += sizeof(*udp);
	len = ntohs(udp->len);
	if (len < sizeof(*udp) + sizeof(*hdr) || len - sizeof(*udp) > skb->len - off)
		return INC_SCHED_OTHER;
	len -= sizeof(*udp);
	seg = segment_len(skb, len);
	hdr = skb_header_pointer(skb, off, sizeof(hdr_buf), &hdr_buf);
	if (!hdr || netinc_parse(hdr, seg, &pkt))
		return INC_SCHED_OTHER;
	*blocks = DIV_ROUND_UP(len, seg);
	return pkt.type == INC_PKT_CONTRIB ? INC_SCHED_CONTRIB : INC_SCHED_CONTROL;
}

static int enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sched_data *q = qdisc_priv(sch);
	struct band *b;
	u32 blocks;

	b = &q->band[classify(skb, q->opt.port, &blocks)];
	q->blocks += blocks;
	if (skb_queue_len(&b->queue) >= q->opt.limit) {
		b->drops++;
		return qdisc_drop(skb, sch, to_free);
	}
	__skb_queue_tail(&b->queue, skb);
	b->backlog += qdisc_pkt_len(skb);
	qdisc_qstats_backlog_inc(sch, skb);
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static bool other_waits(struct sched_data *q)
{
	return !skb_queue_empty(&q->band[INC_SCHED_OTHER].queue);
}

static bool inc_waits(struct sched_data *q)
{
	return !skb_queue_empty(&q->band[INC_SCHED_CONTROL].queue) ||
	       !skb_queue_empty(&q->band[INC_SCHED_CONTRIB].queue);
}

static enum inc_sched_class pick(struct sched_data *q)
{
	if (!inc_waits(q) || (other_waits(q) && q->balance < 0))
		return INC_SCHED_OTHER;
	return skb_queue_empty(&q->band[INC_SCHED_CONTROL].queue) ? INC_SCHED_CONTRIB : INC_SCHED_CONTROL;
}

/* To be called while the packet of @len bytes still waits. */
static void charge(struct sched_data *q, enum inc_sched_class class, u32 len)
{
	if (class == INC_SCHED_OTHER) {
		if (inc_waits(q))
			q->balance += (u64)len * q->opt.share;
		else if (q->balance < 0)
			q->balance = min_t(s64, 0, q->balance + (u64)len * q->opt.share);
	} else {
		if (other_waits(q))
			q->balance -= (u64)len * (100 - q->opt.share);
		else if (q->balance > 0)
			q->balance = max_t(s64, 0, q->balance - (u64)len * (100 - q->opt.share));
	}
}

static struct sk_buff *peek(struct Qdisc *sch)
{
	struct sched_data *q = qdisc_priv(sch);

	return skb_peek(&q->band[pick(q)].queue);
}

static struct sk_buff *dequeue(struct Qdisc *sch)
{
	struct sched_data *q = qdisc_priv(sch);
	enum inc_sched_class class = pick(q);
	struct band *b = &q->band[class];
	struct sk_buff *skb = skb_peek(&b->queue);
	u32 len;

	if (!skb)
		return NULL;
	len = qdisc_pkt_len(skb);
	charge(q, class, len);
	__skb_unlink(skb, &b->queue);
	b->backlog -= len;
	b->bytes += len;
	b->packets += max_t(u32, skb_shinfo(skb)->gso_segs, 1);
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_bstats_update(sch, skb);
	sch->q.qlen--;
	return skb;
}

static void reset(struct Qdisc *sch)
{
	struct sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;
	struct band *b;

	for (b = q->band; b < q->band + INC_SCHED_CLASSES; b++) {
		while ((skb = __skb_dequeue(&b->queue)))
			rtnl_kfree_skbs(skb, skb);
		b->backlog = 0;
	}
	q->balance = 0;
}

/* Drops the youngest packets of every class that is over a limit just lowered. */
static void trim(struct Qdisc *sch)
{
	struct sched_data *q = qdisc_priv(sch);
	u32 dropped = 0, bytes = 0;
	struct sk_buff *skb;
	struct band *b;

	for (b = q->band; b < q->band + INC_SCHED_CLASSES; b++) {
		while (skb_queue_len(&b->queue) > q->opt.limit) {
			skb = __skb_dequeue_tail(&b->queue);
			b->drops++;
			b->backlog -= qdisc_pkt_len(skb);
			dropped++;
			bytes += qdisc_pkt_len(skb);
			rtnl_qdisc_drop(skb, sch);
		}
	}
	sch->q.qlen -= dropped;
	sch->qstats.backlog -= bytes;
	qdisc_tree_reduce_backlog(sch, dropped, bytes);
}

static const struct nla_policy policy[TCA_INC_MAX + 1] = {
	[TCA_INC_SHARE]	= { .type = NLA_U32 },
	[TCA_INC_LIMIT]	= { .type = NLA_U32 },
	[TCA_INC_PORT]	= { .type = NLA_U16 },
};

static int check_range(const struct nlattr *attr, const char *name, u32 value, u32 max, struct netlink_ext_ack *extack)
{
	if (value >= 1 && value <= max)
		return 0;
	NL_SET_ERR_MSG_FMT_MOD(extack, "%s %u: expected 1..%u", name, value, max);
	NL_SET_BAD_ATTR(extack, attr);
	return -EINVAL;
}

/* Overwrites in @opt what @attr names. */
static int parse_options(const struct nlattr *attr, struct options *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_INC_MAX + 1];
	int err;

	err = nla_parse(tb, TCA_INC_MAX, nla_data(attr), nla_len(attr), policy, extack);
	if (err)
		return err;
	if (tb[TCA_INC_SHARE]) {
		opt->share = nla_get_u32(tb[TCA_INC_SHARE]);
		err = check_range(tb[TCA_INC_SHARE], "share", opt->share, SHARE_MAX, extack);
	}
	if (!err && tb[TCA_INC_LIMIT]) {
		opt->limit = nla_get_u32(tb[TCA_INC_LIMIT]);
		err = check_range(tb[TCA_INC_LIMIT], "limit", opt->limit, LIMIT_MAX, extack);
	}
	if (!err && tb[TCA_INC_PORT]) {
		opt->port = nla_get_u16(tb[TCA_INC_PORT]);
		err = check_range(tb[TCA_INC_PORT], "port", opt->port, U16_MAX, extack);
	}
	return err;
}

/* Packets that wait stay in their class when the port changes. */
static int change(struct Qdisc *sch, struct nlattr *attr, struct netlink_ext_ack *extack)
{
	struct sched_data *q = qdisc_priv(sch);
	struct options opt = q->opt;
	int err;

	err = parse_options(attr, &opt, extack);
	if (err)
		return err;
	sch_tree_lock(sch);
	if (opt.share != q->opt.share)
		q->balance = 0;
	q->opt = opt;
	trim(sch);
	sch_tree_unlock(sch);
	return 0;
}

static int init(struct Qdisc *sch, struct nlattr *attr, struct netlink_ext_ack *extack)
{
	struct sched_data *q = qdisc_priv(sch);
	int i;

	q->opt = (struct options) { .share = SHARE_DEFAULT, .limit = LIMIT_DEFAULT, .port = INC_PORT };
	for (i = 0; i < INC_SCHED_CLASSES; i++)
		__skb_queue_head_init(&q->band[i].queue);
	return attr ? parse_options(attr, &q->opt, extack) : 0;
}

static int dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct sched_data *q = qdisc_priv(sch);
	struct nlattr *nest;

	nest = nla_nest_start(skb, TCA_OPTIONS);
	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_INC_SHARE, q->opt.share) ||
	    nla_put_u32(skb, TCA_INC_LIMIT, q->opt.limit) ||
	    nla_put_u16(skb, TCA_INC_PORT, q->opt.port)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct sched_data *q = qdisc_priv(sch);
	struct tc_inc_xstats st = { .blocks = q->blocks };
	int i;

	for (i = 0; i < INC_SCHED_CLASSES; i++) {
		st.cls[i].packets = q->band[i].packets;
		st.cls[i].bytes = q->band[i].bytes;
		st.cls[i].drops = q->band[i].drops;
		st.cls[i].qlen = skb_queue_len(&q->band[i].queue);
		st.cls[i].backlog = q->band[i].backlog;
	}
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct Qdisc_ops inc_qdisc_ops __read_mostly = {
	.id		= "inc",
	.priv_size	= sizeof(struct sched_data),
	.enqueue	= enqueue,
	.dequeue	= dequeue,
	.peek		= peek,
	.init		= init,
	.reset		= reset,
	.change		= change,
	.dump		= dump,
	.dump_stats	= dump_stats,
	.owner		= THIS_MODULE,
};

static int __init sch_inc_init(void)
{
	return register_qdisc(&inc_qdisc_ops);
}

static void __exit sch_inc_exit(void)
{
	unregister_qdisc(&inc_qdisc_ops);
}

module_init(sch_inc_init);
module_exit(sch_inc_exit);
MODULE_DESCRIPTION("Queueing discipline for in-network collectives");
MODULE_LICENSE("GPL");
MODULE_ALIAS_NET_SCH("inc");
