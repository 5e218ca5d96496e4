// SPDX-License-Identifier: GPL-2.0-only
/*
 * What must hold whoever lies: a rank contributes what its application gave, no byte of it that has
 * been unpinned; an operation is not begun anew when something of it has been sent or has come; a
 * result is that of the block, the operation and the epoch; a node folds what it was given.
 */
#include "reduce/reduce.h"
#include "sim.h"

#define MOST_RESENT	64	/* for one frame: RESULTS_PER_BUFFER of the aggregator */
#define MOST_NACKS	17	/* ranges of lost blocks */

/* Of LEAVE there is no memory. */
static bool has_buffers(const struct sim_op *o)
{
	return o->app;
}

static bool is_main(const struct sim_op *o)
{
	return o->app && o == o->app->main;
}

/* Blocks keep their numbers as soon as something of the operation has been sent, or has come. */
static void check_numbers(struct host *h, struct sim_op *o)
{
	if (o->touched && o->first != o->op.first)
		sim_fail(h->sim,
			 "rank %u begins operation %u anew, of which something has been sent",
			 h->rank, o->op.seq);
	o->touched = true;
	o->first = o->op.first;
}

void verify_sent(struct host *h, struct sim_op *o, u64 idx, const struct netinc_block *b,
		 const struct netinc_pkt *pkt, const u8 *data)
{
	const u8 *input;
	u64 at;

	if (!has_buffers(o))
		return;
	check_numbers(h, o);
	if (!data || !is_main(o) || !h->sim->plan.hostile.who)
		return;
	input = plan_input(h->sim, o->app->idx, h->rank);
	at = data - o->send;
	if (memcmp(input + at, data, pkt->len))
		sim_fail(h->sim,
			 "rank %u contributes to block %llu (%u elements) of operation %u not its input",
			 h->rank, (unsigned long long)idx, b->elems, o->op.seq);
}

/*
 * Who lies is a member: the block has one result all the same, which all ranks get, also those to
 * which it comes after a move. But for partial ones, which nobody repeats.
 */
static void check_same_result(struct host *h, const struct sim_op *o, u64 block,
			      const struct netinc_pkt *pkt, const struct netinc_pay *pay)
{
	static const u64 key[2] = { 1, 2 };
	const u8 *elements = dgram_elements(pay);
	struct delivered now = { .lineage = h->ep.lineage, .epoch = pkt->epoch, .block = block,
				 .opseq = o->op.seq, .rank = h->rank, .valid = true,
				 .partial = pkt->flags & INC_F_PARTIAL,
				 .hash = netinc_siphash(elements, pkt->len, key) };
	struct delivered *first = &h->sim->delivered[block % SIM_DELIVERED];

	if (!pkt->len || netinc_coll_chains(o->op.coll) || hostile_nodes(h->sim) ||
	    hostile_is_rank(h->sim, h->rank))
		return;
	if (!first->valid || first->block != block || first->opseq != now.opseq ||
	    first->lineage != now.lineage ||
	    (first->epoch != now.epoch && (first->partial || now.partial)))
		*first = now;
	else if (first->hash != now.hash)
		sim_fail(h->sim,
			 "the result of block %llu (operation %u, %s) of epoch %u is one at rank %u and another one at rank %u",
			 (unsigned long long)block, o->op.seq, netinc_coll_name(o->op.coll),
			 now.epoch, first->rank, h->rank);
}

void verify_delivered(struct host *h, struct sim_op *o, u64 idx, const struct netinc_pay *pay)
{
	struct dgram *d = pay->obj;
	struct netinc_pkt pkt;
	u64 q = o->op.first + idx;

	if (!has_buffers(o))
		return;
	check_numbers(h, o);
	netinc_parse(d->data, d->len, &pkt);
	check_same_result(h, o, q, &pkt, pay);
	if (!h->sim->plan.hostile.who)
		return;
	if (pkt.type != INC_PKT_RESULT || pkt.epoch != h->ep.epoch || pkt.opseq != o->op.seq ||
	    pkt.sig != o->op.sig || (u32)q - pkt.psn >= pkt.span)
		sim_fail(h->sim,
			 "rank %u takes psn %u + %u of operation %u for block %llu of operation %u",
			 h->rank, pkt.psn, pkt.span, pkt.opseq, (unsigned long long)idx, o->op.seq);
	if (h->ep.spread.trees > 1 && pkt.tree != netinc_tree_of(&h->ep.spread, q))
		sim_fail(h->sim, "rank %u takes block %llu, of tree %u, from the root of tree %u",
			 h->rank, (unsigned long long)q, netinc_tree_of(&h->ep.spread, q),
			 pkt.tree);
	if (!o->result)
		o->result = calloc(o->op.blocks, sizeof(*o->result));
	o->result[idx] = dgram_get(d);
}

/*
 * Before the group has gone to the edge, and in its first epoch there, nobody has been told a lie
 * yet that he could repeat: what comes from a root that does not lie is right.
 */
static bool is_true(const struct sim *sim, const struct netinc_pkt *pkt, u64 block)
{
	u32 root = netinc_tree_of(&sim->edge_spread, block);

	if (!hostile_only_roots(sim))
		return false;
	return !sim->edge_epoch || (s32)(pkt->epoch - sim->edge_epoch) < 0 ||
	       (pkt->epoch == sim->edge_epoch && !hostile_is_place(sim, SIM_EDGE + root));
}

static void verify_true(struct host *h, struct sim_op *o)
{
	struct netinc_block b;
	struct netinc_pkt pkt;
	u64 idx, bytes;
	const u8 *got;
	u8 *want;

	if (!is_main(o) || o->op.partial || sim_step_of(h->sim, o->app->idx)->disagree)
		return;
	want = reference(h->sim, o->app->idx, h->rank, 0, 0, &bytes);
	for (idx = 0; o->result && idx < o->op.blocks && !netinc_coll_chains(o->op.coll); idx++) {
		netinc_coll_block(&o->op, idx, &b);
		if (!(b.bits & INC_F_WANT) || !b.elems || !o->result[idx])
			continue;
		netinc_parse(o->result[idx]->data, o->result[idx]->len, &pkt);
		if (!is_true(h->sim, &pkt, o->op.first + idx) || (pkt.flags & INC_F_PARTIAL))
			continue;
		h->sim->true_blocks++;
		got = buffer_result(h->sim, o, &b);
		if (memcmp(got, want + (got - o->recv), b.elems * o->elem_size))
			sim_fail(h->sim,
				 "rank %u: block %llu of operation %u, of tree %u, whose root does not lie, is wrong",
				 h->rank, (unsigned long long)idx, o->op.seq,
				 netinc_tree_of(&h->sim->edge_spread, o->op.first + idx));
	}
	free(want);
}

/* What is in the buffer is what has come: nothing else has been written there. */
void verify_done(struct host *h, struct sim_op *o)
{
	struct netinc_block b;
	struct netinc_pkt pkt;
	struct netinc_pay pay;
	u64 idx;

	for (idx = 0; o->result && idx < o->op.blocks && !netinc_coll_chains(o->op.coll); idx++) {
		netinc_coll_block(&o->op, idx, &b);
		if (!(b.bits & INC_F_WANT) || !b.elems)
			continue;
		if (!o->result[idx])
			sim_fail(h->sim,
				 "rank %u completes operation %u without the result of block %llu",
				 h->rank, o->op.seq, (unsigned long long)idx);
		netinc_parse(o->result[idx]->data, o->result[idx]->len, &pkt);
		pay = (struct netinc_pay){ .obj = o->result[idx], .off = sizeof(struct inc_hdr),
					   .flags = pkt.flags };
		if (memcmp(buffer_result(h->sim, o, &b), dgram_elements(&pay),
			   b.elems * o->elem_size))
			sim_fail(h->sim, "rank %u: block %llu of operation %u is not what has come",
				 h->rank, (unsigned long long)idx, o->op.seq);
	}
	if (hostile_only_roots(h->sim))
		verify_true(h, o);
}

void verify_free(struct sim *sim, struct sim_op *o)
{
	u64 idx;

	for (idx = 0; o->result && idx < o->seen_blocks; idx++)
		if (o->result[idx])
			dgram_put(sim, o->result[idx]);
	free(o->result);
	o->result = NULL;
}

/* Bytes of what a child contributes: accumulators may be wider than elements. */
static u32 length_of(const struct netinc_slot *slot, const struct netinc_pay *in)
{
	const struct netinc_reduce *r =
		netinc_reduce_find(slot->dtype, slot->dop, slot->mode, true);

	return in->flags & INC_F_WIDE && r ? slot->len / r->elem_size * r->acc_size : slot->len;
}

/* The child that input @i is of. */
static u32 number_of_input(const struct netinc_agg *agg, u32 i)
{
	u32 child;

	if (i < agg->children)
		return agg->child[i].number;
	for (child = 0; child < agg->children; child++)
		if (i >= agg->child[child].further &&
		    i < agg->child[child].further + agg->child[child].parts - 1)
			break;
	return agg->child[child].number;
}

/* What input @i has contributed, as its own header says. */
static void verify_input(struct node *n, const struct netinc_agg *agg,
			 const struct netinc_slot *slot, u32 i)
{
	const struct netinc_pay *in = &slot->in[i];
	const struct dgram *d = in->obj;
	struct netinc_pkt pkt;
	bool payload = in->flags & INC_F_PAYLOAD;

	if (!d) {
		if ((in->flags & (INC_F_PAYLOAD | INC_F_DESC)) && !(in->flags & INC_F_ZERO))
			sim_fail(n->sim,
				 "node %u: child %u has contributed elements to block %llu which are not there",
				 n->place, i, (unsigned long long)slot->q);
		return;
	}
	if (netinc_parse(d->data, d->len, &pkt))
		sim_fail(n->sim, "node %u holds what does not parse", n->place);
	if (pkt.child != number_of_input(agg, i) || pkt.psn != (u32)slot->q ||
	    pkt.opseq != slot->opseq || pkt.sig != slot->sig || pkt.tree != agg->tree)
		sim_fail(n->sim,
			 "node %u: block %llu of operation %u has a contribution to psn %u of operation %u",
			 n->place, (unsigned long long)slot->q, slot->opseq, pkt.psn, pkt.opseq);
	if (payload && (pkt.len != length_of(slot, in) || in->len != pkt.len ||
			pkt.dtype != slot->dtype || pkt.dop != slot->dop || pkt.mode != slot->mode))
		sim_fail(n->sim,
			 "node %u: block %llu folds %u bytes of type %u, operation %u, as %u of %u, %u",
			 n->place, (unsigned long long)slot->q, pkt.len, pkt.dtype, pkt.dop,
			 slot->len, slot->dtype, slot->dop);
}

void verify_slot(struct node *n, const struct netinc_agg *agg, const struct netinc_slot *slot)
{
	bool payload = false;
	u32 i;

	for (i = 0; i < agg->inputs; i++) {
		payload |= slot->in[i].flags & INC_F_PAYLOAD;
		verify_input(n, agg, slot, i);
	}
	if (payload != !!(slot->flags & INC_F_PAYLOAD) || (!payload && slot->len))
		sim_fail(n->sim, "node %u: block %llu has %u bytes, flags %#x, and %s", n->place,
			 (unsigned long long)slot->q, slot->len, slot->flags,
			 payload ? "contributions with elements" :
				   "none of the contributions has elements");
}

static const u16 answers[] = { INC_C_RESULTS_RESENT, INC_C_STATUSES, INC_C_NACKS };

void verify_answers_begin(struct node *n, const struct netinc_group *g)
{
	u32 i;

	static_assert(ARRAY_SIZE(answers) == ARRAY_SIZE(n->said));
	for (i = 0; i < ARRAY_SIZE(answers); i++)
		n->said[i] = g->counters[answers[i]];
}

void verify_answers_end(const struct node *n, const struct netinc_group *g)
{
	const u64 most[] = { MOST_RESENT, g->cfg.size, MOST_NACKS };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(answers); i++)
		if (g->counters[answers[i]] - n->said[i] > most[i])
			sim_fail(n->sim,
				 "node %u: a frame is answered with %llu packets of kind %u, not %llu at most",
				 n->place,
				 (unsigned long long)(g->counters[answers[i]] - n->said[i]), i,
				 (unsigned long long)most[i]);
}
