// SPDX-License-Identifier: GPL-2.0-only
/*
 * A node and its peers that are no members yet: challenges, refusals, and JOINs that are let in.
 * Until a JOIN has brought back a challenge that was sent to its address, and proved the node's
 * key, nothing is kept of its sender.
 */
#include <linux/math64.h>
#include "core/answers.h"
#include "core/gso_buf.h"
#include "core/nf_hooks.h"
#include "core/path.h"
#include "core/trace.h"
#include "node/edge.h"
#include "node/history.h"
#include "node/node.h"
#include "node/node_group.h"
#include "node/tenant.h"

#define CHALLENGE_SECONDS	16	/* a challenge is good for one to two of these */

static u64 make_challenge(const struct netinc_node *node, const struct netinc_rx *rx,
			  const struct inc_join *join, u64 when)
{
	const atomic_t *generation = netinc_generation(node, be64_to_cpu(join->job), rx->pkt.group,
						       netinc_join_stripe(join), rx->vrf);
	struct {
		struct netinc_peer peer;
		__be32 group;
		__be32 rank;
		__be32 nonce;
		__be32 when;
		__be32 generation;
		__be16 sport;
		__be16 zero;
	} m = { .peer = rx->peer,
		.group = cpu_to_be32(rx->pkt.group),
		.rank = cpu_to_be32(rx->pkt.child),
		.nonce = join->nonce,
		.when = cpu_to_be32((u32)when),
		.generation = cpu_to_be32(atomic_read(generation)),
		.sport = rx->sport };

	return netinc_siphash(&m, sizeof(m), rx->nn->secret) ?: 1;
}

/* Answers a peer that may be anybody: the way back is looked up and forgotten. */
static void send_reply(struct netinc_rx *rx, u8 type, u64 cookie, const void *body, u32 len)
{
	enum netinc_answer kind = type == INC_PKT_CHALLENGE ? NETINC_ANSWER_CHALLENGE :
							      NETINC_ANSWER_REFUSE;
	struct netinc_pkt pkt = { .type = type,
				  .span = 1,
				  .group = rx->pkt.group,
				  .incarnation = rx->pkt.incarnation,
				  .child = rx->pkt.child,
				  .epoch = rx->pkt.epoch,
				  .cookie = cookie };
	struct netinc_path path = { .net = rx->nn->net,
				    .peer = rx->peer,
				    .sport = htons(netinc_port),
				    .oif = netinc_rx_oif(rx) };
	struct sk_buff_head q;
	struct sk_buff *skb;

	path.peer.udp_port = rx->sport;
	memcpy(path.local, rx->local, sizeof(path.local));
	/* who says that he is somebody else is not to get more sent there than he sends */
	if (netinc_rx_len(rx) < sizeof(struct inc_hdr) + len)
		return;
	if (!netinc_answer_ok(rx->nn, kind, &rx->peer, rx->dev->ifindex)) {
		netinc_net_count(rx->nn, INC_C_DROP_LIMIT, 1);
		return;
	}
	__skb_queue_head_init(&q);
	skb = netinc_control_skb(&pkt, body, len);
	if (!skb)
		return;
	netinc_path_queue(&path, skb, &q);
	netinc_tx_flush(rx->nn->net, &q);
}

static void send_refuse(struct netinc_rx *rx, u32 nonce, enum inc_refuse_code code, u64 detail)
{
	struct inc_refuse body = { .nonce = cpu_to_be32(nonce), .code = cpu_to_be16(code),
				   .detail = cpu_to_be64(detail) };

	send_reply(rx, INC_PKT_REFUSE, rx->pkt.cookie, &body, sizeof(body));
}

/* 0 or the enum inc_refuse_code. */
static int queue_pending_group(struct netinc_node *node, const struct netinc_pending_group *pending,
			       u64 *limit)
{
	u32 window = pending->settings.window, i;
	int code = 0;

	spin_lock_bh(&node->lock);
	for (i = 0; i < node->npending; i++)
		if (node->pending[i].group == pending->group &&
		    node->pending[i].job == pending->job &&
		    netinc_stripe_same(node->pending[i].stripe, pending->stripe) &&
		    node->pending[i].lineage == pending->lineage &&
		    node->pending[i].returns == pending->returns &&
		    node->pending[i].shrink == pending->shrink &&
		    node->pending[i].tenant == pending->tenant &&
		    node->pending[i].creator.vrf == pending->creator.vrf)
			goto out;
	/*
	 * who comes from elsewhere, with a window that is fixed, may say what he likes; at the edge
	 * it is what the rank here has agreed to
	 */
	if (!netinc_node_is_edge(node) &&
	    netinc_node_group_fit(&node->cfg, window, pending->size) < window) {
		code = INC_REFUSE_LIMIT;
		*limit = node->cfg.max_memory;
		goto out;
	}
	code = netinc_quota_check(node, pending, limit);
	if (code || node->dead)
		goto out;
	/* many come at once: the JOIN will be repeated, when some of these have been made */
	if (node->npending == NETINC_MAX_PENDING) {
		netinc_net_count(node->nn, INC_C_DROP_LIMIT, 1);
	} else {
		netinc_tenant_get(pending->tenant);
		node->pending[node->npending++] = *pending;
		netinc_node_work(node);
	}
out:
	spin_unlock_bh(&node->lock);
	return code;
}

/*
 * Whose user pays decides: at the edge a group is what a rank here knows of it, whoever comes
 * first. 0 or the enum inc_refuse_code.
 */
static int fit_to_edge(const struct netinc_node *node, struct netinc_pending_group *pending)
{
	struct netinc_meeting meeting = netinc_node_meeting(pending);
	u8 key[INC_KEY_LEN];
	bool found;

	if (!netinc_node_is_edge(node))
		return 0;
	found = netinc_edge_find_key(node->nn, &meeting, key);
	memzero_explicit(key, sizeof(key));
	if (!found)
		return INC_REFUSE_NO_NODE;
	if (meeting.stripe != pending->stripe)
		return INC_REFUSE_STRIPES;
	return netinc_node_fit_to_rank(pending, &meeting) ? 0 : INC_REFUSE_SIZE;
}

/* Fills in what a JOIN asks for if there is no such group yet. 0 or the enum inc_refuse_code. */
static int parse_pending_group(const struct netinc_node *node, const struct netinc_rx *rx,
			       const struct inc_join *join, struct netinc_pending_group *pending,
			       u64 *detail)
{
	int code;

	*pending = (struct netinc_pending_group){
		.job = be64_to_cpu(join->job),
		.group = rx->pkt.group,
		.size = be32_to_cpu(join->size),
		.stripe = netinc_join_stripe(join),
		.block = be16_to_cpu(join->block),
		.creator = { .peer = rx->peer, .ifindex = rx->dev->ifindex, .vrf = rx->vrf },
		.lineage = be64_to_cpu(join->lineage),
		.shrink = netinc_join_shrinks(join),
	};
	if (!pending->size || pending->size > INC_MAX_RANKS || rx->pkt.child >= pending->size)
		return INC_REFUSE_SIZE;
	*detail = INC_MIN_BLOCK;
	if (!netinc_join_block_ok(join))
		return INC_REFUSE_BLOCK;
	*detail = 0;
	if (!pending->lineage && pending->shrink)
		return INC_REFUSE_SIZE;
	/* a node has its own limits for a group that shrinks */
	if (pending->lineage && !pending->shrink)
		pending->settings = netinc_settings_from_join(join);
	code = fit_to_edge(node, pending);
	if (code || !pending->lineage)
		return code;
	pending->move = be32_to_cpu(join->move);
	pending->returns = netinc_join_returns(join);
	if (pending->returns && (pending->shrink || netinc_node_is_edge(node)))
		return INC_REFUSE_TREE;
	pending->at_edge = pending->shrink && netinc_node_is_edge(node);
	pending->spread = !pending->shrink && netinc_node_is_edge(node);
	if (pending->shrink && !pending->at_edge)
		return 0;
	/* where it first formed it does not begin a second time */
	if (!pending->shrink && !pending->move)
		return INC_REFUSE_SIZE;
	return pending->settings.fallback && netinc_settings_ok(&pending->settings) ?
		       0 : INC_REFUSE_SIZE;
}

/*
 * The run in which the members of a group that has failed go on. NULL: there is none yet, or @code
 * says why there will be none with this one.
 */
static struct netinc_node_group *shrunk_for(const struct netinc_node *node,
					    const struct netinc_rx *rx, const struct inc_join *join,
					    const struct netinc_tenant *tenant, int *code)
{
	u64 lineage = be64_to_cpu(join->lineage), job = be64_to_cpu(join->job);
	u8 stripe = netinc_join_stripe(join);
	struct netinc_node_group *g;

	/* no group has failed that is called so; those that follow none are not looked at */
	if (!lineage)
		return NULL;
	g = netinc_node_group_find_shrunk(rx->nn, job, rx->pkt.group, lineage);
	if (g && g->node == node && netinc_node_group_in_vrf(g, rx->vrf))
		return g;
	/* this box may be several nodes: one of them decides */
	if (g)
		*code = READ_ONCE(g->grp.shrunk) ? INC_REFUSE_OUT : INC_REFUSE_BUSY;
	else if (netinc_node_group_ended(rx, join))
		*code = INC_REFUSE_BUSY;	/* not any more when JOIN is repeated */
	else if (netinc_node_group_find_for(rx->nn, job, rx->pkt.group, stripe, tenant, rx->vrf) ||
		 netinc_history_went_on(rx->nn, rx->pkt.group, lineage))
		*code = INC_REFUSE_OUT;
	return NULL;
}

/* 0 or the enum inc_refuse_code: does the node reduce what that group has to have? */
static int check_kinds(struct netinc_node *node, const struct inc_join *join, u64 *detail)
{
	struct netinc_kinds own;

	spin_lock_bh(&node->lock);
	own = node->cfg.settings.lacks;
	spin_unlock_bh(&node->lock);
	return netinc_kinds_admit(own, join, detail);
}

/* The group, or the run of it, that a JOIN is for. */
static struct netinc_node_group *group_for(struct netinc_node *node, const struct netinc_rx *rx,
					   const struct inc_join *join,
					   const struct netinc_tenant *tenant, int *code)
{
	u64 lineage = be64_to_cpu(join->lineage), job = be64_to_cpu(join->job);

	if (netinc_join_shrinks(join) && !rx->pkt.incarnation)
		return shrunk_for(node, rx, join, tenant, code);
	if (rx->pkt.incarnation)
		return netinc_node_group_find(rx->nn, rx->pkt.group, rx->pkt.incarnation, rx->vrf);
	if (lineage)
		return netinc_node_group_find_moved(node, job, rx->pkt.group, lineage,
						    be32_to_cpu(join->move),
						    netinc_join_returns(join), rx->vrf);
	return netinc_node_group_find_over(rx, join) ?:
		       netinc_node_group_find_for(rx->nn, job, rx->pkt.group,
						  netinc_join_stripe(join), tenant, rx->vrf);
}

/*
 * A tenant's groups, also those that have moved or shrunk, are for his ranks; those of nobody for
 * all.
 */
static bool is_for_tenant(const struct netinc_node_group *g, const struct netinc_tenant *tenant)
{
	return !g->tenant || g->tenant == tenant;
}

/*
 * May the sender of this JOIN, who is where he says, join anything here? 0 or the enum
 * inc_refuse_code.
 */
static int admit_sender(const struct netinc_node *node, const u8 *key, struct netinc_rx *rx,
			const struct inc_join *join, struct netinc_tenant **tenant)
{
	/* at the edge ranks know one another: tenants are the nodes' */
	if (!netinc_node_is_edge(node))
		return netinc_tenant_of(rx, join, key, tenant);
	return netinc_join_proved(key, rx, join) ? 0 : INC_REFUSE_KEY;
}

/* Who asks what the node is has proved what a rank has to: nobody else is told. */
static void send_about(struct netinc_node *node, struct netinc_rx *rx, const struct inc_join *join,
		       const struct netinc_tenant *tenant)
{
	struct {
		struct inc_challenge challenge;
		struct inc_about about;
	} body = { .challenge = { .nonce = join->nonce, .challenge = join->challenge } };

	netinc_node_about(node, tenant, &body.about);
	send_reply(rx, INC_PKT_CHALLENGE, 0, &body, sizeof(body));
}

/*
 * A member that comes back after an error is known by its nonce, address and cookie; but not where
 * it may come by another port.
 */
static bool needs_proof(const struct netinc_rx *rx, const struct inc_join *join)
{
	if (!rx->pkt.incarnation)
		return true;
	return netinc_join_rebinds(join) &&
	       netinc_node_group_find(rx->nn, rx->pkt.group, rx->pkt.incarnation, rx->vrf);
}

/*
 * Would the group begin anew, and its tenant has nothing left for that? Of what its lock protects
 * only hints are read; the engine asks again.
 */
static bool owes_for(const struct netinc_node_group *g, const struct netinc_rx *rx,
		     const struct inc_join *join)
{
	return g->tenant && !rx->pkt.incarnation && join->lineage &&
	       be32_to_cpu(join->move) != READ_ONCE(g->grp.move) &&
	       netinc_tenant_in_debt(g->tenant, ktime_get_ns());
}

static void join_rx(struct netinc_node *node, const u8 *key, struct netinc_rx *rx,
		    const struct inc_join *join)
{
	u32 nonce = be32_to_cpu(join->nonce);
	u64 when = div_u64(netinc_now(), CHALLENGE_SECONDS * USEC_PER_SEC);
	u64 now = make_challenge(node, rx, join, when), got = be64_to_cpu(join->challenge);
	u64 detail = 0;
	bool asks = join->below & INC_JOIN_ASK;
	struct inc_challenge body = { .nonce = join->nonce, .challenge = cpu_to_be64(now),
				      .flags = cpu_to_be32(asks ? INC_CHALLENGE_ASK : 0) };
	struct netinc_tenant *tenant = NULL;
	struct netinc_pending_group pending;
	struct netinc_node_group *g;
	int code = 0;

	if (needs_proof(rx, join)) {
		if (got != now && got != make_challenge(node, rx, join, when - 1)) {
			if (got)
				netinc_rx_drop(rx, INC_C_DROP_CHALLENGE);
			send_reply(rx, INC_PKT_CHALLENGE, 0, &body, sizeof(body));
			return;
		}
		code = admit_sender(node, key, rx, join, &tenant);
		if (code) {
			netinc_rx_drop(rx, INC_C_DROP_PROOF);
			send_refuse(rx, nonce, code, 0);
			return;
		}
		if (asks) {
			if (!netinc_node_is_edge(node))
				send_about(node, rx, join, tenant);
			netinc_tenant_put(tenant);
			return;
		}
	}
	g = group_for(node, rx, join, tenant, &code);
	if (g && (!rx->pkt.incarnation || netinc_join_rebinds(join)) &&
	    !is_for_tenant(g, tenant)) {
		code = INC_REFUSE_TENANT;
	} else if (g && g->node == node && owes_for(g, rx, join)) {
		code = INC_REFUSE_BUSY;
	} else if (g && g->node == node) {
		code = netinc_node_group_join(g, rx, join, &detail);
	} else if (rx->pkt.incarnation) {
		code = INC_REFUSE_UNKNOWN;
	} else if (!code) {
		code = parse_pending_group(node, rx, join, &pending, &detail) ?:
			       check_kinds(node, join, &detail);
		pending.tenant = tenant;
		if (!code)
			code = queue_pending_group(node, &pending, &detail);
	}
	if (code)
		send_refuse(rx, nonce, code, detail);
	netinc_tenant_put(tenant);
}

/*
 * A JOIN that is for no node may be for the edge: it names the lineage of a group that has a rank
 * here, or the group is to meet here. What the node asked of that rank, or it would prove to one,
 * the edge asks of the others: @key, which does not change.
 */
static struct netinc_node *edge_for(const struct netinc_rx *rx, const struct inc_join *join,
				    u8 *key)
{
	struct netinc_meeting meeting = {
		.job = be64_to_cpu(join->job), .lineage = be64_to_cpu(join->lineage),
		.group = rx->pkt.group, .vrf = rx->vrf, .size = be32_to_cpu(join->size),
		.stripe = netinc_join_stripe(join)
	};

	return netinc_edge_find_key(rx->nn, &meeting, key) ? rx->nn->edge : NULL;
}

/* A whole one: it may be set meanwhile. */
static void copy_key(struct netinc_node *node, u8 *key)
{
	spin_lock_bh(&node->lock);
	memcpy(key, node->cfg.key, INC_KEY_LEN);
	spin_unlock_bh(&node->lock);
}

static void node_rx_join(struct netinc_node *node, struct netinc_rx *rx)
{
	u8 buf[NETINC_MAX_BODY] __aligned(8), key[INC_KEY_LEN];
	const struct inc_join *join = netinc_rx_body(rx, buf);

	if (!join || !netinc_join_whole(join, rx->pkt.len)) {
		netinc_rx_drop(rx, INC_C_DROP_MALFORMED);
		return;
	}
	if (node && !(netinc_node_is_edge(node) && netinc_join_rebinds(join)))
		copy_key(node, key);
	else
		node = edge_for(rx, join, key);
	if (node)
		join_rx(node, key, rx, join);
	memzero_explicit(key, sizeof(key));
	if (node)
		return;
	netinc_rx_drop(rx, INC_C_DROP_NO_NODE);
	send_refuse(rx, be32_to_cpu(join->nonce), INC_REFUSE_NO_NODE, 0);
}

/*
 * Who gives up before READY has come does not know the incarnation, but is known by job and nonce.
 * The buffer is cleared, which every packet would pay for if it was in the caller's frame.
 */
static noinline struct netinc_node_group *group_of_joining(const struct netinc_rx *rx)
{
	u8 buf[NETINC_MAX_BODY] __aligned(8);
	const struct inc_error_pkt *abort = netinc_rx_body(rx, buf);

	if (!abort)
		return NULL;
	return netinc_node_group_find_joining(rx, be64_to_cpu(abort->block),
					      be32_to_cpu(abort->resume));
}

/* The group of a packet that is neither a JOIN nor for a tree of its own. */
static struct netinc_node_group *group_of_member(const struct netinc_rx *rx)
{
	if (rx->pkt.incarnation)
		return netinc_node_group_find(rx->nn, rx->pkt.group, rx->pkt.incarnation,
					      rx->vrf);
	return rx->pkt.type == INC_PKT_ABORT ? group_of_joining(rx) : NULL;
}

/*
 * May the sender, who is no member, be told anything? A node answers nobody whom its routes have
 * elsewhere than where the packet came from: who lives there has not asked.
 */
static bool may_answer_sender(const struct netinc_node *node, const struct netinc_rx *rx)
{
	if (!netinc_rx_sender_ok(rx))
		return false;
	return !node || netinc_node_is_edge(node) || netinc_rx_comes_back(rx);
}

/*
 * A rank that knows the group's run comes back to where that is, whatever nodes were added since.
 */
static struct netinc_node *join_node(const struct netinc_rx *rx)
{
	const struct netinc_node_group *g = NULL;

	if (rx->pkt.incarnation)
		g = netinc_node_group_find(rx->nn, rx->pkt.group, rx->pkt.incarnation, rx->vrf);
	return g ? g->node : netinc_node_for(rx);
}

void netinc_node_rx(struct netinc_rx *rx)
{
	struct netinc_node_group *g;
	struct netinc_node *node;

	if (rx->pkt.type == INC_PKT_JOIN) {
		node = join_node(rx);
		if (may_answer_sender(node, rx))
			node_rx_join(node, rx);
		else
			netinc_rx_drop(rx, INC_C_DROP_ADDRESS);
		return;
	}
	if (rx->pkt.tree) {
		g = netinc_node_group_find_tree(rx->nn, &rx->pkt);
		if (g)
			netinc_node_group_rx(g, rx);
		else
			netinc_rx_drop(rx, INC_C_DROP_NO_GROUP);
		return;
	}
	g = group_of_member(rx);
	if (g) {
		netinc_node_group_rx(g, rx);
		return;
	}
	node = netinc_node_for(rx);
	if (!may_answer_sender(node, rx)) {
		netinc_rx_drop(rx, INC_C_DROP_ADDRESS);
		return;
	}
	netinc_rx_drop(rx, node ? INC_C_DROP_NO_GROUP : INC_C_DROP_NO_NODE);
	if (rx->pkt.type != INC_PKT_ABORT)
		send_refuse(rx, 0, INC_REFUSE_UNKNOWN, 0);
}
