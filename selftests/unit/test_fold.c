// SPDX-License-Identifier: GPL-2.0-only
/*
 * Elements at a node (kernel/node/fold_elements.c): children are ranks and nodes of random trees,
 * their payloads lie in pieces, the FPU is not always to be had, and some of them send no elements.
 * What comes out has the bits of the definition (reduce_ref.h), and the scratch memory is enough.
 */
#include "fold_operands.h"
#include "reduce_env.h"

/* instead of these two */
#define NETINC_NODE_NODE_GROUP_H
#define NETINC_CORE_SKB_CONTIG_H
#include "stub/node_group.h"

#define MAX_RANKS		1024u
#define WARN_ON_ONCE(cond)	(!expect(!(cond), #cond))

#include "node/fold_elements.c"

bool netinc_fpu_section_enter(struct netinc_fpu_section *s)
{
	(void)s;
	return ktap_below(8);
}

void netinc_fpu_section_leave(struct netinc_fpu_section *s)
{
	(void)s;
}

const void *netinc_skb_contig(const struct sk_buff *skb, u32 off, u32 len)
{
	return off < skb->cut && off + len > skb->cut ? NULL : skb->data + off;
}

int skb_copy_bits(const struct sk_buff *skb, u32 off, void *to, u32 len)
{
	if (!expect(off + len <= skb->len, "%u bytes at %u of %u", len, off, skb->len))
		return -EFAULT;
	memcpy(to, skb->data + off, len);
	return 0;
}

static struct {
	const struct ref_type *t;
	const struct netinc_reduce *r;
	u32 ranks, elems, missing;
	bool tree, up;
	u8 *rank[MAX_RANKS];		/* elements of each */
	struct netinc_node_group g;
	struct netinc_child child[MAX_RANKS];
	u32 first[MAX_RANKS];		/* of each child: its lowest rank */
	struct netinc_slot slot;
	struct netinc_pay in[MAX_RANKS];
	struct sk_buff skb[MAX_RANKS];
} env;

/* A node of the tree over the ranks becomes a child, or is cut in two. */
static void add_children(u32 l, u32 r)
{
	u32 half = 1, i = env.g.grp.agg.children;

	if (r - l == 1 || (env.tree && r - l < env.ranks && !ktap_below(3))) {
		env.first[i] = l;
		env.child[i].weight = r - l;
		env.g.grp.agg.children++;
		return;
	}
	while (2 * half < r - l)
		half *= 2;
	add_children(l, l + half);
	add_children(l + half, r);
}

/* What a child has: its elements, or what it has folded of its ranks', in the form of the wire. */
static u8 *payload_of(u32 child, u32 *bytes, bool *wide)
{
	u32 weight = env.child[child].weight, i;
	struct fold_stack f;
	u8 *p;

	*wide = weight > 1 && env.r->acc_size > env.r->elem_size;
	*bytes = env.elems * (weight > 1 ? env.r->acc_size : env.r->elem_size);
	p = malloc(*bytes + 1);
	if (weight == 1) {
		memcpy(p, env.rank[env.first[child]], *bytes);
		return p;
	}
	fold_stack_init(&f, env.r, env.elems);
	for (i = 0; i < weight; i++)
		fold_stack_add(&f, &(struct fold_operand){
			env.rank[env.first[child] + i], 1, false,
		});
	fold_stack_end(&f, p, 1, true);
	return p;
}

static void make_children(void)
{
	u32 i, bytes;
	bool wide;

	add_children(0, env.ranks);
	for (i = 0; i < env.g.grp.agg.children; i++) {
		struct sk_buff *skb = &env.skb[i];

		skb->data = payload_of(i, &bytes, &wide);
		skb->len = bytes;
		skb->cut = ktap_below(4) ? 0 : ktap_below(bytes);
		env.in[i] = (struct netinc_pay){ .obj = skb, .len = bytes };
		if (i && env.missing && !ktap_below(env.missing))
			continue;
		env.in[i].flags = INC_F_PAYLOAD | (wide ? INC_F_WIDE : 0);
	}
}

static void begin(u8 type, u8 op, u8 mode)
{
	u32 i, k;

	memset(&env, 0, sizeof(env));
	env.t = ref_type(type);
	env.r = netinc_reduce_find(type, op, mode, false);
	env.ranks = 1 + ktap_below(ktap_below(4) ? 40 : MAX_RANKS);
	env.elems = 1 + ktap_below(ktap_below(4) ? 40 : 4000 / env.r->elem_size);
	env.tree = ktap_below(2);
	env.up = env.tree && ktap_below(2);
	env.missing = ktap_below(3) ? 0 : 2 + ktap_below(20);
	for (i = 0; i < env.ranks; i++) {
		env.rank[i] = allocate(env.elems * env.r->elem_size);
		for (k = 0; k < env.elems; k++)
			interesting(env.t, env.rank[i] + k * env.r->elem_size);
	}
	env.g.grp.cfg.size = env.ranks;
	env.g.grp.agg.child = env.child;
	env.g.grp.agg.root = !env.up;
	env.slot = (struct netinc_slot){ .dtype = type, .dop = op, .mode = mode, .in = env.in,
					 .len = env.elems * env.r->elem_size, .wider = 1,
					 .flags = INC_F_PAYLOAD };
	if (env.up)
		env.slot.wider = env.r->acc_size / env.r->elem_size;
	make_children();
	env.g.grp.height = env.g.grp.agg.children < env.ranks;
}

static void end(void)
{
	u32 i;

	for (i = 0; i < env.ranks; i++)
		free(env.rank[i]);
	for (i = 0; i < env.g.grp.agg.children; i++)
		free(env.skb[i].data);
}

/* By the definition, of all ranks. */
static void define_result(u8 *to)
{
	const u8 *p[MAX_RANKS];
	u32 i, k;

	for (k = 0; k < env.elems; k++) {
		for (i = 0; i < env.ranks; i++)
			p[i] = env.rank[i] + k * env.r->elem_size;
		ref_fold(env.t, env.slot.dop, env.slot.mode, p, env.ranks, env.ranks,
			 to + k * env.r->elem_size);
	}
}

/* Of the children that are there, numbered without gaps. */
static void fold_present(u8 *to)
{
	struct fold_stack f;
	u32 i;

	fold_stack_init(&f, env.r, env.elems);
	for (i = 0; i < env.g.grp.agg.children; i++)
		if (env.in[i].flags & INC_F_PAYLOAD)
			fold_stack_add(&f, &(struct fold_operand){
				env.skb[i].data, 1, env.in[i].flags & INC_F_WIDE,
			});
	fold_stack_end(&f, to, env.ranks, false);
}

static bool all_there(void)
{
	u32 i;

	for (i = 0; i < env.g.grp.agg.children; i++)
		if (!env.in[i].flags)
			return false;
	return true;
}

/* Elements, as the root of the tree would make them of what this node sends up. */
static void fold_here(u8 *to)
{
	const struct netinc_fold_args args = { NETINC_FOLD_ACCUMULATORS, env.ranks };
	u32 bytes = env.elems * (env.up ? env.r->acc_size : env.r->elem_size);
	u8 *got = allocate(bytes);
	const void *src = got;

	netinc_fold_elements(&env.g, &env.slot, got);
	if (env.up)
		env.r->fold(to, &src, 1, env.elems, &args);
	else
		memcpy(to, got, bytes);
	free(got);
}

static bool fold_once(u8 type, u8 op, u8 mode)
{
	u8 *want, *got;
	bool same;

	begin(type, op, mode);
	want = allocate(env.slot.len);
	got = allocate(env.slot.len);
	if (all_there())
		define_result(want);
	else
		fold_present(want);
	fold_here(got);
	same = expect(!memcmp(want, got, env.slot.len),
		      "%s: %u ranks, %u children, %u elements, missing %u, up %u: other bits",
		      env.r->name, env.ranks, env.g.grp.agg.children, env.elems, env.missing,
		      env.up);
	free(want);
	free(got);
	end();
	return same;
}

static void test_fold(void)
{
	static const struct {
		u8 type, op, mode;
	} of[] = {
		{ INC_TYPE_F32, INC_OP_SUM, 0 },
		{ INC_TYPE_F64, INC_OP_PROD, 0 },
		{ INC_TYPE_F16, INC_OP_SUM, 0 },
		{ INC_TYPE_BF16, INC_OP_AVG, 0 },
		{ INC_TYPE_F8E4M3, INC_OP_SUM, 0 },
		{ INC_TYPE_C32, INC_OP_SUM, 0 },
		{ INC_TYPE_I8, INC_OP_SUM, INC_MODE_SATURATE },
		{ INC_TYPE_I32, INC_OP_AVG, 0 },
		{ INC_TYPE_F64_I64, INC_OP_MINLOC, 0 },
	};
	u32 i, k;

	netinc_reduce_init(netinc_cpu_features());
	netinc_fold_init();
	for (i = 0; i < 400; i++) {
		k = i % ARRAY_SIZE(of);
		if (!fold_once(of[k].type, of[k].op, of[k].mode))
			break;
	}
	netinc_fold_fini();
}

static const struct ktap_test tests[] = {
	KTAP(test_fold),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
