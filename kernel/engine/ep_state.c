// SPDX-License-Identifier: GPL-2.0-only
/*
 * How an endpoint changes its state: JOIN, ABORT, errors that end operations or the group; rules 5
 * and 6 of protocol.rst.
 */
#include "endpoint.h"

void netinc_ep_set_state(struct netinc_ep *ep, u8 state)
{
	u8 old = ep->state;

	ep->state = state;
	if (old != state)
		ep->ops->state(ep, old);
}

/* A JOIN, with room for what may be behind it. */
struct join_body {
	struct inc_join join;
	struct inc_join_kinds kinds;
};

static void prove_join(const struct netinc_ep *ep, u64 challenge, struct inc_join *join)
{
	join->challenge = cpu_to_be64(challenge);
	if (challenge)
		netinc_join_proof(ep->cfg.key, ep->cfg.group, ep->cfg.rank, join, join->proof);
}

static void build_join(const struct netinc_ep *ep, u8 flags, struct netinc_pkt *pkt,
		       struct inc_join *join)
{
	struct netinc_kinds lacks = ep->settings.lacks;

	*join = (struct inc_join){
		.size = cpu_to_be32(ep->cfg.size),
		.nonce = cpu_to_be32(ep->cfg.nonce),
		.next = cpu_to_be64(netinc_ep_next(ep)),
		.srtt = cpu_to_be32(ep->cc.srtt),
		.block = cpu_to_be16(ep->block ?: ep->cfg.block),
		.move = cpu_to_be32(ep->move),
		.below = netinc_ep_returning(ep) ? INC_JOIN_RETURN : 0,
		.late_policy = ep->cfg.stripe << INC_JOIN_STRIPE_SHIFT,
		.flags = flags | (ep->cfg.canonical ? INC_JOIN_CANONICAL : 0),
		.lineage = cpu_to_be64(ep->lineage),
		.job = cpu_to_be64(ep->cfg.job),
	};
	if (netinc_ep_shrinking(ep)) {
		join->flags |= INC_JOIN_SHRINK;
		join->move = cpu_to_be32(ep->cfg.prev.move);
		join->lineage = cpu_to_be64(ep->cfg.prev.lineage);
		netinc_settings_to_join(&ep->cfg.prev.settings, join);
		lacks = ep->cfg.prev.settings.lacks;
	} else if (ep->lineage) {
		netinc_settings_to_join(&ep->settings, join);
	}
	netinc_join_add_kinds(join, lacks, ep->cfg.asks);
	netinc_ep_header(ep, pkt, INC_PKT_JOIN);
	pkt->opseq = ep->begun;
}

static void send_join(struct netinc_ep *ep, u8 flags, u64 now)
{
	struct join_body body;
	struct netinc_pkt pkt;

	build_join(ep, flags, &pkt, &body.join);
	prove_join(ep, ep->challenge, &body.join);
	ep->tree[0].asked = now;
	netinc_count(ep->counters, INC_C_JOINS);
	ep->ops->send(ep, &pkt, &body, sizeof(body.join) + netinc_join_tail_bytes(&body.join));
}

void netinc_ep_send_join(struct netinc_ep *ep, u64 now)
{
	send_join(ep, 0, now);
}

void netinc_ep_rebind(struct netinc_ep *ep, u64 now)
{
	/* the one that it has is not of this port, or of long ago */
	ep->challenge = 0;
	ep->rebind_asked = true;
	send_join(ep, INC_JOIN_REBIND, now);
}

void netinc_ep_prove_rebind(struct netinc_ep *ep, u64 challenge, u64 now)
{
	ep->rebind_asked = false;
	ep->challenge = challenge;
	send_join(ep, INC_JOIN_REBIND, now);
}

void netinc_ep_probe_home(struct netinc_ep *ep, u32 move, u64 now)
{
	struct join_body body;
	struct netinc_pkt pkt;

	build_join(ep, 0, &pkt, &body.join);
	pkt.incarnation = 0;
	pkt.cookie = 0;
	if (ep->from_tree) {
		body.join.move = cpu_to_be32(move);
		body.join.below = INC_JOIN_RETURN | INC_JOIN_STALE;
	}
	/* the challenge that we have otherwise is not of that node */
	prove_join(ep, ep->home_challenge, &body.join);
	ep->home_probed = now;
	netinc_count(ep->counters, INC_C_JOINS);
	ep->ops->send_to(ep, &ep->plan[0], &pkt, &body,
			 sizeof(body.join) + netinc_join_tail_bytes(&body.join));
}

/* Fail @op with the endpoint's error; of several, only the first is to blame. */
void netinc_ep_fail_op(struct netinc_ep *ep, struct netinc_op *op)
{
	netinc_ep_unlink(ep, op);
	op->error = ep->error;
	if (!ep->fatal && op->seq != ep->error.opseq)
		op->error.code = INC_ERR_CANCELED;
	netinc_ep_failed(ep, op);
}

static void fail_now(struct netinc_ep *ep)
{
	ep->failing = false;
	while (ep->head)
		netinc_ep_fail_op(ep, ep->head);
	netinc_ep_set_state(ep, INC_STATE_FAILED);
}

void netinc_ep_fail(struct netinc_ep *ep, enum inc_err_code code, u32 rank0, u32 rank1)
{
	memset(&ep->error, 0, sizeof(ep->error));
	ep->error.code = code;
	ep->error.block = ep->una;
	ep->error.opseq = ep->head ? ep->head->seq : ep->next_seq;
	ep->error.rank[0] = rank0;
	ep->error.rank[1] = rank1;
	ep->fatal = true;
	fail_now(ep);
}

/* Operations that go on after an error begin anew, at the block where it was. */
static void renumber_ops(struct netinc_ep *ep)
{
	struct netinc_op *op;

	netinc_ep_retain_cut(ep, ep->una);
	ep->end = ep->una;
	ep->snd = ep->una;
	ep->snd_op = NULL;
	ep->new_op = ep->head;
	for (op = ep->head; op; op = op->next)
		op->numbered = false;
}

static void send_abort(struct netinc_ep *ep, u16 code, u16 flags, u64 now)
{
	/* a node finds who does not know the incarnation by job and nonce */
	struct netinc_error e = { .code = code, .resume = ep->cfg.nonce,
				  .block = ep->incarnation ? 0 : ep->cfg.job,
				  .rank = { ep->cfg.rank, NETINC_NO_RANK } };
	struct inc_error_pkt body;
	struct netinc_pkt pkt;

	netinc_error_build(&body, &e);
	netinc_ep_header(ep, &pkt, INC_PKT_ABORT);
	pkt.flags = flags;
	ep->tree[0].asked = now;
	ep->tree[0].unanswered++;
	ep->ops->send(ep, &pkt, &body, sizeof(body));
}

void netinc_ep_send_abort(struct netinc_ep *ep, u64 now)
{
	send_abort(ep, ep->abort, 0, now);
}

/*
 * It wants nothing of the node any more: who keeps the group for it need not. @code: INC_ERR_LEFT,
 * or INC_ERR_NONE: it has heard of the end
 */
static void send_done(struct netinc_ep *ep, enum inc_err_code code, u64 now)
{
	send_abort(ep, code, INC_F_LEAVE, now);
}

/* All results that there will be are here. */
static bool may_settle(const struct netinc_ep *ep)
{
	const struct netinc_error *e = &ep->error;

	/*
	 * the others have completed without us what we think is something else: no result will fit
	 */
	if (ep->fatal && e->code == INC_ERR_MISMATCH && e->rank[0] == ep->cfg.rank)
		return true;
	/* the others may be ahead of what has been submitted here */
	if (ep->fatal && (s64)(e->block - ep->snd) > 0)
		return ep->una == ep->snd;
	return (s64)(ep->una - e->block) >= 0;
}

/* The node of the tree, which it has asked whether all could come, need not wait for it. */
static void ask_no_more(struct netinc_ep *ep)
{
	struct netinc_error e = { .code = INC_ERR_RANK_ABORT, .resume = ep->cfg.nonce,
				  .block = ep->cfg.job,
				  .rank = { ep->cfg.rank, NETINC_NO_RANK } };
	struct inc_error_pkt body;
	struct netinc_pkt pkt;

	if (!ep->home_challenge)
		return;
	netinc_error_build(&body, &e);
	netinc_ep_header(ep, &pkt, INC_PKT_ABORT);
	pkt.incarnation = 0;
	pkt.cookie = 0;
	ep->ops->send_to(ep, &ep->plan[0], &pkt, &body, sizeof(body));
}

void netinc_ep_left(struct netinc_ep *ep, u64 now)
{
	/* elsewhere the node forgets a group that all have left at once */
	if (netinc_ep_retains(ep))
		send_done(ep, INC_ERR_LEFT, now);
	ask_no_more(ep);
	ep->left = true;
	netinc_ep_set_state(ep, INC_STATE_CLOSED);
}

void netinc_ep_settle(struct netinc_ep *ep, u64 now)
{
	if (ep->leaving && !ep->head && ep->state == INC_STATE_LEAVING) {
		/* the result of LEAVE says that all ranks have left */
		netinc_ep_left(ep, now);
		return;
	}
	if (!ep->failing || !may_settle(ep))
		return;
	if (ep->fatal) {
		/* a node that goes keeps nothing */
		if (ep->error.code != INC_ERR_NODE_GONE)
			send_done(ep, INC_ERR_NONE, now);
		fail_now(ep);
		return;
	}
	ep->failing = false;
	ep->resume = ep->error.resume;
	/*
	 * Of what has been contributed to, some rank may have results, in place of its input, and
	 * this one may have given back the memory: it does not begin anew, whoever says so. The
	 * others hear of it from the next READY.
	 */
	if ((s32)(ep->begun - ep->resume) > 0)
		ep->resume = ep->begun;
	while (ep->head && netinc_ep_op_failed(ep, ep->head))
		netinc_ep_fail_op(ep, ep->head);
	renumber_ops(ep);
	ep->tree[0].unanswered = 0;
	ep->challenge = 0;
	netinc_ep_set_state(ep, INC_STATE_RESYNC);
	netinc_ep_send_join(ep, now);
}

void netinc_ep_abort(struct netinc_ep *ep, enum inc_err_code code, bool close, u64 now)
{
	bool member = ep->state != INC_STATE_CLOSED && ep->state != INC_STATE_FAILED;
	u16 flags = close ? INC_F_LEAVE : 0;

	ep->abort = code;
	if (!ep->error_since)
		ep->error_since = now;
	if (member)
		send_abort(ep, code, flags, now);
	if (!close)
		return;
	if (member)
		send_abort(ep, code, flags, now);	/* nobody will repeat it */
	memset(&ep->error, 0, sizeof(ep->error));
	ep->error.code = code;
	ep->error.rank[0] = ep->cfg.rank;
	ep->error.rank[1] = NETINC_NO_RANK;
	ep->fatal = true;
	ep->failing = false;
	while (ep->head)
		netinc_ep_fail_op(ep, ep->head);
	netinc_ep_set_state(ep, INC_STATE_CLOSED);
}
