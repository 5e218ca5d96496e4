// SPDX-License-Identifier: GPL-2.0-only
/*
 * sch_inc: a queueing discipline that knows INC packets.
 *
 * Three classes (enum inc_sched_class) with limits of their own: control packets and results;
 * contributions, in a queue for each group (sch_drr.h); everything else, in whatever qdisc has been
 * grafted there or else a FIFO. A result that waits holds up all ranks of a group, a contribution
 * one, so the first class goes before the second. INC as a whole and everything else share the link
 * by bytes:
 *
 * FIRST. The first class goes before the second until it has had, while contributions waited,
 * CONTROL_BURST bytes more than `control` percent of what both sent: a flood of control packets
 * holds contributions up for so long and no longer.
 *
 * SHARE. `balance` says who has had too much, in bytes times percent. While both sides have
 * something waiting, an INC packet of n bytes takes n * (100 - share) off it and any other packet
 * adds n * share; INC is served while it is not negative. So it returns to about 0 after share :
 * (100 - share) bytes, and over any stretch of time in which both wait neither side is off its part
 * by more than its own longest packet: nothing starves, whatever the sizes are. Who waits alone is
 * served alone (the qdisc conserves work) and runs into no debt by that; nor does INC by what a
 * child keeps when it is asked for it. But it wears off what the absent side owes, never further
 * than to 0. What a side owes itself stays: a sender whose queue runs empty between two packets
 * would otherwise get more than its share.
 *
 * The choice is a function of the queues, `balance` and `ahead` alone, so inc_peek() looks and
 * changes nothing, and a result that comes while a parent qdisc waits for tokens overtakes what was
 * peeked at before.
 *
 * A super-packet is one entry of a queue, of the class of its first header. In the counters it is
 * its segments. One that would hold the link up for more than a millisecond (sch_rate.h) is taken
 * apart before it waits.
 *
 * LOCKING: everything in struct sched_data is written under the root qdisc's lock. Options are
 * written under RTNL too, therefore inc_dump() reads them under RTNL alone.
 */
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/inet_ecn.h>
#include <net/pkt_sched.h>
#include <net/udp.h>
#include <linux/inc_sched.h>

#include "sched/sch_classify.h"
#include "sched/sch_rate.h"
#include "sched/sch_drr.h"
#include "sched/sch_options.h"

#define CONTROL_BURST	65536	/* bytes; see FIRST */

/*
 * Classes: 1 is everything else, into which a qdisc may be put; from 2 on come groups, which are
 * there to be looked at.
 */
#define CLASS_OTHER	1ul
#define CLASS_GROUP	2ul

struct band {
	/* contributions are in sched_data.groups, others perhaps in sched_data.child */
	struct sk_buff_head queue;
	u64 packets;		/* sent, in segments */
	u64 bytes;		/* sent, with the headers of all segments */
	u64 drops;		/* skbs */
	u64 marks;		/* skbs */
	u64 delay[INC_SCHED_DELAYS];
	u32 backlog;		/* bytes waiting */
};

struct sched_data {
	struct sched_options opt;
	struct band band[INC_SCHED_CLASSES];
	struct sched_flows groups;
	struct Qdisc *child;	/* of everything else; NULL: that waits in its band's queue */
	struct sched_drain drain;
	s64 balance;		/* bytes * percent; negative: INC owes. See SHARE */
	/* bytes * percent that the first class has had too much; see FIRST */
	s64 ahead;
	u64 blocks;		/* INC headers seen at enqueue */
};

/* In the skb while it waits. */
struct sched_cb {
	u64 since;		/* ns */
};

static struct sched_cb *cb_of(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct sched_cb));
	return (struct sched_cb *)qdisc_skb_cb(skb)->data;
}

static u32 class_waiting(const struct sched_data *q, enum inc_sched_class class)
{
	if (class == INC_SCHED_CONTRIB)
		return q->groups.qlen;
	return class == INC_SCHED_OTHER && q->child ? qdisc_qlen(q->child) :
						      skb_queue_len(&q->band[class].queue);
}

/* The youngest packet that may go when the class is over its limit. */
static struct sk_buff *drop_youngest(struct sched_data *q, enum inc_sched_class class)
{
	struct band *b = &q->band[class];
	struct sk_buff *skb;

	skb = class == INC_SCHED_CONTRIB ? netinc_sched_flows_drop(&q->groups) :
					   __skb_dequeue_tail(&b->queue);
	b->drops++;
	b->backlog -= qdisc_pkt_len(skb);
	return skb;
}

/* Packets that the child drops, at once or later, are counted there. */
static int enqueue_child(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sched_data *q = qdisc_priv(sch);
	u32 len = qdisc_pkt_len(skb);
	int ret = qdisc_enqueue(skb, q->child, to_free);

	if (ret == NET_XMIT_SUCCESS) {
		sch->qstats.backlog += len;
		sch->q.qlen++;
	} else if (net_xmit_drop_count(ret)) {
		qdisc_qstats_drop(sch);
	}
	return ret;
}

static int enqueue_one(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sched_data *q = qdisc_priv(sch);
	enum inc_sched_class class;
	u32 blocks, group, len;
	struct band *b;

	class = netinc_sched_classify(skb, q->opt.port, &group, &blocks);
	b = &q->band[class];
	q->blocks += blocks;
	if (class == INC_SCHED_OTHER && q->child)
		return enqueue_child(skb, sch, to_free);
	cb_of(skb)->since = ktime_get_ns();
	if (class == INC_SCHED_CONTRIB)
		netinc_sched_flows_add(&q->groups, group, skb);
	else
		__skb_queue_tail(&b->queue, skb);
	b->backlog += qdisc_pkt_len(skb);
	if (class_waiting(q, class) > q->opt.limit) {
		struct sk_buff *victim = drop_youngest(q, class);

		if (victim == skb)
			return qdisc_drop(skb, sch, to_free);
		/* this one stays instead of one of a group that has more waiting */
		qdisc_qstats_backlog_inc(sch, skb);
		qdisc_qstats_backlog_dec(sch, victim);
		len = qdisc_pkt_len(victim);
		qdisc_drop(victim, sch, to_free);
		qdisc_tree_reduce_backlog(sch, 1, len);
		return NET_XMIT_SUCCESS;
	}
	qdisc_qstats_backlog_inc(sch, skb);
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

/* The parent takes @skb for one packet, and is told how many it has become. */
static int enqueue_segments(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	u32 len = qdisc_pkt_len(skb), seg_len, bytes = 0;
	struct sk_buff *segs, *next;
	int n = 0;

	segs = skb_gso_segment(skb, netif_skb_features(skb) & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segs))
		return qdisc_drop(skb, sch, to_free);
	skb_list_walk_safe(segs, segs, next) {
		skb_mark_not_on_list(segs);
		seg_len = segs->len;
		qdisc_skb_cb(segs)->pkt_len = seg_len;
		netinc_qdisc_set_segs(segs, 1);
		if (enqueue_one(segs, sch, to_free) != NET_XMIT_SUCCESS)
			continue;
		n++;
		bytes += seg_len;
	}
	if (!n) {
		kfree_skb(skb);
		return NET_XMIT_DROP;
	}
	qdisc_tree_reduce_backlog(sch, 1 - n, len - bytes);
	consume_skb(skb);
	return NET_XMIT_SUCCESS;
}

static int inc_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	const struct sched_data *q = qdisc_priv(sch);

	if (skb_is_gso(skb) && qdisc_pkt_len(skb) > q->drain.longest)
		return enqueue_segments(skb, sch, to_free);
	return enqueue_one(skb, sch, to_free);
}

static bool other_waits(const struct sched_data *q)
{
	return class_waiting(q, INC_SCHED_OTHER);
}

static bool inc_waits(const struct sched_data *q)
{
	return class_waiting(q, INC_SCHED_CONTROL) || class_waiting(q, INC_SCHED_CONTRIB);
}

static enum inc_sched_class pick_inc(const struct sched_data *q)
{
	if (!class_waiting(q, INC_SCHED_CONTRIB))
		return INC_SCHED_CONTROL;
	return class_waiting(q, INC_SCHED_CONTROL) && q->ahead <= CONTROL_BURST * 100 ?
		       INC_SCHED_CONTROL :
		       INC_SCHED_CONTRIB;
}

static enum inc_sched_class pick_class(const struct sched_data *q)
{
	return !inc_waits(q) || (other_waits(q) && q->balance < 0) ? INC_SCHED_OTHER : pick_inc(q);
}

static void charge_inc(struct sched_data *q, enum inc_sched_class class, u32 len)
{
	if (class == INC_SCHED_CONTRIB)
		q->ahead = max_t(s64, 0, q->ahead - (u64)len * q->opt.control);
	else if (class_waiting(q, INC_SCHED_CONTRIB))
		q->ahead += (u64)len * (100 - q->opt.control);
}

/*
 * A packet of @len bytes leaves. What the child has @kept, though it was asked for it, does not
 * wait for INC, which owes it nothing.
 */
static void charge_class(struct sched_data *q, enum inc_sched_class class, u32 len, bool kept)
{
	if (class == INC_SCHED_OTHER) {
		if (inc_waits(q))
			q->balance += (u64)len * q->opt.share;
		else if (q->balance < 0)
			q->balance = min_t(s64, 0, q->balance + (u64)len * q->opt.share);
	} else {
		charge_inc(q, class, len);
		if (kept)
			return;
		if (other_waits(q))
			q->balance -= (u64)len * (100 - q->opt.share);
		else if (q->balance > 0)
			q->balance = max_t(s64, 0, q->balance - (u64)len * (100 - q->opt.share));
	}
}

static struct sk_buff *first_packet(const struct sched_data *q, enum inc_sched_class class)
{
	if (class == INC_SCHED_CONTRIB)
		return netinc_sched_flows_first(&q->groups);
	return class == INC_SCHED_OTHER && q->child ? q->child->ops->peek(q->child) :
						      skb_peek(&q->band[class].queue);
}

/*
 * The next packet and its class. A child may drop all that waits when it is asked for it, or keep
 * it for now: @kept.
 */
static struct sk_buff *next_packet(const struct sched_data *q, enum inc_sched_class *class,
				   bool *kept)
{
	struct sk_buff *skb;

	*class = pick_class(q);
	skb = first_packet(q, *class);
	*kept = !skb && other_waits(q);
	if (!skb && inc_waits(q)) {
		*class = pick_inc(q);
		skb = first_packet(q, *class);
	}
	return skb;
}

static struct sk_buff *inc_peek(struct Qdisc *sch)
{
	enum inc_sched_class class;
	bool kept;

	return next_packet(qdisc_priv(sch), &class, &kept);
}

/*
 * A packet of INC that has waited for longer than the target says so to its receiver. It is not
 * dropped if it cannot: ranks and nodes notice what is lost later than what is marked, and the
 * limit bounds what waits.
 */
static void mark_packet(struct sched_data *q, enum inc_sched_class class, struct sk_buff *skb,
			u64 us)
{
	if (class == INC_SCHED_OTHER || us <= q->opt.target || !INET_ECN_set_ce(skb))
		return;
	q->band[class].marks++;
	if (class == INC_SCHED_CONTRIB)
		netinc_sched_flows_marked(&q->groups);
}

/* The index of @us in the INC_SCHED_DELAYS of a group or class. */
static u32 delay_slot(u64 us)
{
	/* fls64(63) is 6, fls64(255) is 8 */
	return min((max(fls64(us), 6) - 5) / 2, INC_SCHED_DELAYS - 1);
}

/* The first packet of @class, which has waited here, leaves. */
static void take_packet(struct sched_data *q, enum inc_sched_class class, struct sk_buff *skb,
			u64 now)
{
	u64 us = div_u64(now - cb_of(skb)->since, NSEC_PER_USEC);
	u32 slot = delay_slot(us);
	struct band *b = &q->band[class];

	mark_packet(q, class, skb, us);
	b->delay[slot]++;
	b->backlog -= qdisc_pkt_len(skb);
	if (class == INC_SCHED_CONTRIB)
		netinc_sched_flows_take(&q->groups, slot);
	else
		__skb_unlink(skb, &b->queue);
}

/* The next packet leaves. A child may show one and keep it all the same, or drop it: sch_etf. */
static struct sk_buff *take_next(struct sched_data *q, enum inc_sched_class *class, bool *kept,
				 u64 now)
{
	struct sk_buff *skb = next_packet(q, class, kept);

	if (skb && *class == INC_SCHED_OTHER && q->child) {
		skb = qdisc_dequeue_peeked(q->child);
		*kept = !skb;
		if (skb || !inc_waits(q))
			return skb;
		*class = pick_inc(q);
		skb = first_packet(q, *class);
	}
	if (skb)
		take_packet(q, *class, skb, now);
	return skb;
}

static struct sk_buff *inc_dequeue(struct Qdisc *sch)
{
	struct sched_data *q = qdisc_priv(sch);
	u64 now = ktime_get_ns();
	enum inc_sched_class class;
	bool kept;
	struct sk_buff *skb = take_next(q, &class, &kept, now);
	struct band *b = &q->band[class];
	u32 len;

	if (!skb)
		return NULL;
	len = qdisc_pkt_len(skb);
	charge_class(q, class, len, kept);
	b->bytes += len;
	b->packets += max_t(u32, skb_shinfo(skb)->gso_segs, 1);
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_bstats_update(sch, skb);
	sch->q.qlen--;
	netinc_sched_drain_left(&q->drain, len, inc_waits(q) || (other_waits(q) && !kept), now);
	return skb;
}

static void inc_reset(struct Qdisc *sch)
{
	struct sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;
	struct band *b;

	if (!q->groups.flow)
		return;
	for (b = q->band; b < q->band + INC_SCHED_CLASSES; b++) {
		while ((skb = __skb_dequeue(&b->queue)))
			rtnl_kfree_skbs(skb, skb);
		b->backlog = 0;
	}
	netinc_sched_flows_reset(&q->groups);
	if (q->child)
		qdisc_reset(q->child);
	q->balance = 0;
	q->ahead = 0;
}

/* Drops the youngest packets of every class that is over a limit just lowered. */
static void trim_queues(struct Qdisc *sch)
{
	struct sched_data *q = qdisc_priv(sch);
	u32 dropped = 0, bytes = 0, class;
	struct sk_buff *skb;

	for (class = 0; class < INC_SCHED_CLASSES; class++) {
		if (class == INC_SCHED_OTHER && q->child)
			continue;	/* it has a limit of its own */
		while (class_waiting(q, class) > q->opt.limit) {
			skb = drop_youngest(q, class);
			dropped++;
			bytes += qdisc_pkt_len(skb);
			rtnl_qdisc_drop(skb, sch);
		}
	}
	sch->q.qlen -= dropped;
	sch->qstats.backlog -= bytes;
	qdisc_tree_reduce_backlog(sch, dropped, bytes);
}

/* Packets that wait stay in their class when the port changes. */
static int inc_change(struct Qdisc *sch, struct nlattr *attr, struct netlink_ext_ack *extack)
{
	struct sched_data *q = qdisc_priv(sch);
	struct sched_options *opt;
	int err;

	opt = kmemdup(&q->opt, sizeof(*opt), GFP_KERNEL);
	if (!opt)
		return -ENOMEM;
	err = netinc_sched_options_parse(attr, opt, extack);
	if (err)
		goto out;
	sch_tree_lock(sch);
	if (opt->share != q->opt.share)
		q->balance = 0;
	if (opt->control != q->opt.control)
		q->ahead = 0;
	q->opt = *opt;
	netinc_sched_drain_set(&q->drain, opt->rate);
	netinc_sched_flows_set_weights(&q->groups, opt->weights, opt->nweights);
	trim_queues(sch);
	sch_tree_unlock(sch);
out:
	kfree(opt);
	return err;
}

/*
 * The qdisc that the system puts below a device, if it keeps flows apart. NULL: packets that are
 * not INC wait in a FIFO.
 */
static struct Qdisc *default_child(struct Qdisc *sch, struct netlink_ext_ack *extack)
{
	struct Qdisc *child;

	if (strcmp(default_qdisc_ops->id, "fq_codel"))
		return NULL;
	child = qdisc_create_dflt(sch->dev_queue, default_qdisc_ops,
				  TC_H_MAKE(TC_H_MAJ(sch->handle), CLASS_OTHER), extack);
	if (child)
		qdisc_hash_add(child, true);
	return child;
}

static int inc_init(struct Qdisc *sch, struct nlattr *attr, struct netlink_ext_ack *extack)
{
	struct sched_data *q = qdisc_priv(sch);
	int i, err;

	q->opt = netinc_sched_options_default();
	for (i = 0; i < INC_SCHED_CLASSES; i++)
		__skb_queue_head_init(&q->band[i].queue);
	err = netinc_sched_flows_init(&q->groups, psched_mtu(qdisc_dev(sch)));
	if (!err && attr)
		err = netinc_sched_options_parse(attr, &q->opt, extack);
	if (err)
		return err;
	netinc_sched_flows_set_weights(&q->groups, q->opt.weights, q->opt.nweights);
	netinc_sched_drain_init(&q->drain, psched_mtu(qdisc_dev(sch)), q->opt.rate);
	q->child = default_child(sch, extack);
	return 0;
}

/* Is called also after inc_init() has failed. */
static void inc_destroy(struct Qdisc *sch)
{
	struct sched_data *q = qdisc_priv(sch);

	netinc_sched_flows_destroy(&q->groups);
	qdisc_put(q->child);
}

static int inc_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct sched_data *q = qdisc_priv(sch);

	return netinc_sched_options_dump(&q->opt, skb);
}

static int dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct sched_data *q = qdisc_priv(sch);
	struct tc_inc_xstats st = {};
	int i;

	sch_tree_lock(sch);
	st.blocks = q->blocks;
	st.rate = netinc_sched_drain_rate(&q->drain);
	for (i = 0; i < INC_SCHED_CLASSES; i++) {
		st.cls[i].packets = q->band[i].packets;
		st.cls[i].bytes = q->band[i].bytes;
		st.cls[i].drops = q->band[i].drops;
		st.cls[i].marks = q->band[i].marks;
		memcpy(st.cls[i].delay, q->band[i].delay, sizeof(st.cls[i].delay));
		st.cls[i].qlen = class_waiting(q, i);
		st.cls[i].backlog = q->band[i].backlog;
	}
	if (q->child) {
		st.cls[INC_SCHED_OTHER].backlog = q->child->qstats.backlog;
		st.cls[INC_SCHED_OTHER].drops += q->child->qstats.drops;
	}
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static unsigned long class_find(struct Qdisc *sch, u32 classid)
{
	return TC_H_MIN(classid) == CLASS_OTHER ? CLASS_OTHER : 0;
}

static struct Qdisc *class_leaf(struct Qdisc *sch, unsigned long class)
{
	const struct sched_data *q = qdisc_priv(sch);

	return class == CLASS_OTHER ? q->child : NULL;
}

/* Packets that wait go along into the first child, as far as that takes it. */
static int class_graft(struct Qdisc *sch, unsigned long class, struct Qdisc *child,
		       struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct sched_data *q = qdisc_priv(sch);
	struct band *b = &q->band[INC_SCHED_OTHER];
	struct sk_buff *skb, *drops = NULL;
	u32 n = 0, bytes = 0, len;

	if (class != CLASS_OTHER) {
		NL_SET_ERR_MSG_MOD(extack,
				   "groups take no qdisc: expected class 1, all that is not INC");
		return -EOPNOTSUPP;
	}
	*old = qdisc_replace(sch, child, &q->child);
	sch_tree_lock(sch);
	while (child && (skb = __skb_dequeue(&b->queue))) {
		len = qdisc_pkt_len(skb);
		if (qdisc_enqueue(skb, child, &drops) == NET_XMIT_SUCCESS)
			continue;
		n++;
		bytes += len;
	}
	b->backlog = 0;
	sch->q.qlen -= n;
	sch->qstats.backlog -= bytes;
	sch->qstats.drops += n;
	qdisc_tree_reduce_backlog(sch, n, bytes);
	sch_tree_unlock(sch);
	kfree_skb_list(drops);
	return 0;
}

static void class_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	const struct sched_data *q = qdisc_priv(sch);
	unsigned long class;

	for (class = CLASS_OTHER; class < CLASS_GROUP + SCHED_FLOWS && !walker->stop; class++) {
		if (class >= CLASS_GROUP && !q->groups.flow[class - CLASS_GROUP].used)
			continue;
		if (walker->count >= walker->skip && walker->fn(sch, class, walker) < 0)
			walker->stop = 1;
		walker->count++;
	}
}

static int class_dump(struct Qdisc *sch, unsigned long class, struct sk_buff *skb,
		      struct tcmsg *tcm)
{
	const struct sched_data *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(class);
	if (class == CLASS_OTHER && q->child)
		tcm->tcm_info = q->child->handle;
	return 0;
}

static int group_dump_stats(struct Qdisc *sch, const struct sched_flow *flow, struct gnet_dump *d)
{
	struct gnet_stats_queue queue = { };
	struct tc_inc_group_xstats st = { };
	struct gnet_stats_basic_sync sent;

	gnet_stats_basic_sync_init(&sent);
	sch_tree_lock(sch);
	st.group = flow->group;
	st.weight = flow->weight;
	st.credit = flow->credit;
	st.marks = flow->marks;
	memcpy(st.delay, flow->delay, sizeof(st.delay));
	_bstats_update(&sent, flow->bytes, flow->packets);
	queue.qlen = skb_queue_len(&flow->queue);
	queue.backlog = flow->backlog;
	queue.drops = flow->drops;
	sch_tree_unlock(sch);
	if (gnet_stats_copy_basic(d, NULL, &sent, true) < 0 ||
	    gnet_stats_copy_queue(d, NULL, &queue, queue.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static int class_dump_stats(struct Qdisc *sch, unsigned long class, struct gnet_dump *d)
{
	const struct sched_data *q = qdisc_priv(sch);
	const struct band *b = &q->band[INC_SCHED_OTHER];
	struct gnet_stats_queue queue = { };
	struct gnet_stats_basic_sync sent;

	if (class >= CLASS_GROUP)
		return group_dump_stats(sch, &q->groups.flow[class - CLASS_GROUP], d);
	gnet_stats_basic_sync_init(&sent);
	sch_tree_lock(sch);
	_bstats_update(&sent, b->bytes, b->packets);
	queue.qlen = class_waiting(q, INC_SCHED_OTHER);
	queue.backlog = q->child ? q->child->qstats.backlog : b->backlog;
	queue.drops = b->drops + (q->child ? q->child->qstats.drops : 0);
	sch_tree_unlock(sch);
	if (gnet_stats_copy_basic(d, NULL, &sent, true) < 0)
		return -1;
	return gnet_stats_copy_queue(d, NULL, &queue, queue.qlen);
}

static const struct Qdisc_class_ops class_ops = {
	.find		= class_find,
	.leaf		= class_leaf,
	.graft		= class_graft,
	.walk		= class_walk,
	.dump		= class_dump,
	.dump_stats	= class_dump_stats,
};

static struct Qdisc_ops inc_qdisc_ops __read_mostly = {
	.cl_ops		= &class_ops,
	.id		= "inc",
	.priv_size	= sizeof(struct sched_data),
	.enqueue	= inc_enqueue,
	.dequeue	= inc_dequeue,
	.peek		= inc_peek,
	.init		= inc_init,
	.destroy	= inc_destroy,
	.reset		= inc_reset,
	.change		= inc_change,
	.dump		= inc_dump,
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
