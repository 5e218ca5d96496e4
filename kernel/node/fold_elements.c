// SPDX-License-Identifier: GPL-2.0-only
/*
 * Elements at a node: the payloads of a block's contributions become one, in the order of
 * reduce/order.h.
 *
 * Contributions are folded a chunk of bytes at a time. As many as one pass of a reduction kernel
 * takes become an operand on a stack, whose memory is scratch memory of the CPU, and operands on
 * the stack that are halves of one node of the tree are joined. Often one pass is all.
 */
#include <linux/local_lock.h>
#include <linux/percpu.h>
#include "node/node_group.h"
#include "core/skb_contig.h"
#include "reduce/order.h"
#include "reduce/reduce.h"

#define MAX_BOUNCE	4	/* sources of a pass that are copied, not being contiguous */
#define MAX_CHUNK	4096u	/* bytes of elements; a chunk has whole ones */
#define SCRATCH		28672u	/* bytes; all of struct scratch fits PCPU_MIN_UNIT_SIZE */

/* A block being folded, a chunk at a time. */
struct fold {
	struct netinc_node_group *g;
	const struct netinc_slot *slot;
	const struct netinc_reduce *kernel;	/* the fastest one */
	u32 ranks;		/* by which averages are divided */
	struct netinc_part part;	/* the operands of the block that are folded */
	/*
	 * Operands have weights: there are nodes among the children, and the operands make one node
	 * of the tree and all have elements, as they do where the order matters unless somebody
	 * lies. If not, those that have elements are numbered without gaps: then, too, the stack is
	 * as deep at most as the logarithm of their number.
	 */
	bool weighted;
	u32 operands;		/* for which there is room on the stack */
	u32 wider;		/* an accumulator is so many times as long as an element */
	u32 chunk;		/* bytes of elements of a full chunk */
	u32 off;		/* of this chunk in its payload, bytes of elements */
	u32 len;		/* of this chunk, likewise */
	u8 *dst;		/* where the result of this chunk goes */
	u32 next;		/* the next one that is looked at, see netinc_agg.operand */
	u32 first;		/* rank at which its operand begins */
	struct netinc_order order;	/* the stack */
	u32 bounced;		/* sources of this pass that were copied */
	u32 n;			/* sources of this pass */
	const void *src[NETINC_MAX_SOURCES];
	/* the operand that each source is of, and the one after them */
	u32 from[NETINC_MAX_SOURCES + 1];
	u8 mem[SCRATCH];	/* copies of sources, then operands */
};

/*
 * Memory of one CPU. Groups fold in softirq or with softirqs off, and softirqs of one CPU do not
 * nest, so nobody else uses it meanwhile. On PREEMPT_RT another task may get the CPU: there the
 * lock keeps it out, and elsewhere it does nothing but tell lockdep.
 */
struct scratch {
	local_lock_t lock;
	struct fold fold;
};

static_assert(sizeof(struct scratch) <= PCPU_MIN_UNIT_SIZE);

static struct scratch __percpu *scratch;

/* The elements of contributions that are ZERO. */
static const u8 zeros[MAX_CHUNK];

static bool goes_up(const struct fold *f)
{
	return !f->g->grp.agg.root;
}

/* The last step: results to the ranks are rounded and divided, those to a parent are not. */
static unsigned int last_flags(const struct fold *f)
{
	return goes_up(f) ? NETINC_FOLD_UNROUNDED : 0;
}

/* What must never be sent is what was in the memory before. */
static void clear_result(const struct fold *f)
{
	memset(f->dst, 0, f->len * (goes_up(f) ? f->wider : 1));
}

static u8 *bounce_memory(struct fold *f, u32 i)
{
	return f->mem + i * f->chunk;
}

/* Accumulators of operand @i on the stack; at the bottom they are the result if they can be. */
static u8 *operand_memory(struct fold *f, u32 i)
{
	if (!i && (f->wider == 1 || goes_up(f)))
		return f->dst;
	return bounce_memory(f, MAX_BOUNCE) + i * f->chunk * f->wider;
}

/* Preemption is off here on PREEMPT_RT: for one pass only. @accumulators: of the kernel's. */
static void run_pass(const struct fold *f, void *to, const void *const *src, u32 n,
		     unsigned int flags, bool accumulators)
{
	const struct netinc_fold_args args = { .flags = flags, .ranks = f->ranks };
	const struct netinc_reduce *kernel = f->kernel;
	bool fpu = netinc_fpu_section_enter(&f->g->section);
	u32 elems = f->len / f->kernel->elem_size;

	if (accumulators) {
		kernel = netinc_reduce_accumulators(kernel, fpu);
		elems *= netinc_reduce_acc_elems(f->kernel, kernel);
	} else if (kernel->fpu && !fpu) {
		kernel = netinc_reduce_find(kernel->type, kernel->op, kernel->mode, false);
	}
	kernel->fold(to, src, n, elems, &args);
	netinc_fpu_section_leave(&f->g->section);
}

/*
 * Bytes of a buffer that is shorter than its header said are zeros: what was in the memory before
 * may be another group's.
 */
static void copy_or_clear(const struct sk_buff *skb, u32 off, u8 *to, u32 len)
{
	if (skb_copy_bits(skb, off, to, len))
		memset(to, 0, len);
}

/* The chunk of a payload, copied if it is not contiguous; NULL: there is no buffer for that. */
static const void *find_source(struct fold *f, const struct netinc_pay *pay)
{
	u32 off = netinc_pay_off(pay) + f->off;
	const void *src;
	u8 *to;

	if (pay->flags & INC_F_ZERO)
		return zeros;
	src = netinc_skb_contig(pay->obj, off, f->len);
	if (src)
		return src;
	if (f->bounced == MAX_BOUNCE)
		return NULL;
	to = bounce_memory(f, f->bounced++);
	copy_or_clear(pay->obj, off, to, f->len);
	netinc_count(f->g->grp.counters, INC_C_FOLD_BOUNCED);
	return to;
}

/* What is contributed as operand @i. */
static const struct netinc_pay *operand_input(const struct fold *f, u32 i)
{
	return &f->slot->in[f->g->grp.agg.operand[i].input];
}

/* The first operand from @i on that has elements in the slot, or the end of the part. */
static u32 next_operand(const struct fold *f, u32 i)
{
	while (i < f->part.to && !(operand_input(f, i)->flags & INC_F_PAYLOAD))
		i++;
	return i;
}

static u32 operand_weight(const struct fold *f, u32 i)
{
	return f->weighted ? f->g->grp.agg.operand[i].weight : 1;
}

static bool has_accumulators(const struct fold *f, u32 i)
{
	return operand_input(f, i)->flags & INC_F_WIDE;
}

/* Sources of a pass: of elements, from the next operand on, of one weight. */
static void gather_sources(struct fold *f, u32 weight)
{
	u32 i = f->next, n;

	f->bounced = 0;
	for (n = 0; n < NETINC_MAX_SOURCES; n++) {
		f->from[n] = i;
		if (i == f->part.to || operand_weight(f, i) != weight || has_accumulators(f, i))
			break;
		f->src[n] = find_source(f, operand_input(f, i));
		if (!f->src[n])
			break;
		i = next_operand(f, i + 1);
	}
	f->from[n] = i;
	f->n = netinc_order_pass(f->first, weight, n, i == f->part.to);
	f->next = f->from[f->n];
}

/* What a node below has folded. */
static void load_accumulators(struct fold *f, u8 *to)
{
	const struct netinc_pay *pay = operand_input(f, f->next);

	if (pay->flags & INC_F_ZERO)
		memset(to, 0, f->len * f->wider);
	else
		copy_or_clear(pay->obj, netinc_pay_off(pay) + f->off * f->wider, to,
			      f->len * f->wider);
	f->next = next_operand(f, f->next + 1);
}

/*
 * The next operand comes on the stack. True: it is the only one of the block, and the result is
 * made.
 */
static bool push_operand(struct fold *f)
{
	u32 weight = operand_weight(f, f->next), n = 1;
	u8 *to = operand_memory(f, f->order.n);

	if (netinc_assert(f->order.n < f->operands)) {
		clear_result(f);
		return true;
	}
	if (has_accumulators(f, f->next)) {
		load_accumulators(f, to);
	} else {
		gather_sources(f, weight);
		n = f->n;
		if (!f->first && f->next == f->part.to) {
			run_pass(f, f->dst, f->src, n, last_flags(f), false);
			return true;
		}
		run_pass(f, to, f->src, n, NETINC_FOLD_UNROUNDED, false);
	}
	netinc_order_push(&f->order, n * weight);
	f->first += n * weight;
	return false;
}

/* The two operands on top become one. @last: there is no other, and it needs no rounding. */
static void join_operands(struct fold *f, bool last)
{
	u32 top = f->order.n - 1;
	const void *src[2] = { operand_memory(f, top - 1), operand_memory(f, top) };

	if (last)
		run_pass(f, operand_memory(f, 0), src, 2, last_flags(f), false);
	else
		run_pass(f, operand_memory(f, top - 1), src, 2, NETINC_FOLD_UNROUNDED, true);
	netinc_order_join(&f->order);
}

/* Operands come on the stack, until one of all is left. */
static void fold_operands(struct fold *f)
{
	const void *src[1] = { operand_memory(f, 0) };
	bool last;

	do {
		if (push_operand(f))
			return;
		last = f->next == f->part.to;
		while (f->order.n > 1 && (last || netinc_order_halves(&f->order)))
			join_operands(f, last && f->order.n == 2 && f->wider == 1);
	} while (!last);
	if (src[0] != f->dst)
		run_pass(f, f->dst, src, 1, NETINC_FOLD_ACCUMULATORS, false);
}

static void fold_chunk(struct fold *f)
{
	f->order.n = 0;
	f->first = 0;
	f->next = next_operand(f, f->part.from);
	if (WARN_ON_ONCE(f->next == f->part.to)) {
		clear_result(f);
		return;
	}
	fold_operands(f);
}

/* Operands that have elements in the slot. */
static u32 count_operands(const struct fold *f)
{
	u32 n = 0, i;

	for (i = f->part.from; i < f->part.to; i++)
		n += !!(operand_input(f, i)->flags & INC_F_PAYLOAD);
	return n;
}

/* Elements of as many bytes are folded at a time as the scratch memory has room for. */
static void divide_scratch(struct fold *f)
{
	const struct netinc_group *grp = &f->g->grp;
	u32 room;

	f->wider = f->kernel->acc_size / f->kernel->elem_size;
	f->operands = min((u32)(f->part.to - f->part.from), (u32)ilog2(grp->cfg.size) + 2);
	room = min(MAX_CHUNK, round_down(SCRATCH / (MAX_BOUNCE + f->operands * f->wider), 64));
	f->chunk = room - room % f->kernel->elem_size;
}

static void fold_begin(struct fold *f, struct netinc_node_group *g, const struct netinc_slot *slot,
		       u32 part, const struct netinc_reduce *kernel)
{
	u32 n;

	f->g = g;
	f->slot = slot;
	f->kernel = kernel;
	f->part = netinc_agg_part(&g->grp.agg, part);
	n = f->part.to - f->part.from;
	f->weighted = g->grp.height && (part != NETINC_WHOLE || g->grp.agg.nparts == 1) &&
		      count_operands(f) == n;
	/* an average is of those who are in it */
	f->ranks = slot->flags & INC_F_PARTIAL ? count_operands(f) : g->grp.cfg.size;
	divide_scratch(f);
}

static void fold_chunks(struct fold *f, void *dst)
{
	const struct netinc_slot *slot = f->slot;

	for (f->off = 0; f->off < slot->len; f->off += f->len) {
		f->len = min(slot->len - f->off, f->chunk);
		f->dst = dst + (goes_up(f) ? f->off * slot->wider : f->off);
		fold_chunk(f);
	}
}

void netinc_fold_elements(struct netinc_node_group *g, const struct netinc_slot *slot, u32 part,
			  void *dst)
{
	const struct netinc_reduce *kernel =
		netinc_reduce_find(slot->dtype, slot->dop, slot->mode, true);
	struct fold *f;
	u32 n;

	if (netinc_assert(kernel))
		return;
	local_lock_nested_bh(&scratch->lock);
	f = &this_cpu_ptr(scratch)->fold;
	fold_begin(f, g, slot, part, kernel);
	fold_chunks(f, dst);
	n = f->part.to - f->part.from;
	/* what is whole stands in one of a child's parts */
	g->grp.counters[INC_C_FOLD_BYTES] +=
		(u64)(f->weighted ? n : min(n, g->grp.agg.children)) * slot->len;
	local_unlock_nested_bh(&scratch->lock);
	if (g->section.denied)
		netinc_count(g->grp.counters, INC_C_FOLD_GENERIC);
}

int netinc_fold_init(void)
{
	int cpu;

	scratch = alloc_percpu(struct scratch);
	if (!scratch)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		local_lock_init(&per_cpu_ptr(scratch, cpu)->lock);
	return 0;
}

void netinc_fold_fini(void)
{
	free_percpu(scratch);
}
