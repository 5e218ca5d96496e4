// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank: the environment of its endpoint engine. Packets come in and go out, one timer does what
 * the engine says is due. What is in the packets is payload.c's business.
 */
#include <linux/ipv6.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/net.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/l3mdev.h>
#include <net/sock.h>
#include "host/payload.h"
#include "host/counts.h"
#include "host/membership.h"
#include "host/retain.h"
#include "core/events.h"
#include "core/nf_hooks.h"
#include "host/rank.h"
#include "reduce/reduce.h"
#include "host/socket.h"
#include "core/trace.h"
#include "host/tree_paths.h"
#include "node/edge.h"

#define RETRY_US	1000			/* when memory was short */
#define DEAD_MS		2000			/* of a node that has not said READY yet */
#define MAX_HEADERS	48			/* IPv6 and UDP */

static unsigned long long first_block;
module_param(first_block, ullong, 0644);
MODULE_PARM_DESC(first_block, "Number of a group's first block, the same at all its ranks (tests)");

static void arm_timer(struct netinc_rank *rank)
{
	u64 now = rank->now, when;

	lockdep_assert_held(&rank->lock);
	when = netinc_ep_timer(&rank->ep, now);
	if (rank->retry)
		when = when ? min(when, now + RETRY_US) : now + RETRY_US;
	/*
	 * one that runs out too early finds out and is set again: cheaper than to move it with
	 * every packet
	 */
	if (!when || (rank->armed && rank->armed <= when))
		return;
	rank->armed = when;
	hrtimer_start(&rank->timer, ns_to_ktime(when * NSEC_PER_USEC), HRTIMER_MODE_ABS_SOFT);
}

static struct netinc_demux_key rank_key(const struct netinc_rank *rank,
					enum netinc_demux_kind kind, u32 number, u64 token)
{
	return (struct netinc_demux_key){ .token = token, .number = number,
					  .group = rank->ep.cfg.group, .kind = kind };
}

/* One that cannot be found for lack of memory is tried again with the next packet or timer. */
static void demux_rank(struct netinc_rank *rank)
{
	const struct netinc_ep *ep = &rank->ep;
	struct netinc_demux_key run = {}, lineage = {};

	if (ep->incarnation)
		run = rank_key(rank, NETINC_DEMUX_RANK, ep->incarnation, 0);
	if (ep->lineage)
		lineage = rank_key(rank, NETINC_DEMUX_RANK_LINEAGE, 0, ep->lineage);
	netinc_demux_set(rank->nn, &rank->by_run, &run);
	netinc_demux_set(rank->nn, &rank->by_lineage, &lineage);
}

/* Has nothing that packets find it by been changed, by READY or a move? */
static bool is_demuxed(const struct netinc_rank *rank)
{
	return rank->by_run.key.number == rank->ep.incarnation &&
	       rank->by_lineage.key.token == rank->ep.lineage;
}

/*
 * Tells once that the parent does not answer, and once that it does again. What else becomes of it,
 * the group's end or a move, has its own event.
 */
static void watch_root(struct netinc_rank *rank)
{
	const struct netinc_ep *ep = &rank->ep;
	const struct netinc_ep_tree *w = &ep->tree[0];
	bool over = ep->state == INC_STATE_FAILED || ep->state == INC_STATE_CLOSED;

	if (over || (rank->silent && rank->silent_move != ep->move))
		rank->silent = 0;
	if (over || !w->heard)
		return;
	if (!rank->silent && w->unanswered >= NETINC_SILENT_ASKED &&
	    rank->now - w->heard >= NETINC_SILENT_US) {
		rank->silent = w->heard;
		rank->silent_move = ep->move;
		netinc_event_rank_parent(rank->path.net, INC_EVENT_PARENT_SILENT, ep,
					 &rank->path.peer, rank->now - w->heard);
	} else if (rank->silent && !w->unanswered) {
		netinc_event_rank_parent(rank->path.net, INC_EVENT_PARENT_BACK, ep,
					 &rank->path.peer, rank->now - rank->silent);
		rank->silent = 0;
	}
}

void netinc_rank_lock(struct netinc_rank *rank)
	__acquires(&rank->lock)
{
	spin_lock_bh(&rank->lock);
	/* under the lock: for the engine time must not go back */
	rank->now = netinc_now();
}

void netinc_rank_unlock(struct netinc_rank *rank)
	__releases(&rank->lock)
{
	/* what is due may send blocks too */
	if (!rank->dead)
		arm_timer(rank);
	netinc_payload_flush(rank);
	if (unlikely(rank->silent || rank->ep.tree[0].unanswered >= NETINC_SILENT_ASKED))
		watch_root(rank);
	netinc_fpu_section_end(&rank->section);
	if (unlikely(netinc_membership_changed(rank)) && !rank->dead)
		netinc_membership_update(rank);
	if (unlikely(!is_demuxed(rank)) && !rank->dead)
		demux_rank(rank);
	netinc_txq_unlock(&rank->txq, rank->path.net, &rank->lock);
}

static enum hrtimer_restart timer_expired(struct hrtimer *timer)
{
	struct netinc_rank *rank = container_of(timer, struct netinc_rank, timer);

	netinc_rank_lock(rank);
	rank->armed = 0;
	if (rank->retry) {
		rank->retry = false;
		netinc_ep_pump(&rank->ep, rank->now);
	}
	netinc_rank_unlock(rank);
	return HRTIMER_NORESTART;
}

/* A tree that there is no way to is as good as the first: nobody there will take it for its own. */
static struct netinc_path *tree_path(struct netinc_rank *rank, u32 tree)
{
	return tree && tree <= rank->ntree_paths ? &rank->tree_paths[tree - 1] : &rank->path;
}

void netinc_rank_transmit(struct netinc_rank *rank, u32 tree, struct sk_buff *skb)
{
	netinc_rank_transmit_by(rank, tree_path(rank, tree), skb);
}

void netinc_rank_transmit_by(struct netinc_rank *rank, struct netinc_path *path,
			     struct sk_buff *skb)
{
	u64 *counters = rank->ep.counters;
	u32 headers;

	/* nothing overtakes what is to be sent */
	netinc_payload_flush(rank);
	if (!skb || netinc_txq_add(&rank->txq, path, skb)) {
		netinc_count(counters, INC_C_TX_ERRORS);
		return;
	}
	skb = skb_peek_tail(&rank->txq.queue);
	headers = skb_transport_offset(skb) + sizeof(struct udphdr);
	netinc_count(counters, INC_C_TX_SKBS);
	counters[INC_C_TX_PACKETS] += netinc_skb_packets(skb);
	counters[INC_C_TX_BYTES] += netinc_skb_ip_bytes(skb, headers);
}

static void ep_send(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u32 len)
{
	netinc_rank_transmit(netinc_rank_of(ep), pkt->tree, netinc_control_skb(pkt, body, len));
}

static void ep_op_done(struct netinc_ep *ep, struct netinc_op *op)
{
	struct netinc_rank *rank = netinc_rank_of(ep);

	if (op->mode & INC_MODE_COUNTS_PHASE && !op->error.code)
		netinc_counts_done(rank, container_of(op, struct netinc_counts, op));
	else if (op != &rank->leave && !(op->mode & INC_MODE_COUNTS_PHASE))
		netinc_op_request_done(rank, op);
}

static void ep_state(struct netinc_ep *ep, u8 old)
{
	struct netinc_rank *rank = netinc_rank_of(ep);

	trace_netinc_state(ep->cfg.group, ep->cfg.rank, old, ep->state, ep->epoch);
	if (ep->state == INC_STATE_READY)
		WRITE_ONCE(rank->joined, true);
	if ((ep->state == INC_STATE_READY || ep->state == INC_STATE_LEAVING) &&
	    rank->settled != ep->move) {
		rank->settled = ep->move;
		netinc_event_rank(rank->path.net, INC_EVENT_MOVED, ep);
	}
	if (ep->state == INC_STATE_FAILED && ep->error.code)
		netinc_event_rank(rank->path.net, INC_EVENT_GROUP_ERROR, ep);
	rank->wake(rank,
		   ep->state == INC_STATE_FAILED ? EPOLLERR | EPOLLHUP : EPOLLOUT | EPOLLWRNORM);
}

static const struct netinc_ep_ops ep_ops = {
	.send_blocks = netinc_payload_send,
	.send_retained = netinc_payload_send_retained,
	.send = ep_send,
	.send_to = netinc_rank_send_to,
	.spread = netinc_tree_paths_find,
	.retarget = netinc_rank_retarget,
	.retain_init = netinc_retain_init,
	.retain = netinc_retain_payload,
	.retain_release = netinc_retain_release,
	.deliver = netinc_payload_deliver,
	.op_done = ep_op_done,
	.state = ep_state,
};

/* Does it come from the root of the tree that it names? */
static bool from_root(struct netinc_rank *rank, const struct netinc_rx *rx)
{
	const struct netinc_path *path = tree_path(rank, rx->pkt.tree);
	u32 len = path->peer.family == AF_INET6 ? sizeof(struct in6_addr) : sizeof(struct in_addr);

	return rx->peer.family == path->peer.family &&
	       !memcmp(rx->peer.addr, path->peer.addr, len) &&
	       (!path->oif || path->oif == rx->via->ifindex || path->oif == rx->vrf);
}

static void rank_drop(struct netinc_rank *rank, struct netinc_rx *rx, enum inc_counter reason)
{
	netinc_count(rank->ep.counters, reason);
	netinc_rx_dropped(rx, rank->ep.cfg.group, reason);
}

/* Apart from the rest for its buffer, which the compiler may clear at every call. */
static noinline int rx_control(struct netinc_rank *rank, struct netinc_rx *rx, bool non_parent,
			       u64 now)
{
	const struct netinc_pkt *pkt = &rx->pkt;
	u8 buf[NETINC_MAX_BODY] __aligned(8);
	const void *body;
	int err;

	/* aggregation may have put it behind a packet for all ranks of this host */
	if (!netinc_for_all(pkt) && pkt->child != rank->ep.cfg.rank)
		return 0;
	body = netinc_rx_body(rx, buf);
	if (!body) {
		netinc_count(rank->ep.counters, INC_C_DROP_MALFORMED);
		return -INC_C_DROP_MALFORMED;
	}
	if (non_parent || pkt->type == INC_PKT_MOVE)
		return netinc_ep_non_parent(&rank->ep, pkt, body, &rx->peer, now);
	err = netinc_ep_control(&rank->ep, pkt, body, now);
	/* a limit does not pass like a shortage of memory: connect() is told, and does not wait */
	if (err == -INC_C_DROP_MEMORY && pkt->type == INC_PKT_READY && rank->store.refused)
		netinc_ep_decline(&rank->ep, pkt, body, now);
	return err;
}

/*
 * The segment at hand; returns 0 or the negative reason why it was dropped, which the engine has
 * counted.
 */
static int rx_segment(struct netinc_rank *rank, struct netinc_rx *rx, bool non_parent, u64 now)
{
	const struct netinc_pkt *pkt = &rx->pkt;
	struct netinc_pay pay = {
		.obj = rx->skb, .off = rx->body, .len = pkt->len, .flags = pkt->flags
	};
	int err;

	/* aggregation may have put it behind one that may be sent to many */
	if (rx->multicast && !netinc_multicast_ok(pkt)) {
		netinc_count(rank->ep.counters, INC_C_DROP_ADDRESS);
		return -INC_C_DROP_ADDRESS;
	}
	if (pkt->type != INC_PKT_RESULT || non_parent)
		return rx_control(rank, rx, non_parent, now);
	err = netinc_ep_check(&rank->ep, pkt);
	return err ?: netinc_ep_result(&rank->ep, pkt, &pay, now);
}

/* A segment for which nothing is looked at, as one of another child, costs a look all the same. */
static void rx_counted(struct netinc_rank *rank, struct netinc_rx *rx, bool non_parent, u64 now)
{
	u32 left = rank->ep.work_left;
	int err;

	err = rx_segment(rank, rx, non_parent, now);
	if (err)
		netinc_rx_dropped(rx, rank->ep.cfg.group, -err);
	else
		rx->used = true;
	if (rank->ep.work_left == left)
		netinc_ep_take_work(&rank->ep, 1);
}

static void rx_segments(struct netinc_rank *rank, struct netinc_rx *rx, bool non_parent, u64 now)
{
	u32 tree = rx->pkt.tree;
	int got;

	do {
		if (rx->pkt.group == rank->ep.cfg.group && rx->pkt.tree == tree) {
			rx_counted(rank, rx, non_parent, now);
		} else {
			rank_drop(rank, rx, INC_C_DROP_NO_GROUP);
			netinc_ep_take_work(&rank->ep, 1);
		}
		got = netinc_rx_next(rx);
	} while (got > 0 && rank->ep.work_left);
	if (got)
		rank_drop(rank, rx, got < 0 ? -got : INC_C_DROP_WORK);
}

void netinc_rank_rx(struct netinc_rank *rank, struct netinc_rx *rx)
{
	u64 *counters = rank->ep.counters, now;
	u32 tree = rx->pkt.tree;
	bool non_parent;

	netinc_rank_lock(rank);
	if (rank->dead)
		goto out;
	now = rank->now;
	netinc_ep_buffer_begin(&rank->ep, rx->work);
	non_parent = !from_root(rank, rx);
	/* other ranks call, and the node that was lost may be there again */
	if (non_parent && rx->pkt.type != INC_PKT_MOVE && rx->pkt.type != INC_PKT_CHALLENGE &&
	    rx->pkt.type != INC_PKT_WAIT) {
		rank_drop(rank, rx, INC_C_DROP_PORT);
		goto out;
	}
	/* another program of this host may be in a group that the rank knows nothing of */
	if (rx->multicast && !netinc_membership_has(rank, rx->local)) {
		rank_drop(rank, rx, INC_C_DROP_ADDRESS);
		goto out;
	}
	netinc_count(counters, INC_C_RX_SKBS);
	counters[INC_C_CONGESTED] += rx->ce;
	counters[INC_C_RX_PACKETS] += netinc_rx_packets(rx);
	counters[INC_C_MULTICAST] += rx->multicast ? netinc_rx_packets(rx) : 0;
	counters[INC_C_RX_BYTES] += netinc_rx_bytes(rx);
	if (netinc_rx_len(rx) >= NETINC_FPU_WORTH)
		netinc_fpu_section_want(&rank->section);
	rx_segments(rank, rx, non_parent, now);
	netinc_ep_packet_end(&rank->ep, tree, now);
	rx->work = rank->ep.work_left;
	netinc_pin_progress(rank);
out:
	netinc_rank_unlock(rank);
}

/* The path, and what it says about the size of blocks and super-packets. */
static int init_path(struct netinc_rank *rank, struct netinc_ep_cfg *cfg,
		     const struct netinc_peer *parent, u32 oif)
{
	int mtu, err;

	err = netinc_path_init(&rank->path, rank->nn->net, parent,
			       netinc_sport(cfg->job, cfg->group, 0, cfg->stripe), oif,
			       GFP_KERNEL);
	if (err)
		return err;
	rank->path.sk = rank->sk;
	rank->vrf = l3mdev_master_ifindex_by_index(rank->nn->net, oif ?:
						   READ_ONCE(rank->sk->sk_bound_dev_if));
	mtu = netinc_path_mtu(&rank->path);
	err = mtu < 0 ? mtu : mtu < (int)sizeof(struct inc_hdr) + INC_MIN_BLOCK ? -EMSGSIZE : 0;
	if (err) {
		netinc_path_destroy(&rank->path);
		return err;
	}
	rank->holder = netinc_port_hold(rank->nn->net, parent->family, rank->path.sport);
	rank->holds_port = rank->holder;
	cfg->block = min_t(u32, round_down(mtu - (int)sizeof(struct inc_hdr), INC_BLOCK_ALIGN),
			   INC_MAX_BLOCK);
	cfg->super_packet = min_t(u32,
				  (65535 - MAX_HEADERS) / (sizeof(struct inc_hdr) + cfg->block),
				  NETINC_MAX_SEGMENTS);
	return 0;
}

static void destroy_path(struct netinc_rank *rank)
{
	if (rank->holder)
		sock_release(rank->holder);
	netinc_path_destroy(&rank->path);
}

/* Does the group meet at this rank, if it meets here? */
static bool is_meeting_place(const struct netinc_ep_cfg *cfg)
{
	return cfg->at_edge && !cfg->rank;
}

/*
 * Has @other, of the same number and group, the place of @rank? Another user's has not: who has
 * joined first would keep others out, whatever node it has joined at. Nonces, incarnations and
 * lineages tell the two apart, and each has its own cookies. But JOINs of a group that is to meet
 * here say none of these, and look for that rank 0 whose key others have to prove: of those there
 * is one.
 */
static bool has_place_of(const struct netinc_rank *other, const struct netinc_rank *rank)
{
	const struct netinc_ep_cfg *cfg = &rank->ep.cfg, *its = &other->ep.cfg;

	if (!netinc_stripe_same(its->stripe, cfg->stripe))
		return false;
	return other->user == rank->user || (is_meeting_place(its) && is_meeting_place(cfg));
}

/*
 * A rank that shrinks has its old number, which another one may have by now, and will get a new
 * one: the node tells them apart.
 */
static struct netinc_demux_key number_key(const struct netinc_rank *rank)
{
	const struct netinc_ep_cfg *cfg = &rank->ep.cfg;

	if (cfg->prev.lineage)
		return rank_key(rank, NETINC_DEMUX_RANK_SHRINKS, 0, cfg->prev.lineage);
	return rank_key(rank, NETINC_DEMUX_RANK_NUMBER, cfg->rank, cfg->job);
}

static bool is_place_taken(struct netinc_net *nn, const struct netinc_rank *rank,
			   const struct netinc_demux_key *key)
{
	const struct netinc_rank *other;
	struct rhlist_head *pos;
	bool taken = false;

	lockdep_assert_held(&nn->hash_lock);
	if (key->kind != NETINC_DEMUX_RANK_NUMBER)
		return false;
	rcu_read_lock();
	rhl_for_each_entry_rcu(other, pos, netinc_demux_find(nn, key), by_number.list)
		taken |= has_place_of(other, rank);
	rcu_read_unlock();
	return taken;
}

static int hash_insert(struct netinc_net *nn, struct netinc_rank *rank)
{
	const struct netinc_ep_cfg *cfg = &rank->ep.cfg;
	struct netinc_demux_key key = number_key(rank);
	int err;

	spin_lock_bh(&nn->hash_lock);
	err = is_place_taken(nn, rank, &key) ? -EADDRINUSE :
					       netinc_demux_set(nn, &rank->by_number, &key);
	if (!err) {
		hlist_add_head_rcu(&rank->hash,
				   &nn->ranks[netinc_bucket(nn, cfg->group, cfg->job)]);
		netinc_list_changed(nn, NETINC_LIST_GROUPS);
	}
	spin_unlock_bh(&nn->hash_lock);
	return err;
}

/* After the port's holder is gone, which is to get nothing that comes to the port. */
static void port_remove(struct netinc_net *nn, struct netinc_rank *rank)
{
	netinc_demux_clear(nn, &rank->by_port);
}

static void unhash_rank(struct netinc_net *nn, struct netinc_rank *rank)
{
	lockdep_assert_held(&rank->lock);
	netinc_net_retire(nn, &rank->hash, rank->ep.counters);
	netinc_demux_clear(nn, &rank->by_nonce);
	netinc_demux_clear(nn, &rank->by_number);
	netinc_demux_clear(nn, &rank->by_run);
	netinc_demux_clear(nn, &rank->by_lineage);
}

/*
 * Where packets find it, and others of its group. Packets do not get beyond its lock before it is
 * in all places: it may have to leave those that it is in already.
 */
static int insert_rank(struct netinc_net *nn, struct netinc_rank *rank)
{
	u16 sport = be16_to_cpu(rank->path.sport);
	struct netinc_demux_key port =
		rank->holds_port ?
			(struct netinc_demux_key){ .number = sport,
						   .kind = NETINC_DEMUX_RANK_PORT } :
			rank_key(rank, NETINC_DEMUX_RANK_OTHER_PORT, sport, 0);
	struct netinc_demux_key nonce =
		rank_key(rank, NETINC_DEMUX_RANK_NONCE, rank->ep.cfg.nonce, 0);
	int err;

	err = netinc_demux_set(nn, &rank->by_port, &port);
	if (!err)
		err = netinc_demux_set(nn, &rank->by_nonce, &nonce);
	if (!err)
		err = hash_insert(nn, rank);
	if (err) {
		netinc_demux_clear(nn, &rank->by_nonce);
		port_remove(nn, rank);
		return err;
	}
	spin_lock_bh(&rank->lock);
	rank->dead = false;
	spin_unlock_bh(&rank->lock);
	return 0;
}

static int net_use(struct netinc_net *nn)
{
	int err;

	mutex_lock(&nn->mutex);
	err = netinc_net_use(nn);
	mutex_unlock(&nn->mutex);
	/* EADDRINUSE is a rank that is taken */
	return err == -EADDRINUSE ? -ENOTUNIQ : err;
}

static void net_unuse(struct netinc_net *nn)
{
	mutex_lock(&nn->mutex);
	netinc_net_unuse(nn);
	mutex_unlock(&nn->mutex);
}

static void init_rank(struct netinc_rank *rank, struct netinc_net *nn, struct sock *sk)
{
	rank->nn = nn;
	rank->sk = sk;
	rank->user = netinc_sk(sk)->user;
	atomic_inc(&rank->user->ranks);
	rank->uid = current_uid();
	rank->pid = get_pid(task_tgid(current));
	rank->dead = true;
	kref_init(&rank->ref);
	spin_lock_init(&rank->lock);
	hrtimer_setup(&rank->timer, timer_expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	netinc_txq_init(&rank->txq, NETINC_TXQ_RANK);
	INIT_LIST_HEAD(&rank->pending);
	INIT_LIST_HEAD(&rank->completed);
	netinc_pin_init(&rank->pin);
	netinc_counts_init_rank(rank);
	netinc_membership_init_rank(rank);
}

/* All of a new rank that can fail, each step taken back if a later one does. */
static int set_up(struct netinc_rank *rank, struct netinc_ep_cfg *cfg,
		  const struct netinc_peer *parent, u32 oif)
{
	int err;

	err = init_path(rank, cfg, parent, oif);
	if (err)
		return err;
	err = net_use(rank->nn);
	if (err)
		goto err_path;
	cfg->dead_ms = cfg->prev.settings.dead_ms ?: DEAD_MS;
	/* a run of the group that has failed takes three to be found, told and forgotten */
	cfg->busy_ms = 4 * READ_ONCE(netinc_dead_ms);
	cfg->nonce = get_random_u32() ?: 1;
	cfg->first_block = first_block;
	netinc_ep_init(&rank->ep, cfg, &ep_ops);
	rank->ep.plan[0] = *parent;
	rank->ep.plan[0].ifindex = oif;
	err = -ENOMEM;
	rank->ep.peers = kvcalloc(cfg->size, sizeof(*rank->ep.peers), GFP_KERNEL_ACCOUNT);
	if (!rank->ep.peers)
		goto err_use;
	err = insert_rank(rank->nn, rank);
	if (!err)
		return 0;
	kvfree(rank->ep.peers);
err_use:
	net_unuse(rank->nn);
err_path:
	destroy_path(rank);
	return err;
}

/*
 * Frees after a grace period: packets may still look at it, the edge copies the key without lock or
 * reference, and dumps read the pid so.
 */
static void rank_free(struct rcu_head *rcu)
{
	struct netinc_rank *rank = container_of(rcu, struct netinc_rank, rcu);

	put_pid(rank->pid);
	memzero_explicit(rank->ep.cfg.key, sizeof(rank->ep.cfg.key));
	kvfree(rank->spare);
	kvfree(rank);
}

/*
 * Bytes of a rank that is made as @cfg says, also of the paths to all trees that there may be, and
 * of the socket of membership.c.
 */
static s64 rank_bytes(const struct netinc_ep_cfg *cfg)
{
	u32 paths = min_t(u32, cfg->size, INC_MAX_TREES);

	return sizeof(struct netinc_rank) + sizeof(struct netinc_op_request) +
	       cfg->size * sizeof(struct netinc_peer) +
	       (paths - 1) * sizeof(struct netinc_path) + paths * netinc_path_extra() +
	       2 * sizeof(struct socket_alloc) + sizeof(struct udp6_sock) +
	       sizeof(struct udp_sock) + NETINC_DEMUX_BYTES * 5;
}

struct netinc_rank *netinc_rank_create(struct netinc_net *nn, struct netinc_ep_cfg *cfg,
				       const struct netinc_peer *parent, u32 oif, struct sock *sk,
				       void (*wake)(struct netinc_rank *rank, __poll_t what))
{
	struct netinc_user *user = netinc_sk(sk)->user;
	s64 bytes = rank_bytes(cfg);
	struct netinc_rank *rank;
	int err;

	err = netinc_charge(nn, user, INC_LIMIT_SOCKET_MEMORY, bytes);
	if (err)
		return ERR_PTR(err);
	rank = kvzalloc(sizeof(*rank), GFP_KERNEL_ACCOUNT);
	if (!rank) {
		netinc_uncharge(nn, user, INC_LIMIT_SOCKET_MEMORY, bytes);
		return ERR_PTR(-ENOMEM);
	}
	init_rank(rank, nn, sk);
	rank->charged = bytes;
	rank->wake = wake;
	err = set_up(rank, cfg, parent, oif);
	if (err)
		goto err_free;
	sock_hold(sk);
	return rank;

err_free:
	atomic_dec(&rank->user->ranks);
	netinc_pin_fini(&rank->pin);
	call_rcu(&rank->rcu, rank_free);
	netinc_uncharge(nn, user, INC_LIMIT_SOCKET_MEMORY, bytes);
	return ERR_PTR(err);
}

void netinc_rank_destroy(struct netinc_rank *rank)
{
	struct netinc_net *nn = rank->nn;

	netinc_rank_lock(rank);
	unhash_rank(nn, rank);
	if (rank->ep.state != INC_STATE_CLOSED)
		netinc_ep_abort(&rank->ep, INC_ERR_RANK_ABORT, true, rank->now);
	rank->dead = true;
	netinc_rank_unlock(rank);
	hrtimer_cancel(&rank->timer);
	netinc_membership_fini_rank(rank);
	netinc_retain_fini(rank);
	netinc_net_add_counters(nn, rank->ep.counters);
	netinc_op_request_purge(rank);
	netinc_pin_drain(rank);
	netinc_tree_paths_fini(rank);
	destroy_path(rank);
	port_remove(nn, rank);
	net_unuse(nn);
}

bool netinc_rank_is_own(const struct netinc_rank *rank)
{
	return rank->pid == task_tgid(current);
}

long netinc_rank_patience(const struct netinc_rank *rank, long longest)
{
	if (current->flags & PF_KTHREAD)
		return 0;
	return netinc_rank_is_own(rank) ? longest : longest / 10;
}

void netinc_rank_get(struct netinc_rank *rank)
{
	kref_get(&rank->ref);
}

static void rank_release(struct kref *ref)
{
	struct netinc_rank *rank = container_of(ref, struct netinc_rank, ref);
	struct sock *sk = rank->sk;

	netinc_pin_fini(&rank->pin);
	WARN_ON_ONCE(!list_empty(&rank->pending) || !list_empty(&rank->completed));
	netinc_uncharge(rank->nn, rank->user, INC_LIMIT_SOCKET_MEMORY, rank->charged);
	atomic_dec(&rank->user->ranks);
	kvfree(rank->ep.peers);
	netinc_contributed_free(rank, rank->contributed);
	call_rcu(&rank->rcu, rank_free);
	/* last: the module may go with it, which waits for the callback then */
	sock_put(sk);
}

void netinc_rank_put(struct netinc_rank *rank)
{
	kref_put(&rank->ref, rank_release);
}
