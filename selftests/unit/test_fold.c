// SPDX-License-Identifier: GPL-2.0-only
/*
 * Elements at a node (kernel/node/fold_elements.c): children are ranks and nodes of random trees,
 * their payloads lie in pieces, are zeros that were not sent, or not there at all, the FPU is not
 * always to be had, and some of them send no elements. What comes out has the bits of the
 * definition (reduce_ref.h), the scratch memory is enough, and vector registers are used in
 * sections of the FPU alone.
 */
#include "fold_operands.h"
#include "reduce_env.h"

/* instead of these two */
#define NETINC_NODE_NODE_GROUP_H
#define NETINC_CORE_SKB_CONTIG_H
#include "stub/node_group.h"

#define MAX_RANKS		1024u
#define WARN_ON_ONCE(cond)	(!expect(!(cond), #cond))

/* Kernels that use the FPU, as the node gets them: of elements, and of accumulators. */
static const struct netinc_reduce *watched[2];
static enum { OUTSIDE, REFUSED, GRANTED } section;

static void fold_elements(void *dst, const void *const *src, unsigned int n, unsigned int count,
			  const struct netinc_fold_args *args)
{
	expect(section == GRANTED, "%s without the FPU", watched[0]->name);
	watched[0]->fold(dst, src, n, count, args);
}

static void fold_accumulators(void *dst, const void *const *src, unsigned int n, unsigned int count,
			      const struct netinc_fold_args *args)
{
	expect(section == GRANTED, "%s of accumulators without the FPU", watched[1]->name);
	watched[1]->fold(dst, src, n, count, args);
}

static const struct netinc_reduce *watch(const struct netinc_reduce *r, u32 which)
{
	static struct netinc_reduce as[2];

	if (!r->fpu)
		return r;
	watched[which] = r;
	as[which] = *r;
	as[which].fold = which ? fold_accumulators : fold_elements;
	return &as[which];
}

#define netinc_reduce_find(type, op, mode, fpu)	watch(netinc_reduce_find(type, op, mode, fpu), 0)
#define netinc_reduce_accumulators(r, fpu)	watch(netinc_reduce_accumulators(r, fpu), 1)
#include "node/fold_elements.c"
#undef netinc_reduce_find
#undef netinc_reduce_accumulators

bool netinc_fpu_section_enter(struct netinc_fpu_section *s)
{
	expect(section == OUTSIDE, "a section in a section");
	section = ktap_below(8) ? GRANTED : REFUSED;
	s->denied |= section == REFUSED;
	return section == GRANTED;
}

void netinc_fpu_section_leave(struct netinc_fpu_section *s)
{
	(void)s;
	expect(section != OUTSIDE, "no section is left");
	section = OUTSIDE;
}

const void *netinc_skb_contig(const struct sk_buff *skb, u32 off, u32 len)
{
	return skb->lost || (off < skb->cut && off + len > skb->cut) ? NULL : skb->data + off;
}

int skb_copy_bits(const struct sk_buff *skb, u32 off, void *to, u32 len)
{
	if (skb->lost)
		return -EFAULT;
	if (!expect(off + len <= skb->len, "%u bytes at %u of %u", len, off, skb->len))
		return -EFAULT;
	memcpy(to, skb->data + off, len);
	return 0;
}

static struct {
	const struct ref_type *t;
	const struct netinc_reduce *r;
	u32 ranks, elems, missing;
	u32 sparse;			/* one child in so many has zeros, or what is lost */
	u32 counted;			/* ranks by which an average is divided */
	bool tree, up;
	u8 *rank[MAX_RANKS];		/* elements of each */
	struct netinc_node_group g;
	struct netinc_operand operand[MAX_RANKS];	/* each is a child */
	struct netinc_part part;	/* all of them */
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
		env.operand[i] = (struct netinc_operand){ .input = i, .weight = r - l };
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
	u32 weight = env.operand[child].weight, i;
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

/* Of a child whose payload is lost all elements count as zeros, as do accumulators of zeros. */
static void lose_payload(u32 child)
{
	u32 i;

	env.skb[child].lost = true;
	for (i = 0; i < env.operand[child].weight; i++)
		memset(env.rank[env.first[child] + i], 0, env.elems * env.r->elem_size);
}

static void make_children(void)
{
	u32 i, bytes, present;
	bool wide;

	add_children(0, env.ranks);
	present = ktap_below(env.g.grp.agg.children);
	for (i = 0; i < env.g.grp.agg.children; i++) {
		struct sk_buff *skb = &env.skb[i];

		if (!ktap_below(env.sparse))
			lose_payload(i);
		skb->data = payload_of(i, &bytes, &wide);
		skb->len = bytes;
		skb->cut = ktap_below(4) ? 0 : ktap_below(bytes);
		env.in[i] = (struct netinc_pay){ .obj = skb, .len = bytes };
		if (i != present && env.missing && !ktap_below(env.missing))
			continue;
		env.in[i].flags = INC_F_PAYLOAD | (wide ? INC_F_WIDE : 0);
		if (skb->lost && ktap_below(2)) {
			env.in[i].obj = NULL;
			env.in[i].flags |= INC_F_ZERO;
		}
	}
}

static u32 count_present(void)
{
	u32 i, n = 0;

	for (i = 0; i < env.g.grp.agg.children; i++)
		n += !!env.in[i].flags;
	return n;
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
	env.sparse = ktap_below(4) ? 50 : 2;
	for (i = 0; i < env.ranks; i++) {
		env.rank[i] = allocate(env.elems * env.r->elem_size);
		for (k = 0; k < env.elems; k++)
			interesting(env.t, env.rank[i] + k * env.r->elem_size);
	}
	env.g.grp.cfg.size = env.ranks;
	env.g.grp.agg.operand = env.operand;
	env.g.grp.agg.part = &env.part;
	env.g.grp.agg.root = !env.up;
	env.slot = (struct netinc_slot){ .dtype = type, .dop = op, .mode = mode, .in = env.in,
					 .len = env.elems * env.r->elem_size, .wider = 1,
					 .flags = INC_F_PAYLOAD };
	if (env.up)
		env.slot.wider = env.r->acc_size / env.r->elem_size;
	make_children();
	env.g.grp.agg.inputs = env.g.grp.agg.children;
	env.g.grp.agg.nparts = 1;
	env.part.to = env.g.grp.agg.children;
	env.g.grp.height = env.g.grp.agg.children < env.ranks;
	env.counted = env.ranks;
	/* who goes on without late ranks takes no nodes */
	if (!env.tree && ktap_below(2)) {
		env.slot.flags |= INC_F_PARTIAL;
		env.counted = count_present();
	}
}

static void end(void)
{
	u32 i;

	for (i = 0; i < env.ranks; i++)
		free(env.rank[i]);
	for (i = 0; i < env.g.grp.agg.children; i++)
		free(env.skb[i].data);
}

/* By the definition, of all ranks, or of those of them that are there if all children are ranks. */
static void define_result(u8 *to)
{
	const u8 *p[MAX_RANKS];
	u32 i, k, n;

	for (k = 0; k < env.elems; k++) {
		for (i = 0, n = 0; i < env.ranks; i++)
			if (env.tree || env.in[i].flags)
				p[n++] = env.rank[i] + k * env.r->elem_size;
		ref_fold(env.t, env.slot.dop, env.slot.mode, p, n, env.counted,
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

/* Elements, as the root of the tree would make them of what this node sends up. */
static void fold_here(u8 *to)
{
	const struct netinc_fold_args args = { NETINC_FOLD_ACCUMULATORS, env.ranks };
	u32 bytes = env.elems * (env.up ? env.r->acc_size : env.r->elem_size);
	u8 *got = allocate(bytes);
	const void *src = got;

	netinc_fold_elements(&env.g, &env.slot, env.up && ktap_below(2) ? 0 : NETINC_WHOLE, got);
	if (env.up)
		env.r->fold(to, &src, 1, env.elems, &args);
	else
		memcpy(to, got, bytes);
	free(got);
}

static bool expect_counted(void)
{
	const u64 *counters = env.g.grp.counters;

	return expect(section == OUTSIDE, "a section is still open") &&
	       expect(counters[INC_C_FOLD_BYTES] ==
		      (u64)env.g.grp.agg.children * env.slot.len, "bytes are not counted") &&
	       expect(counters[INC_C_FOLD_GENERIC] == env.g.section.denied,
		      "that the FPU was denied is not counted");
}

static bool fold_once(u8 type, u8 op, u8 mode)
{
	u8 *want, *got;
	bool same;

	begin(type, op, mode);
	want = allocate(env.slot.len);
	got = allocate(env.slot.len);
	if (!env.tree || count_present() == env.g.grp.agg.children)
		define_result(want);
	else
		fold_present(want);
	fold_here(got);
	same = expect(!memcmp(want, got, env.slot.len),
		      "%s: %u ranks, %u children, %u elements, missing %u, up %u: other bits",
		      env.r->name, env.ranks, env.g.grp.agg.children, env.elems, env.missing,
		      env.up);
	same = expect_counted() && same;
	free(want);
	free(got);
	end();
	return same;
}

/*
 * What has no order goes up in one also where other ranks are in between, so that nothing on the
 * stack could be joined with anything by the ranks' numbers.
 */
static void test_gaps(void)
{
	enum { CHILDREN = 16, ELEMS = 5 };
	__le32 data[CHILDREN][ELEMS], got[ELEMS];
	u32 i, k, sum;

	netinc_reduce_init(netinc_cpu_features());
	netinc_fold_init();
	memset(&env, 0, sizeof(env));
	env.g.grp.cfg.size = 64;
	env.g.grp.height = 1;
	env.g.grp.agg.children = CHILDREN;
	env.g.grp.agg.inputs = CHILDREN;
	env.g.grp.agg.nparts = CHILDREN;
	env.g.grp.agg.operand = env.operand;
	env.slot = (struct netinc_slot){ .dtype = INC_TYPE_I32, .dop = INC_OP_SUM, .in = env.in,
					 .len = sizeof(got), .wider = 1, .flags = INC_F_PAYLOAD };
	for (i = 0; i < CHILDREN; i++) {
		for (k = 0; k < ELEMS; k++)
			data[i][k] = cpu_to_le32(1000 * i + k);
		env.operand[i] = (struct netinc_operand){ .input = i, .weight = 1 + i % 2 };
		env.skb[i] = (struct sk_buff){ .data = (u8 *)data[i], .len = sizeof(got) };
		env.in[i] = (struct netinc_pay){ .obj = &env.skb[i], .len = sizeof(got),
						 .flags = INC_F_PAYLOAD };
	}
	netinc_fold_elements(&env.g, &env.slot, NETINC_WHOLE, got);
	for (k = 0; k < ELEMS; k++) {
		sum = 1000 * CHILDREN * (CHILDREN - 1) / 2 + CHILDREN * k;
		expect(le32_to_cpu(got[k]) == sum, "element %u is %u, not %u", k,
		       le32_to_cpu(got[k]), sum);
	}
	netinc_fold_fini();
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
		{ INC_TYPE_MXF8E4M3, INC_OP_SUM, 0 },
		{ INC_TYPE_MXF4E2M1, INC_OP_AVG, 0 },
		{ INC_TYPE_MXI8, INC_OP_MAX, 0 },
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
	KTAP(test_fold), KTAP(test_gaps),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
