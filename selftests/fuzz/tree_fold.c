// SPDX-License-Identifier: GPL-2.0-only
/* Payload at the nodes of fuzz_tree, and folding, as kernel/node/fold_elements.c does it. */
#include "tree_parts.h"
#include "fold_operands.h"

struct load *tree_load_new(u32 len)
{
	struct load *l = calloc(1, sizeof(*l));

	l->refs = 1;
	l->len = len;
	l->data = calloc(1, len);
	env.loads++;
	return l;
}

void tree_load_put(struct load *l)
{
	netinc_assert(l->refs);
	if (--l->refs)
		return;
	env.loads--;
	free(l->data);
	free(l);
}

bool tree_hold(struct netinc_agg *agg, struct netinc_pay *pay, bool force)
{
	if (!force && env.no_hold) {
		env.no_hold = false;
		return false;
	}
	((struct load *)pay->obj)->refs++;
	node_of_agg(agg)->held++;
	return true;
}

void tree_release(struct netinc_agg *agg, struct netinc_pay *pay)
{
	netinc_assert(node_of_agg(agg)->held);
	node_of_agg(agg)->held--;
	tree_load_put(pay->obj);
}

void tree_get_desc(struct netinc_agg *agg, const struct netinc_pay *pay, struct inc_desc *d)
{
	const struct load *l = pay->obj;

	(void)agg;
	memset(d, 0, sizeof(*d));
	if (l && (pay->flags & INC_F_DESC)) {
		netinc_assert(l->has_desc);
		*d = l->desc;
	}
}

bool tree_can_fold(struct netinc_agg *agg, u8 dtype, u8 dop, u8 mode)
{
	(void)agg;
	return dop == INC_OP_NONE || netinc_reduce_find(dtype, dop, mode, false);
}

/* What is held of @i is what it has said. */
static const u8 *input_of(struct node *n, const struct netinc_slot *slot, u32 i)
{
	const struct said *s = tree_said(n, i, slot->q);
	const struct load *l = slot->in[i].obj;

	if (slot->in[i].flags & INC_F_ZERO) {
		netinc_assert(s && !l && slot->in[i].len == s->pkt.len);
		return s->data;
	}
	netinc_assert(s && l && l->len == s->pkt.len && slot->in[i].len == l->len);
	netinc_assert(!memcmp(l->data, s->data, l->len));
	return l->data;
}

u32 tree_child_of(const struct node *n, u32 input)
{
	const struct netinc_agg *agg = &n->g.agg;
	u32 i = input;

	if (input < agg->children)
		return input;
	for (i = 0; i < agg->children; i++)
		if (agg->child[i].parts > 1 && input >= agg->child[i].further &&
		    input < agg->child[i].further + agg->child[i].parts - 1)
			break;
	netinc_assert(i < agg->children);
	return i;
}

/* What is said as input @i, if it has elements. */
static void add_input(struct node *n, const struct netinc_slot *slot, u32 i, u32 weight,
		      struct fold_stack *f)
{
	u32 wider = f->r->acc_size / f->r->elem_size;
	bool wide = slot->in[i].flags & INC_F_WIDE;
	struct fold_operand o;

	if (!(slot->in[i].flags & INC_F_PAYLOAD))
		return;
	/* only nodes have accumulators, of what has wider ones */
	netinc_assert(!wide || (n->g.members[tree_child_of(n, i)].height && wider > 1));
	netinc_assert(slot->in[i].len == slot->len * (wide ? wider : 1));
	o = (struct fold_operand){ input_of(n, slot, i), weight, wide };
	fold_stack_add(f, &o);
}

static void fold_part(struct node *n, const struct netinc_slot *slot, u32 part, u8 *to)
{
	const struct netinc_agg *agg = &n->g.agg;
	const struct netinc_part p = netinc_agg_part(agg, part);
	const struct netinc_reduce *r =
		netinc_reduce_find(slot->dtype, slot->dop, slot->mode, false);
	bool all = true;
	struct fold_stack f;
	u32 i;

	for (i = p.from; i < p.to; i++)
		all = all && (slot->in[agg->operand[i].input].flags & INC_F_PAYLOAD);
	netinc_assert(r && !(slot->len % r->elem_size));
	fold_stack_init(&f, r, slot->len / r->elem_size);
	for (i = p.from; i < p.to; i++)
		add_input(n, slot, agg->operand[i].input, all ? agg->operand[i].weight : 1, &f);
	netinc_assert(f.order.n);
	fold_stack_end(&f, to, n->g.cfg.size, !n->g.agg.root);
}

static void move_one(struct node *n, const struct netinc_slot *slot, u8 *to)
{
	u32 i, found = 0;

	for (i = 0; i < n->g.agg.inputs; i++) {
		if (!(slot->in[i].flags & INC_F_PAYLOAD))
			continue;
		netinc_assert(slot->in[i].len == slot->len);
		memcpy(to, input_of(n, slot, i), slot->len);
		found++;
	}
	netinc_assert(found == 1);
}

/* The slot's result from now on. */
static struct load *set_result(struct node *n, struct netinc_slot *slot, u32 len)
{
	struct load *l = tree_load_new(len);

	netinc_assert(!slot->result.obj);
	slot->result = (struct netinc_pay){
		.obj = l, .kind = NETINC_PAY_RESULT, .len = len, .flags = slot->flags
	};
	l->has_desc = slot->flags & INC_F_DESC;
	n->held++;
	return l;
}

/* Accumulators have room where elements have. */
bool tree_fold(struct netinc_agg *agg, struct netinc_slot *slot, u32 part)
{
	bool elements = netinc_agg_part_has_elements(agg, slot, part);
	struct node *n = node_of_agg(agg);
	u32 len = !elements ? 0 : agg->root ? slot->len : slot->len * slot->wider, i;
	u8 to[4 * MAX_LEN];
	struct load *l;

	if (env.no_fold)
		return false;
	netinc_assert(!slot->missing && !slot->bad && slot->len <= n->g.block);
	netinc_assert(len <= n->g.block);
	netinc_assert(part == NETINC_WHOLE || !agg->root);
	if (elements && slot->dop)
		fold_part(n, slot, part, to);
	else if (elements)
		move_one(n, slot, to);
	l = set_result(n, slot, len);
	memcpy(l->data, to, len);
	for (i = 0; i < agg->inputs && l->has_desc; i++)
		if (slot->in[i].flags & INC_F_DESC)
			break;
	netinc_assert(i < agg->inputs);
	if (l->has_desc)
		tree_get_desc(agg, &slot->in[i], &l->desc);
	return true;
}

/* Nobody retains results in trees; where all ranks come to one node a liar says that he does. */
bool tree_copy_final(struct netinc_agg *agg, struct netinc_slot *slot, u32 i)
{
	struct node *n = node_of_agg(agg);
	struct load *l;

	netinc_assert(agg->root && !n->g.levels && slot->in[i].flags & INC_F_FINAL);
	if (env.no_fold)
		return false;
	l = set_result(n, slot, slot->len);
	netinc_assert(slot->in[i].len == slot->len);
	memcpy(l->data, input_of(n, slot, i), slot->len);
	return true;
}

bool tree_is_copy(struct netinc_agg *agg, const struct netinc_slot *slot, u32 i)
{
	const struct load *l = slot->result.obj;

	netinc_assert(l->len == slot->len && slot->in[i].len == slot->len);
	return !memcmp(l->data, input_of(node_of_agg(agg), slot, i), slot->len);
}

bool tree_take_result(struct netinc_agg *agg, struct netinc_slot *slot,
		      const struct netinc_pay *pay)
{
	struct node *n = node_of_agg(agg);
	const struct load *from = pay->obj;
	struct load *l;

	if (env.no_fold)
		return false;
	netinc_assert(!agg->root && from->len <= n->g.block && slot->len == from->len);
	netinc_assert(!(slot->flags & INC_F_DESC) || from->has_desc);
	l = set_result(n, slot, from->len);
	memcpy(l->data, from->data, from->len);
	l->desc = from->desc;
	return true;
}
