// SPDX-License-Identifier: GPL-2.0-only
/*
 * What must hold: results bit for bit, the invariant of rule 3, one outcome of an operation at all
 * ranks, the right error within the dead limit, memory within its limit.
 */
#include "reduce/reduce.h"
#include "sim.h"

static void compare(struct host *h, const struct app_op *a, const char *what, const u8 *have,
		    const u8 *want, u64 bytes)
{
	u64 i;

	if (!memcmp(have, want, bytes))
		return;
	for (i = 0; have[i] == want[i]; i++)
		;
	sim_fail(h->sim,
		 "rank %u: %s of operation %u, %s, is wrong at byte %llu of %llu: %02x, expected %02x",
		 h->rank, what, a->idx, netinc_coll_name(a->main->op.coll), (unsigned long long)i,
		 (unsigned long long)bytes, have[i], want[i]);
}

/* Whatever becomes of the operation. */
static void check_input(struct host *h, struct app_op *a)
{
	const struct sim_op *o = a->main;

	if (o->send != o->recv)
		compare(h, a, "input", o->send, plan_input(h->sim, a->idx, h->rank),
			o->send_at.length * o->elem_size);
}

/* Each block is the fold of exactly those ranks that its result is said to be of. */
static void put_partial(struct host *h, const struct app_op *a, u8 *want)
{
	const struct sim_op *o = a->main;
	u32 absent = 0, others = 0;
	struct netinc_block b;
	u8 *part = NULL;
	u64 idx, bytes;

	for (idx = 0; idx < o->op.blocks; idx++) {
		others |= o->absent[idx];
		netinc_coll_block(&o->op, idx, &b);
		if (!o->absent[idx] || !(b.bits & INC_F_WANT))
			continue;
		if (!part || o->absent[idx] != absent) {
			free(part);
			absent = o->absent[idx];
			part = reference(h->sim, a->idx, h->rank, 0, absent, &bytes);
		}
		memcpy(want + b.recv * o->elem_size, part + b.recv * o->elem_size,
		       b.elems * o->elem_size);
	}
	free(part);
	if (others != o->op.absent[0])
		sim_fail(h->sim,
			 "rank %u: operation %u says it lacks ranks %#x, its blocks say %#x",
			 h->rank, a->idx, o->op.absent[0], others);
}

static void check_result(struct host *h, struct app_op *a)
{
	const struct netinc_op *op = &a->main->op;
	u64 bytes;
	u8 *want;

	if (sim_step_of(h->sim, a->idx)->disagree)
		sim_fail(h->sim, "rank %u completes operation %u, about which ranks disagree",
			 h->rank, a->idx);
	if (op->done != op->blocks)
		sim_fail(h->sim, "rank %u completes operation %u with %llu of %llu blocks", h->rank,
			 a->idx, (unsigned long long)op->done, (unsigned long long)op->blocks);
	if (a->main->got != reference_received(h->sim, a->idx, h->rank))
		sim_fail(h->sim, "rank %u: operation %u, %s, has brought %llu elements", h->rank,
			 a->idx, netinc_coll_name(op->coll), (unsigned long long)a->main->got);
	want = reference(h->sim, a->idx, h->rank, 0, 0, &bytes);
	if (op->partial)
		put_partial(h, a, want);
	compare(h, a, "result", a->main->recv, want, bytes);
	free(want);
}

/* Of an operation that failed, bytes that it would not have written to are as they were. */
static void check_untouched(struct host *h, const struct app_op *a)
{
	u64 bytes, i;
	u8 *want = reference(h->sim, a->idx, h->rank, 0, 0, &bytes);
	u8 *flipped = reference(h->sim, a->idx, h->rank, 0xff, 0, &bytes);

	for (i = 0; i < bytes; i++)
		if (want[i] != flipped[i] && a->main->recv[i] != want[i])
			sim_fail(h->sim,
				 "rank %u: failed operation %u, %s, has written to byte %llu of %llu",
				 h->rank, a->idx, netinc_coll_name(a->main->op.coll),
				 (unsigned long long)i, (unsigned long long)bytes);
	free(want);
	free(flipped);
}

/* Of one about which ranks disagree nothing has come. */
static void check_unwritten(struct host *h, const struct app_op *a)
{
	const struct sim_op *o = a->main;
	u64 bytes = o->recv_at.length * o->elem_size;
	u8 *poison;

	if (o->send == o->recv) {
		bytes = o->send_at.length * o->elem_size;
		compare(h, a, "buffer", o->recv, plan_input(h->sim, a->idx, h->rank), bytes);
		return;
	}
	poison = malloc(bytes + 1);
	buffer_poison(poison, bytes);
	compare(h, a, "buffer", o->recv, poison, bytes);
	free(poison);
}

/* A node that the group does not need may be lost without anybody noticing. */
static enum fault fault_of(const struct sim *sim)
{
	const struct plan_round *r = &sim->plan.round[sim->round];

	if (r->fault >= FAULT_NODE_SILENT && r->fault <= FAULT_NODE_REMOVED &&
	    sim->plan.tree.nodes && !tree_uses(sim, r->fault_node))
		return FAULT_NONE;
	return r->fault;
}

static bool fatal(enum fault fault)
{
	return fault > FAULT_PAUSE;
}

/* Because of what has happened the group may end, or an operation end differently at some rank. */
static bool may_fail(const struct sim *sim)
{
	return fatal(fault_of(sim)) || (sim->troubled && !trouble_harmless(sim));
}

/* A rank was so far behind that the others could not go on without it. */
static bool too_late(const struct host *h, const struct netinc_error *e)
{
	return h->sim->plan.late_ms && e->code == INC_ERR_RANK_LATE;
}

/* Do ranks disagree about an operation up to this one? */
static bool disagreed(const struct sim *sim, u32 idx)
{
	u32 i;

	for (i = 0; i <= idx && i < sim->plan.round[sim->round].nops; i++)
		if (sim_step_of(sim, i)->disagree == DIFFER)
			return true;
	return false;
}

/* Has a rank had a reason to take the group to another place? */
static bool may_have_moved(const struct sim *sim)
{
	return sim->troubled || (fault_of(sim) == FAULT_PATH && sim->plan.fallback);
}

/*
 * A node is lost, or left, while its error is under way: who has heard of it has gone on to the
 * next operation, the others have not, and the next node sees them disagree. So later operations
 * fail as well, or the group if the next one was LEAVE.
 */
static bool follows_error(const struct sim *sim, u32 idx, u16 code)
{
	return may_have_moved(sim) && disagreed(sim, idx) &&
	       (code == INC_ERR_MISMATCH || code == INC_ERR_CANCELED || code == INC_ERR_LEFT);
}

static bool is_victim(const struct host *h)
{
	enum fault fault = fault_of(h->sim);

	return fault >= FAULT_FREEZE && fault <= FAULT_BUFFER &&
	       h->sim->plan.round[h->sim->round].victim == h->rank;
}

/* What rank @rank said in the first block of operation @idx, perhaps its exchange of counts. */
static void expected_desc(struct host *h, u32 idx, u32 rank, struct inc_desc *desc)
{
	struct app_op a = { .idx = idx };
	struct plan_op p = plan_op_of(h->sim, idx, rank);
	struct sim_op *o = plan_asks_counts(&p) ? counts_exchange(h->sim, &a, rank) :
						  buffer_new(h->sim, &a, rank);

	o->op.seq = idx;
	netinc_coll_desc(&o->op, desc);
	buffer_free(h->sim, o);
}

/* Both sides are named, and they did disagree. */
static void check_mismatch(struct host *h, struct app_op *a)
{
	const struct netinc_error *e = &a->main->op.error;
	const struct plan_step *s = sim_step_of(h->sim, a->idx);
	struct inc_desc desc;
	u32 i;

	if (s->disagree != DIFFER || e->opseq != a->idx || e->rank[0] == e->rank[1] ||
	    (e->rank[0] != s->odd_rank && e->rank[1] != s->odd_rank))
		sim_fail(h->sim,
			 "rank %u: MISMATCH of operation %u says operation %u, ranks %u and %u",
			 h->rank, a->idx, e->opseq, e->rank[0], e->rank[1]);
	for (i = 0; i < 2; i++) {
		expected_desc(h, a->idx, e->rank[i], &desc);
		if (memcmp(&desc, &e->desc[i], sizeof(desc)))
			sim_fail(h->sim,
				 "rank %u: MISMATCH of operation %u has a wrong descriptor of rank %u",
				 h->rank, a->idx, e->rank[i]);
	}
}

static void check_contradiction(struct host *h, struct app_op *a)
{
	const struct netinc_error *e = &a->main->op.error;
	u32 rank[2];

	reference_contradiction(h->sim, a->idx, rank);
	if (sim_step_of(h->sim, a->idx)->disagree != CONTRADICT || e->opseq != a->idx ||
	    e->rank[0] != rank[0] || e->rank[1] != rank[1])
		sim_fail(h->sim,
			 "rank %u: COUNTS of operation %u says operation %u, ranks %u and %u, not %u and %u",
			 h->rank, a->idx, e->opseq, e->rank[0], e->rank[1], rank[0], rank[1]);
}

/* Has any rank contributed to it? Then it fails at all, with the one about which they disagree. */
static bool begun(const struct sim *sim, u32 idx)
{
	u32 i;

	for (i = 0; i < sim->plan.hosts; i++)
		if ((s32)(sim->host[i].ep.begun - idx) > 0)
			return true;
	return false;
}

static void check_error(struct host *h, struct app_op *a)
{
	const struct netinc_error *e = &a->main->op.error;

	if (follows_error(h->sim, a->idx, e->code))
		return;
	switch (e->code) {
	case INC_ERR_MISMATCH:
		check_mismatch(h, a);
		break;
	case INC_ERR_COUNTS:
		check_contradiction(h, a);
		break;
	case INC_ERR_CANCELED:
		if (e->opseq >= a->idx || (e->resume <= a->idx && !begun(h->sim, a->idx)) ||
		    sim_step_of(h->sim, e->opseq)->disagree != DIFFER)
			sim_fail(h->sim,
				 "rank %u: operation %u canceled by operation %u, resume at %u",
				 h->rank, a->idx, e->opseq, e->resume);
		break;
	default:
		if (!may_fail(h->sim) && !too_late(h, e))
			sim_fail(h->sim, "rank %u: operation %u fails with code %u", h->rank,
				 a->idx, e->code);
		break;
	}
}

static bool ends_group(u16 code)
{
	return code && code != INC_ERR_MISMATCH && code != INC_ERR_CANCELED &&
	       code != INC_ERR_COUNTS;
}

/* All ranks see the same end of an operation. */
static void check_same(struct host *h, struct app_op *a)
{
	struct outcome *o = &h->sim->outcome[a->idx];
	const struct netinc_error *e = &a->main->op.error;
	enum fault fault = fault_of(h->sim);

	if (is_victim(h) && e->code)
		return;
	/* the results that do not come through are there */
	if (fault == FAULT_PATH &&
	    (h->sim->plan.fallback || h->sim->plan.round[h->sim->round].victim == h->rank))
		return;
	if (!o->known) {
		o->known = true;
		o->error = *e;
		o->absent = a->main->op.partial ? a->main->op.absent[0] : 0;
		return;
	}
	/* a late rank may be told of the end before it has submitted what others have done */
	if (too_late(h, e) || too_late(h, &o->error))
		return;
	if (o->absent != (a->main->op.partial ? a->main->op.absent[0] : 0))
		sim_fail(h->sim, "operation %u lacks ranks %#x at rank %u, %#x elsewhere", a->idx,
			 a->main->op.absent[0], h->rank, o->absent);
	if (fault >= FAULT_NODE_SILENT && fault <= FAULT_NODE_REMOVED)
		return;
	/* some ranks may see the group end, others the result; a dispute fails at all */
	if (h->sim->troubled && may_fail(h->sim) &&
	    (ends_group(e->code) || ends_group(o->error.code)))
		return;
	if (h->sim->troubled && e->code && o->error.code)
		return;
	if (!o->error.code != !e->code ||
	    (!fatal(fault) && (o->error.code != e->code || o->error.resume != e->resume ||
			       o->error.opseq != e->opseq || o->error.block != e->block)))
		sim_fail(h->sim,
			 "operation %u ends with code %u (operation %u) at rank %u, %u (of %u) elsewhere",
			 a->idx, e->code, e->opseq, h->rank, o->error.code, o->error.opseq);
}

void check_op_done(struct host *h, struct app_op *a)
{
	if (a->done)
		sim_fail(h->sim, "rank %u: operation %u is done twice", h->rank, a->idx);
	check_input(h, a);
	/* what has come of it verify.c has seen: others' input is not known, nor why it failed */
	if (hostile_members(h->sim)) {
		if (a->main->op.error.code && !sim_step_of(h->sim, a->idx)->disagree)
			check_untouched(h, a);
		return;
	}
	if (!a->main->op.error.code) {
		check_result(h, a);
	} else {
		check_error(h, a);
		if (sim_step_of(h->sim, a->idx)->disagree)
			check_unwritten(h, a);
		else
			check_untouched(h, a);
	}
	check_same(h, a);
}

/* Rule 3: if any rank has result p + W, in any epoch, every rank has all up to p. And rule 1. */
void check_invariant(struct sim *sim, const struct host *h)
{
	u32 own = h->ep.settings.window;
	/* who says that all ranks are at its node forms the group there */
	bool said = hostile_nodes(sim) || (hostile_members(sim) && sim->plan.tree.nodes);
	u64 window = said && own ? own : tree_window(sim), high;
	u32 i;

	if (h->ep.snd - h->ep.una > window || (s64)(h->ep.end - h->ep.snd) < 0)
		sim_fail(sim, "rank %u: una %llu, snd %llu, end %llu with W %llu", h->rank,
			 (unsigned long long)h->ep.una, (unsigned long long)h->ep.snd,
			 (unsigned long long)h->ep.end, (unsigned long long)window);
	/* who takes no READY, as one that lies, knows its epoch and no W */
	if (sim->plan.tree.nodes && h->ep.epoch && own != window && (own || !said))
		sim_fail(sim, "rank %u: W is %u, the nodes have %llu", h->rank, own,
			 (unsigned long long)window);
	if (!h->ep.epoch || hostile_nodes(sim) || hostile_is_rank(sim, h->rank))
		return;
	high = h->high;
	for (i = 0; i < h->ep.spread.trees; i++)
		if ((s64)(h->ep.tree[i].high - high) > 0)
			high = h->ep.tree[i].high;
	for (i = 0; i < sim->plan.hosts; i++)
		if (!hostile_is_rank(sim, i) &&
		    (s64)(high - netinc_ep_next(&sim->host[i].ep)) > (s64)window)
			sim_fail(sim,
				 "rank %u has result %llu, rank %u lacks result %llu, W is %llu",
				 h->rank, (unsigned long long)high - 1, i,
				 (unsigned long long)netinc_ep_next(&sim->host[i].ep),
				 (unsigned long long)window);
}

void check_held(const struct node *n)
{
	struct sim *sim = n->sim;
	u64 reserve = sim->plan.hosts *
		      (sizeof(struct inc_hdr) + sizeof(struct inc_desc) + INC_MAX_BLOCK);
	u64 results = 2 * sim->plan.window * INC_MAX_BLOCK;

	if (sim->plan.hold_limit != ~0ull && n->held > sim->plan.hold_limit + reserve + results)
		sim_fail(sim, "%llu bytes are held, the limit is %llu", (unsigned long long)n->held,
			 (unsigned long long)sim->plan.hold_limit);
}

static bool is_of_node(enum fault fault)
{
	return fault >= FAULT_NODE_SILENT && fault <= FAULT_NODE_REMOVED;
}

/* In this round a node has forgotten the group: no other says that it does not know it. */
static bool node_forgot(const struct sim *sim)
{
	const struct plan_round *r = &sim->plan.round[sim->round];
	u32 i;

	for (i = 0; i < SIM_MAX_TROUBLES; i++)
		if (r->trouble[i].kind == TROUBLE_RESTART || r->trouble[i].kind == TROUBLE_REMOVED)
			return true;
	return r->fault == FAULT_NODE_FORGETS || r->fault == FAULT_NODE_REMOVED;
}

/* In this round this has happened, or was to happen, to the rank: it seemed to be dead. */
static bool was_cut_off(const struct sim *sim, u32 rank)
{
	const struct trouble *t = sim->plan.round[sim->round].trouble;
	u32 i;

	for (i = 0; i < SIM_MAX_TROUBLES; i++)
		if (t[i].kind == TROUBLE_NET ||
		    ((t[i].kind == TROUBLE_CUT || t[i].kind == TROUBLE_LINK) && t[i].host == rank))
			return true;
	return false;
}

/* Has the rank ended, by itself or for another reason than that others take it for dead? */
static bool ended_otherwise(const struct host *h)
{
	const struct netinc_error *e = &h->ep.error;

	return h->ep.state == INC_STATE_CLOSED || e->code != INC_ERR_RANK_DEAD ||
	       e->rank[0] != h->rank;
}

/* Whoever is cut off goes on elsewhere, and names those there who do not come along. */
static bool was_any_cut_off(const struct sim *sim)
{
	u32 i;

	for (i = 0; i < sim->plan.hosts; i++)
		if (was_cut_off(sim, i))
			return true;
	return false;
}

/*
 * Has a node been silent, and come back, after so long that it takes ranks for dead? Those that are
 * idle it has heard a quarter of the dead limit before, at most.
 */
static bool node_came_back(const struct sim *sim)
{
	const struct trouble *t = sim->plan.round[sim->round].trouble;
	u64 lasts = 0;
	u32 i;

	for (i = 0; i < SIM_MAX_TROUBLES; i++)
		if (t[i].kind == TROUBLE_SILENT)
			lasts += t[i].lasts;
	return lasts >= sim->plan.dead_ms * NETINC_MS * 3 / 4;
}

/*
 * A late copy may seem to come from a node that has gone, so that some hear later of that; or from
 * one that is silent. Ranks look elsewhere after three quarters of the dead limit, the node takes
 * them for dead after all of it.
 */
static bool seems_to_be_there(const struct sim *sim)
{
	return (node_forgot(sim) || node_came_back(sim)) &&
	       sim->plan.late_delay >= sim->plan.dead_ms * NETINC_MS / 4;
}

/* Has the rank been silent or lost, or somebody cut off, so that a node may take it for dead? */
static bool may_be_dead(const struct host *h, u32 rank)
{
	const struct sim *sim = h->sim;
	const struct plan_round *r = &sim->plan.round[sim->round];
	enum fault fault = fault_of(sim);

	if (rank >= sim->plan.hosts)
		return false;
	if (was_any_cut_off(sim) || seems_to_be_there(sim))
		return true;
	/* one that had not had READY when a node was lost does not go where the others go */
	if (sim->troubled && !sim->formed)
		return true;
	if (ended_otherwise(&sim->host[rank]))
		return true;
	return fault && !is_of_node(fault) && r->victim == rank;
}

/*
 * Are all others without the edge, as its host, rank 0's, is cut off from it, or from them? Where
 * they have left a tree of nodes for another reason there is no place but that one.
 */
static bool takes_edge_away(const struct sim *sim, const struct trouble *t)
{
	if (t->host || sim->plan.fallback != INC_FALLBACK_EDGE)
		return false;
	return (t->kind == TROUBLE_CUT && t->place == SIM_EDGE) ||
	       (t->kind == TROUBLE_LINK && sim->plan.tree.nodes &&
		trouble_net(sim, t->place) == trouble_net(sim, SIM_EDGE));
}

/* Has a node been lost, or the rank's way to it? */
static bool may_lack_node(const struct host *h)
{
	const struct trouble *t = h->sim->plan.round[h->sim->round].trouble;
	u32 i;

	for (i = 0; i < SIM_MAX_TROUBLES; i++)
		if (t[i].kind == TROUBLE_SILENT || t[i].kind == TROUBLE_RESTART ||
		    t[i].kind == TROUBLE_REMOVED || takes_edge_away(h->sim, &t[i]))
			return true;
	return was_cut_off(h->sim, h->rank) || is_of_node(fault_of(h->sim));
}

/* Where nodes are lost, too, that or the fault of a rank may be the reason. */
static void check_moved_code(struct host *h)
{
	const struct netinc_error *e = &h->ep.error;
	enum fault fault = fault_of(h->sim);

	switch (e->code) {
	case INC_ERR_NODE_DEAD:
		if (may_lack_node(h))
			return;
		break;
	case INC_ERR_RANK_DEAD:
		if (may_be_dead(h, e->rank[0]))
			return;
		break;
	case INC_ERR_NODE_GONE:
		if (node_forgot(h->sim))
			return;
		break;
	case INC_ERR_RANK_ABORT:
	case INC_ERR_RANK_FAULT:
		if (fault == FAULT_KILL || fault == FAULT_BUFFER || h->sim->patience_ended)
			return;
		/* a node of a tree goes before READY has come to all who are below it */
		if (tree_is_deep(h->sim) && !h->sim->formed)
			return;
		break;
	case INC_ERR_RANK_PATH:
		if (fault == FAULT_PATH)
			return;
		break;
	case INC_ERR_LEFT:
		if (fault == FAULT_LEAVES || disagreed(h->sim, ~0u))
			return;
		break;
	case INC_ERR_NONE:
		if (h->ep.refused && !h->ep.epoch)
			return;
		break;
	default:
		break;
	}
	sim_fail(h->sim, "rank %u fails with code %u of rank %u, refused %u", h->rank, e->code,
		 e->rank[0], h->ep.refused);
}

/* The parent of a node that is lost, or leaves, names one of the ranks that are below it. */
static void check_lost_ranks(struct host *h)
{
	const struct netinc_error *e = &h->ep.error;
	u32 node = h->sim->plan.round[h->sim->round].fault_node;

	if (e->rank[0] >= h->sim->plan.hosts || !(tree_ranks(h->sim, node) >> e->rank[0] & 1))
		sim_fail(h->sim, "rank %u: node %u is lost, and the error names rank %u", h->rank,
			 node, e->rank[0]);
}

static void check_code(struct host *h)
{
	static const u16 expected[FAULT_COUNT][2] = {
		[FAULT_FREEZE] = { INC_ERR_RANK_DEAD, INC_ERR_RANK_DEAD },
		[FAULT_KILL] = { INC_ERR_RANK_ABORT, INC_ERR_RANK_DEAD },
		[FAULT_BUFFER] = { INC_ERR_RANK_FAULT, INC_ERR_RANK_FAULT },
		[FAULT_NODE_SILENT] = { INC_ERR_NODE_DEAD, INC_ERR_NODE_DEAD },
		/* gone before all had READY, it forms again, without who is of the first run */
		[FAULT_NODE_FORGETS] = { INC_ERR_NODE_GONE, INC_ERR_RANK_DEAD },
		[FAULT_NODE_REMOVED] = { INC_ERR_NODE_GONE, INC_ERR_RANK_DEAD },
		[FAULT_LEAVES] = { INC_ERR_LEFT, INC_ERR_LEFT },
		/* it tells the others once if they are to disagree about something before that */
		[FAULT_PATH] = { INC_ERR_RANK_PATH, INC_ERR_RANK_DEAD },
	};
	const struct netinc_error *e = &h->ep.error;
	enum fault fault = fault_of(h->sim);
	u32 victim = h->sim->plan.round[h->sim->round].victim;

	if (e->code == INC_ERR_RANK_DEAD && e->rank[0] == NETINC_NO_RANK)
		sim_fail(h->sim, "rank %u: an error names no rank", h->rank);
	if (may_have_moved(h->sim)) {
		check_moved_code(h);
		return;
	}
	/* one that gives up before it has READY cannot say so with a cookie */
	if (fault == FAULT_BUFFER && !h->sim->host[victim].ep.epoch)
		fault = FAULT_KILL;
	/* its node, which had nobody else, gives up as it would have, and does not say why */
	if (fault == FAULT_FREEZE && tree_is_deep(h->sim) && !h->sim->host[victim].ep.epoch)
		fault = FAULT_KILL;
	/* nor does its node, which has no group without it: that one seems to be lost */
	if (tree_is_deep(h->sim) && h->sim->plan.fallback && e->code == INC_ERR_NODE_DEAD &&
	    fault == FAULT_KILL && !h->sim->host[victim].ep.epoch)
		return;
	if (tree_is_deep(h->sim) && is_of_node(fault) &&
	    (e->code == INC_ERR_RANK_DEAD || e->code == INC_ERR_RANK_ABORT)) {
		check_lost_ranks(h);
		return;
	}
	if (e->code != expected[fault][0] && e->code != expected[fault][1])
		sim_fail(h->sim, "rank %u fails with code %u (refused: %u) after fault %d", h->rank,
			 e->code, h->ep.refused, fault);
	if ((fault <= FAULT_BUFFER || fault == FAULT_PATH) && e->rank[0] != victim)
		sim_fail(h->sim, "rank %u: error names rank %u, it was %u", h->rank, e->rank[0],
			 victim);
}

static void check_time(struct host *h)
{
	const struct plan *p = &h->sim->plan;
	u64 at = h->sim->fault_time;
	u64 limit = at + p->dead_ms * NETINC_MS * 5 / 4 + p->late_delay + SIM_SEC, last = 0;
	u32 i;

	/* where there are other places, the rank that is gone may be there: as long again */
	if (p->fallback)
		limit += p->dead_ms * NETINC_MS * 5 / 4;
	if (h->sim->troubled)
		limit = max(at, h->sim->trouble_end) + p->late_delay +
			6 * p->dead_ms * NETINC_MS + 2 * SIM_SEC;

	for (i = 0; i < p->hosts; i++)
		last = max_t(u64, last, p->start[i]);
	limit += last;
	if (h->finished_at > limit)
		sim_fail(h->sim, "rank %u hears of the fault %llu us after it", h->rank,
			 (unsigned long long)(h->finished_at - at));
}

/* Operations of the application are counted once; LEAVE is one, but may end without its result. */
static void check_counted(struct host *h)
{
	u64 counted = h->ep.counters[INC_C_OPS] + h->ep.counters[INC_C_OPS_FAILED];

	if (counted != h->done && counted != h->done + h->leaving)
		sim_fail(h->sim, "rank %u has done %u operations and counts %llu", h->rank, h->done,
			 (unsigned long long)counted);
}

void check_host_finished(struct host *h)
{
	enum fault fault = fault_of(h->sim);

	if ((is_victim(h) && fault != FAULT_BUFFER) || hostile_is_rank(h->sim, h->rank))
		return;
	if (h->ep.head && h->ep.state != INC_STATE_CLOSED)
		sim_fail(h->sim, "rank %u ends in state %u with operation %u unfinished", h->rank,
			 h->ep.state, h->ep.head->seq);
	check_counted(h);
	if (h->ep.state == INC_STATE_CLOSED) {
		if (h->done != h->next)
			sim_fail(h->sim, "rank %u leaves with %u of %u operations done", h->rank,
				 h->done, h->next);
		return;
	}
	if (too_late(h, &h->ep.error) || hostile_members(h->sim))
		return;
	/* that others have left, and then the node has, may still fail a rank that is leaving */
	if (h->sim->troubled && h->done == h->sim->plan.round[h->sim->round].nops)
		return;
	if (!may_fail(h->sim) &&
	    !(h->ep.error.code == INC_ERR_LEFT && follows_error(h->sim, ~0u, INC_ERR_LEFT)))
		sim_fail(h->sim, "rank %u ends in state %u, error %u, refused %u", h->rank,
			 h->ep.state, h->ep.error.code, h->ep.refused);
	check_code(h);
	/* whether a link carries blocks turns out when there are some */
	if (fault != FAULT_LEAVES && fault != FAULT_PATH)
		check_time(h);
}

/*
 * READY again, or FAILED: how long did it take since the node was found to be lost? Where nothing
 * else happens the first place is it, and all come within the dead limit, or the error does, which
 * ranks that are called late hear a little later. Else every place of the plan may take as long and
 * some more, and others may call meanwhile.
 */
void check_moved(struct host *h)
{
	const struct plan *p = &h->sim->plan;
	u64 first = (2 * p->dead_ms + 500) * NETINC_MS;
	u64 place = first + p->dead_ms * NETINC_MS / 8 + 400 * NETINC_MS;
	u64 took = h->sim->now - h->lost_at, limit = 2 * (h->ep.nplan + 1) * place;

	if (trouble_single(h->sim) && h->ep.state != INC_STATE_FAILED)
		limit = first;
	limit += 100 * (p->base_delay + p->jitter);

	if (h->lost_at && !hostile_members(h->sim) && took > limit)
		sim_fail(h->sim, "rank %u takes %llu us to move, or to find that it cannot",
			 h->rank, (unsigned long long)took);
}

void check_round_done(struct sim *sim)
{
	u32 i;

	for (i = 0; i < sim->plan.hosts; i++)
		check_host_finished(&sim->host[i]);
	sim->rounds_troubled += sim->troubled;
	sim->rounds_harmless += sim->troubled && trouble_harmless(sim);
	for (i = 0; i < SIM_MAX_OPS; i++)
		reference_free(&sim->outcome[i]);
}
