// SPDX-License-Identifier: GPL-2.0-only
/* What a node's groups hold, fold and send, with datagrams for skbs. */
#include "node.h"
#include "fold_operands.h"

static struct netinc_group *group_of(struct netinc_agg *agg)
{
	return container_of(agg, struct netinc_group, agg);
}

static struct node *node_of_agg(struct netinc_agg *agg)
{
	return node_of(group_of(agg));
}

static void append(struct node *n, u32 child, struct dgram *d)
{
	if (n->nout[child] == n->cap[child]) {
		n->cap[child] = n->cap[child] ? 2 * n->cap[child] : 64;
		n->out[child] = realloc(n->out[child], n->cap[child] * sizeof(struct dgram *));
		if (!n->out[child])
			sim_fail(n->sim, "the machine has no memory for %u datagrams",
				 n->cap[child]);
	}
	n->out[child][n->nout[child]++] = d;
}

static void end_run(struct node *n, u32 child)
{
	struct netinc_pkt *run = &n->run[child];

	if (run->type)
		append(n, child, dgram_build(n->sim, run, NULL, NULL));
	run->type = 0;
}

/* As in the kernel, output is collected, and leaves when its frame has been dealt with. */
void node_queue(struct node *n, u32 to, struct dgram *d)
{
	end_run(n, to);
	append(n, to, d);
}

static bool continues(const struct netinc_pkt *run, const struct netinc_pkt *pkt)
{
	return run->type && run->psn + run->span == pkt->psn && run->flags == pkt->flags &&
	       run->incarnation == pkt->incarnation && run->epoch == pkt->epoch &&
	       run->opseq == pkt->opseq && run->sig == pkt->sig && run->dtype == pkt->dtype &&
	       run->dop == pkt->dop && run->mode == pkt->mode && run->child == pkt->child &&
	       run->len == pkt->len && !(pkt->flags & INC_F_PART);
}

void node_queue_empty(struct node *n, u32 to, const struct netinc_pkt *pkt)
{
	struct netinc_pkt *run = &n->run[to];

	if (continues(run, pkt)) {
		run->span++;
		return;
	}
	end_run(n, to);
	*run = *pkt;
}

bool node_silent(const struct node *n)
{
	return n->silent || n->mute || trouble_at(n->sim, TROUBLE_SILENT, n->place) ||
	       trouble_at(n->sim, TROUBLE_RESTART, n->place);
}

void node_flush(struct node *n)
{
	u32 i;

	for (i = 0; i <= SIM_MANY; i++) {
		end_run(n, i);
		if (i == SIM_MANY && !node_silent(n))
			net_send_many(n->sim, n, n->out[i], n->nout[i]);
		else if (!node_silent(n) && hostile_is_place(n->sim, n->place))
			hostile_node_send(n, i, n->net[i], n->out[i], n->nout[i]);
		else if (!node_silent(n))
			net_send(n->sim, n->addr, i, n->net[i], n->out[i], n->nout[i]);
		while (node_silent(n) && n->nout[i])
			dgram_put(n->sim, n->out[i][--n->nout[i]]);
		n->nout[i] = 0;
	}
}

/* The way to a child is that to the member that the engine knows: nobody else gets its packets. */
static u32 link_of(struct netinc_group *g, u32 child)
{
	u32 to = node_group_of(g)->link[child];

	if (g->members[child].present && g->running && g->members[child].peer.addr[1] != to)
		sim_fail(node_of(g)->sim,
			 "node %u: what is for child %u, which is at host %u, goes to host %u",
			 node_of(g)->place, child, g->members[child].peer.addr[1], to);
	return to;
}

static void queue_all(struct netinc_group *g, u32 children, struct dgram *d)
{
	struct node *n = node_of(g);
	u32 i;

	for (i = 0; i < g->nmembers; i++)
		if (children == NETINC_ALL || children == i)
			node_queue(n, link_of(g, i), dgram_get(d));
	dgram_put(n->sim, d);
}

static void queue_many(struct netinc_group *g, struct dgram *d)
{
	g->counters[INC_C_MULTICAST]++;
	node_queue(node_of(g), SIM_MANY, d);
}

void node_send(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt, const void *body,
	       u32 len)
{
	struct node *n = node_of(g);
	struct netinc_pkt p = *pkt;

	p.len = len;
	sim_trace(n->sim, "node %u: type %u to %d, psn %u + %u, epoch %u", n->place, p.type,
		  (int)child, p.psn, p.span, p.epoch);
	if (p.multicast) {
		queue_many(g, dgram_build(n->sim, &p, NULL, body));
		return;
	}
	queue_all(g, child, dgram_build(n->sim, &p, NULL, body));
}

static u32 held_bytes(const struct netinc_pay *pay)
{
	return ((const struct dgram *)pay->obj)->len;
}

static bool agg_hold(struct netinc_agg *agg, struct netinc_pay *pay, bool force)
{
	struct node *n = node_of_agg(agg);

	if (!force && (sim_happens(n->sim, n->sim->plan.fail_hold) ||
		       n->held + held_bytes(pay) > n->sim->plan.hold_limit))
		return false;
	dgram_get(pay->obj);
	n->held += held_bytes(pay);
	check_held(n);
	return true;
}

static void agg_release(struct netinc_agg *agg, struct netinc_pay *pay)
{
	struct node *n = node_of_agg(agg);

	n->held -= held_bytes(pay);
	dgram_put(n->sim, pay->obj);
}

static void agg_desc(struct netinc_agg *agg, const struct netinc_pay *pay, struct inc_desc *desc)
{
	(void)agg;
	memset(desc, 0, sizeof(*desc));
	if (pay->obj && (pay->flags & INC_F_DESC))
		memcpy(desc, ((struct dgram *)pay->obj)->data + pay->off, sizeof(*desc));
}

/* In trees, nodes need the descriptor to say what is wrong; ranks have no use for it. */
static bool has_desc(const struct node *n, const struct netinc_slot *slot)
{
	return n->sim->plan.tree.nodes && (slot->flags & INC_F_DESC);
}

/* Memory for the result of @slot, or its partial. @from: has the descriptor, if there is one */
static bool result_new(struct netinc_agg *agg, struct netinc_slot *slot,
		       const struct netinc_pay *from, bool up, u32 part)
{
	struct node *n = node_of_agg(agg);
	u16 desc = has_desc(n, slot) ? INC_F_DESC : 0;
	struct netinc_pkt pkt;
	struct dgram *d;

	if (sim_happens(n->sim, n->sim->plan.fail_fold))
		return false;
	if (up)
		netinc_agg_up_header(agg, slot, part, &pkt);
	else
		netinc_agg_result_header(agg, slot, true, &pkt);
	slot->result = (struct netinc_pay){
		.kind = NETINC_PAY_RESULT,
		.len = pkt.len,
		.flags = (pkt.flags & INC_F_PAYLOAD) | desc,
	};
	d = dgram_new(n->sim, netinc_pay_off(&slot->result) + round_up(slot->result.len, 4u));
	if (desc)
		agg_desc(agg, from, (struct inc_desc *)d->data);
	slot->result.obj = d;
	n->held += held_bytes(&slot->result);
	return true;
}

static u8 *result_payload(const struct netinc_slot *slot)
{
	return ((struct dgram *)slot->result.obj)->data + netinc_pay_off(&slot->result);
}

/* The first contribution with the descriptor; NULL: there is none. */
static const struct netinc_pay *with_desc(const struct netinc_agg *agg,
					  const struct netinc_slot *slot)
{
	u32 i;

	for (i = 0; i < agg->inputs; i++)
		if (slot->in[i].flags & INC_F_DESC)
			return &slot->in[i];
	return NULL;
}

static bool agg_copy(struct netinc_agg *agg, struct netinc_slot *slot, u32 i)
{
	verify_slot(node_of_agg(agg), agg, slot);
	if (!result_new(agg, slot, with_desc(agg, slot), !agg->root, NETINC_WHOLE))
		return false;
	memcpy(result_payload(slot), dgram_elements(&slot->in[i]), slot->len);
	return true;
}

static bool agg_is_copy(struct netinc_agg *agg, const struct netinc_slot *slot, u32 i)
{
	(void)agg;
	return !memcmp(result_payload(slot), dgram_elements(&slot->in[i]), slot->len);
}

/* What the parent has sent, in memory of its own. */
static bool agg_take_result(struct netinc_agg *agg, struct netinc_slot *slot,
			    const struct netinc_pay *pay)
{
	node_verify_taken(agg, slot);
	if (!result_new(agg, slot, pay, false, NETINC_WHOLE))
		return false;
	if (slot->flags & INC_F_PAYLOAD)
		memcpy(result_payload(slot), dgram_elements(pay), slot->len);
	return true;
}

/* Elements that are only moved come from one child. */
static bool agg_move(struct netinc_agg *agg, struct netinc_slot *slot)
{
	u32 i, from = NETINC_NO_RANK;

	for (i = 0; i < agg->children; i++) {
		if (!(slot->in[i].flags & INC_F_PAYLOAD))
			continue;
		if (from != NETINC_NO_RANK)
			sim_fail(node_of_agg(agg)->sim,
				 "children %u and %u both move elements of block %llu", from, i,
				 (unsigned long long)slot->q);
		from = i;
	}
	return agg_copy(agg, slot, from);
}

static bool agg_can_fold(struct netinc_agg *agg, u8 dtype, u8 dop, u8 mode)
{
	(void)agg;
	return dop == INC_OP_NONE || netinc_reduce_find(dtype, dop, mode, true);
}

/* Operands of @part that have elements in the slot; an average is of those. */
static u32 count_inputs(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 part)
{
	struct netinc_part p = netinc_agg_part(agg, part);
	u32 i, n = 0;

	for (i = p.from; i < p.to; i++)
		n += !!(slot->in[agg->operand[i].input].flags & INC_F_PAYLOAD);
	return n;
}

static void fold_children(struct netinc_agg *agg, struct netinc_slot *slot, u32 part,
			  const struct netinc_reduce *r, u32 ranks)
{
	struct netinc_part p = netinc_agg_part(agg, part);
	bool all = count_inputs(agg, slot, part) == (u32)(p.to - p.from);
	const struct netinc_pay *in;
	struct fold_stack f;
	u32 i;

	fold_stack_init(&f, r, slot->len / r->elem_size);
	for (i = p.from; i < p.to; i++) {
		in = &slot->in[agg->operand[i].input];
		if (in->flags & INC_F_PAYLOAD)
			fold_stack_add(&f, &(struct fold_operand){
				.data = dgram_elements(in),
				.weight = all ? agg->operand[i].weight : 1,
				.wide = in->flags & INC_F_WIDE,
			});
	}
	fold_stack_end(&f, result_payload(slot), ranks, !agg->root);
}

static bool agg_fold(struct netinc_agg *agg, struct netinc_slot *slot, u32 part)
{
	const struct netinc_reduce *r =
		netinc_reduce_find(slot->dtype, slot->dop, slot->mode, true);
	struct node *node = node_of_agg(agg);

	verify_slot(node, agg, slot);
	if (!(slot->flags & INC_F_PAYLOAD) || !netinc_agg_part_has_elements(agg, slot, part))
		return !has_desc(node, slot) ||
		       result_new(agg, slot, with_desc(agg, slot), !agg->root, part);
	if (slot->dop == INC_OP_NONE)
		return agg_move(agg, slot);
	if (!r)
		sim_fail(node->sim, "no kernel for type %u, operation %u", slot->dtype, slot->dop);
	if (!result_new(agg, slot, with_desc(agg, slot), !agg->root, part))
		return false;
	fold_children(agg, slot, part, r,
		      node->sim->plan.tree.nodes ? node->sim->plan.hosts :
						   count_inputs(agg, slot, part));
	node->folds++;
	return true;
}

/*
 * Does it hear what goes by multicast? Whose host never has is not to be taken for one that does.
 */
static bool child_hears(struct netinc_group *g, u32 child)
{
	const struct sim *sim = node_of(g)->sim;
	u32 host = node_group_of(g)->link[child];

	if (!g->members[child].hears || !node_may_hear(g, child))
		return false;
	if (!hostile_is_rank(sim, host) && host < SIM_MAX_HOSTS &&
	    ((sim->plan.unable | (sim->plan.deaf_at ? 0 : sim->plan.deaf)) >> host & 1))
		sim_fail(node_of(g)->sim, "node %u: child %u, at host %u, hears nothing by multicast",
			 node_of(g)->place, child, host);
	return true;
}

/*
 * Does one result do for all that hear? *@wants: with elements, as at least half of them want
 * these; else none does.
 */
static bool all_alike(struct netinc_group *g, const struct netinc_slot *slot, bool *wants)
{
	u32 hearing = 0, n = 0, i;

	for (i = 0; i < g->agg.children; i++) {
		hearing += child_hears(g, i);
		n += child_hears(g, i) && (slot->in[i].flags & INC_F_WANT);
	}
	*wants = n;
	return hearing > 1 && (!n || 2 * n >= hearing);
}

/* To a host, or to all that hear: elements if it @wants them; else that there are some. */
static void queue_result(struct netinc_agg *agg, const struct netinc_slot *slot, u32 to,
			 struct dgram *d, bool wants)
{
	struct node *n = node_of_agg(agg);
	struct netinc_pkt pkt;

	if (to == SIM_MANY)
		group_of(agg)->counters[INC_C_MULTICAST]++;
	if (d && (wants || !(slot->flags & INC_F_PAYLOAD))) {
		node_queue(n, to, dgram_get(d));
		return;
	}
	netinc_agg_result_header(agg, slot, wants && (slot->flags & INC_F_ZERO), &pkt);
	node_queue_empty(n, to, &pkt);
}

/* Elements for children that want them; the others are told that the block is complete. */
static void agg_send_result(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	struct node *n = node_of_agg(agg);
	bool elements = slot->flags & INC_F_PAYLOAD;
	bool zero = slot->flags & INC_F_ZERO;
	struct netinc_group *g = group_of(agg);
	bool alike, wants = false;
	struct netinc_pkt pkt;
	struct dgram *d = NULL;
	u32 i;

	if (slot->len && elements && !slot->result.obj == !zero)
		sim_fail(n->sim,
			 "node %u: the result of block %llu has %u bytes, which are not there",
			 n->place, (unsigned long long)slot->q, slot->len);
	netinc_agg_result_header(agg, slot, true, &pkt);
	if (!(slot->result.flags & INC_F_DESC))
		pkt.flags &= ~INC_F_DESC;
	if (slot->result.obj)
		d = dgram_build(n->sim, &pkt, slot->result.obj ? (void *)
				((struct dgram *)slot->result.obj)->data : NULL,
				dgram_elements(&slot->result));
	sim_trace(n->sim, "node %u: result %llu to %d", n->place, (unsigned long long)slot->q,
		  (int)child);
	alike = child == NETINC_ALL && all_alike(g, slot, &wants);
	if (alike)
		queue_result(agg, slot, SIM_MANY, d, wants);
	for (i = 0; i < agg->children; i++)
		if (child == NETINC_ALL ? !(alike && child_hears(g, i)) : child == i)
			queue_result(agg, slot, link_of(g, i), d, slot->in[i].flags & INC_F_WANT);
	if (d)
		dgram_put(n->sim, d);
}

static void agg_send(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
		     const void *body, u32 len)
{
	node_send(group_of(agg), child, pkt, body, len);
}

const struct netinc_agg_ops node_agg_ops = {
	.hold = agg_hold,
	.release = agg_release,
	.desc = agg_desc,
	.fold = agg_fold,
	.copy = agg_copy,
	.is_copy = agg_is_copy,
	.can_fold = agg_can_fold,
	.send_result = agg_send_result,
	.send_up = node_send_partial,
	.take_result = agg_take_result,
	.send = agg_send,
	.mismatch = netinc_group_mismatch,
};
