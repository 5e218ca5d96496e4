// SPDX-License-Identifier: GPL-2.0-only
/* What a seed stands for: operations, who disagrees about them, counts, displacements and input. */
#include "arithmetic.h"
#include "reduce/reduce.h"
#include "sim.h"

static u64 mix(u64 a, u64 b)
{
	u64 z = a + (b + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static bool can_have_counts(u8 coll)
{
	return coll == INC_COLL_REDUCE_SCATTER || coll == INC_COLL_ALLGATHER ||
	       netinc_coll_asks_counts(coll);
}

/* Element counts where they differ from rank to rank. */
static u64 true_count(const struct plan_op *o, u32 i)
{
	u64 x = mix(o->salt, i);

	return x % 4 ? (x >> 8) % (o->count + 1) : 0;
}

/* Shares that the blocks of an operation are divided among. */
static u32 shares(const struct sim *sim, u8 coll)
{
	if (coll == INC_COLL_ALLTOALL)
		return sim->plan.hosts * (sim->plan.hosts - 1);
	return can_have_counts(coll) || netinc_coll_chains(coll) ? sim->plan.hosts : 1;
}

/* Elements of a share: none, few, about a packet's, a part of a window, up to three times that. */
static u64 pick_count(struct sim *sim, const struct plan_op *o)
{
	u32 size = netinc_reduce_elem_size(o->type);
	u64 full = max(sim->plan.block[0] / size, 1u),
	    head = max((sim->plan.block[0] - (u32)sizeof(struct inc_desc)) / size, 1u);
	u64 window = full * max(sim->plan.window / max(shares(sim, o->coll), 1u), 1u);

	switch (sim_below(sim, 8)) {
	case 0:
		return 0;
	case 1:
		return pick(sim, 1, 5);
	case 2:
		return head + pick(sim, 0, 2) - 1;
	case 3:
		return head + full + pick(sim, 0, 2) - 1;
	case 4:
		return window + pick(sim, 0, full);
	default:
		return pick(sim, 1, (one_in(sim, 6) ? 3 : 1) * window);
	}
}

bool plan_op_fits(const struct plan_op *o, u32 block)
{
	const struct netinc_op op = { .coll = o->coll, .type = o->type, .wire = o->type,
				      .op = o->op };

	return netinc_coll_fits(&op, block);
}

/* Blocks of MX may be longer than those of the protocol, some nodes' a bit shorter: refused. */
static bool is_too_long(const struct sim *sim, const struct plan_op *o)
{
	return !plan_op_fits(o, sim->plan.block[0] - INC_BLOCK_ALIGN);
}

/* A pair for which there is a kernel: not WSUM, which is SUM of what hosts have scaled. */
static void pick_reduction(struct sim *sim, struct plan_op *o)
{
	o->mode &= ~INC_MODE_SATURATE;
	do {
		o->type = pick(sim, 1, INC_TYPE_MAX);
		o->op = pick(sim, 1, __INC_OP_MAX - 1);
	} while (!netinc_reduce_find(o->type, o->op, 0, false) ||
		 (o->op == INC_OP_AVG && netinc_coll_chains(o->coll)) || is_too_long(sim, o));
	if (netinc_reduce_find(o->type, o->op, INC_MODE_SATURATE, false) && one_in(sim, 2))
		o->mode |= INC_MODE_SATURATE;
}

static void pick_type(struct sim *sim, struct plan_op *o)
{
	if (netinc_coll_reduces(o->coll))
		pick_reduction(sim, o);
	else
		o->type = pick(sim, 1, INC_TYPE_MAX);
}

static void pick_op(struct sim *sim, struct plan_op *o)
{
	memset(o, 0, sizeof(*o));
	o->coll = one_in(sim, 4) ? INC_COLL_ALLREDUCE :
				   pick(sim, INC_COLL_BARRIER, INC_COLL_EXSCAN);
	if (o->coll == INC_COLL_BARRIER)
		return;
	pick_type(sim, o);
	if (netinc_coll_rooted(o->coll))
		o->root = sim_below(sim, sim->plan.hosts);
	if (can_have_counts(o->coll) && one_in(sim, 2))
		o->mode |= INC_MODE_COUNTS;
	o->in_place = one_in(sim, 2);
	o->displaced = one_in(sim, 2);
	o->count = pick_count(sim, o);
	o->salt = sim_random(sim);
}

static void other_coll(struct sim *sim, struct plan_op *o)
{
	u8 coll = o->coll;

	do
		pick_op(sim, o);
	while (o->coll == coll);
}

static bool other_type(struct sim *sim, struct plan_op *o)
{
	struct plan_op was = *o;

	if (o->coll == INC_COLL_BARRIER)
		return false;
	do
		pick_type(sim, o);
	while (o->type == was.type && o->op == was.op);
	return true;
}

static bool other_count(struct sim *sim, struct plan_op *o)
{
	u64 count = o->count;

	if (o->coll == INC_COLL_BARRIER || (o->mode & INC_MODE_COUNTS))
		return false;
	while (o->count == count)
		o->count = pick_count(sim, o);
	return true;
}

/* Makes the odd one's descriptor another one; false: this way does not go. */
static bool differ(struct sim *sim, struct plan_step *s)
{
	struct plan_op *o = &s->odd;

	switch (sim_below(sim, 6)) {
	case 0:
		other_coll(sim, o);
		return true;
	case 1:
		return other_type(sim, o);
	case 2:
		return other_count(sim, o);
	case 3:
		if (netinc_coll_rooted(o->coll))
			o->root = (o->root + 1 + sim_below(sim, sim->plan.hosts - 1)) %
				  sim->plan.hosts;
		return netinc_coll_rooted(o->coll);
	case 4:
		if (can_have_counts(o->coll))
			o->mode ^= INC_MODE_COUNTS;
		return can_have_counts(o->coll);
	default:
		if (!(o->mode & INC_MODE_COUNTS) || netinc_coll_asks_counts(o->coll))
			return false;
		s->odd_count = sim_below(sim, sim->plan.hosts);
		s->odd_less = (s->odd_count + 1) % sim->plan.hosts;
		return true;
	}
}

/* A count that the odd one and one other rank know. */
static u32 contradicted(struct sim *sim, const struct plan_step *s)
{
	u32 n = sim->plan.hosts, peer = (s->odd_rank + 1 + sim_below(sim, n - 1)) % n;

	if (s->op.coll == INC_COLL_ALLTOALL)
		return one_in(sim, 2) ? s->odd_rank * n + peer : peer * n + s->odd_rank;
	return s->odd_rank == s->op.root ? peer : s->odd_rank;
}

static void pick_disagreement(struct sim *sim, struct plan_step *s)
{
	s->odd_rank = sim_below(sim, sim->plan.hosts);
	if (plan_asks_counts(&s->op) && one_in(sim, 2)) {
		s->disagree = CONTRADICT;
		s->odd_count = contradicted(sim, s);
		return;
	}
	s->disagree = DIFFER;
	while (!differ(sim, s))
		;
}

void plan_steps(struct sim *sim, struct plan_step *steps, u32 n, u32 odd)
{
	u32 i;

	for (i = 0; i < n; i++) {
		pick_op(sim, &steps[i].op);
		steps[i].odd = steps[i].op;
		steps[i].odd_count = NO_COUNT;
		steps[i].odd_less = NO_COUNT;
		if (odd && sim_below(sim, n) < odd)
			pick_disagreement(sim, &steps[i]);
	}
}

static void print_op(const struct plan_op *o)
{
	printf(" %s", netinc_coll_name(o->coll));
	if (o->type)
		printf(" %s %s%llu", netinc_type_name(o->type), plan_has_counts(o) ? "<=" : "",
		       (unsigned long long)o->count);
	if (o->op)
		printf(" %s%s", netinc_op_name(o->op),
		       o->mode & INC_MODE_SATURATE ? " saturating" : "");
	if (netinc_coll_rooted(o->coll))
		printf(" root %u", o->root);
	printf("%s%s", o->in_place ? " in place" : "",
	       plan_has_counts(o) && o->displaced ? " displaced" : "");
}

void plan_print_step(const struct plan_step *s)
{
	printf("\n#  ");
	print_op(&s->op);
	if (s->disagree == DIFFER) {
		printf("; rank %u:", s->odd_rank);
		print_op(&s->odd);
	}
	if (s->disagree && s->odd_count != NO_COUNT)
		printf("; rank %u has count %u one higher", s->odd_rank, s->odd_count);
}

static bool may_be_in_place(const struct plan_op *o, u32 rank)
{
	switch (o->coll) {
	case INC_COLL_ALLREDUCE:
	case INC_COLL_REDUCE_SCATTER:
	case INC_COLL_ALLGATHER:
	case INC_COLL_SCAN:
	case INC_COLL_EXSCAN:
		return true;
	case INC_COLL_REDUCE:
	case INC_COLL_BROADCAST:
	case INC_COLL_GATHER:
	case INC_COLL_SCATTER:
		return rank == o->root;
	default:
		return false;
	}
}

struct plan_op plan_op_of(const struct sim *sim, u32 idx, u32 rank)
{
	const struct plan_step *s = sim_step_of(sim, idx);
	struct plan_op o = s->disagree == DIFFER && rank == s->odd_rank ? s->odd : s->op;

	if (!may_be_in_place(&o, rank))
		o.in_place = false;
	return o;
}

bool plan_has_counts(const struct plan_op *o)
{
	return o->mode & INC_MODE_COUNTS;
}

bool plan_asks_counts(const struct plan_op *o)
{
	return plan_has_counts(o) && netinc_coll_asks_counts(o->coll);
}

u64 plan_count(const struct sim *sim, u32 idx, u32 rank, u32 i)
{
	const struct plan_step *s = sim_step_of(sim, idx);
	struct plan_op o = plan_op_of(sim, idx, rank);
	u64 n;

	if (!plan_has_counts(&o))
		return o.count;
	n = true_count(&o, i);
	if (s->disagree && rank == s->odd_rank)
		n += (i == s->odd_count) - (i == s->odd_less && n);
	return n;
}

/* One share only, the rank's own */
static void lay_one(struct layout *l, u32 rank, u64 count)
{
	memset(l, 0, sizeof(*l));
	l->at[rank] = 0;
	l->length = count;
}

/* What a rank must not write to and still has. */
static void lay_nothing(struct layout *l)
{
	memset(l, 0, sizeof(*l));
	l->length = 3;
}

/* A share per rank: one after the other, or anywhere. */
static void lay_all(const struct sim *sim, u32 idx, u32 rank, bool send, struct layout *l)
{
	struct plan_op o = plan_op_of(sim, idx, rank);
	u32 n = sim->plan.hosts, i, peer;
	u64 x = mix(o.salt, 10000 + 2 * rank + send), at = 0;
	bool anywhere = plan_has_counts(&o) && o.displaced && o.coll != INC_COLL_REDUCE_SCATTER;

	for (i = 0; i < n; i++) {
		peer = anywhere ? (x + n - i) % n : i;
		if (anywhere)
			at += mix(x, i) % 4;
		l->at[peer] = at;
		if (o.coll == INC_COLL_ALLTOALL)
			peer = send ? rank * n + peer : peer * n + rank;
		at += plan_count(sim, idx, rank, peer);
	}
	l->length = at;
}

void plan_layouts(const struct sim *sim, u32 idx, u32 rank, struct layout *send,
		  struct layout *recv)
{
	struct plan_op o = plan_op_of(sim, idx, rank);
	bool root = rank == o.root;

	lay_one(send, rank, o.count);
	lay_one(recv, rank, o.count);
	switch (o.coll) {
	case INC_COLL_BARRIER:
		lay_nothing(send);
		lay_nothing(recv);
		break;
	case INC_COLL_BROADCAST:
		lay_nothing(root ? recv : send);
		break;
	case INC_COLL_REDUCE_SCATTER:
		lay_all(sim, idx, rank, true, send);
		lay_one(recv, rank, plan_count(sim, idx, rank, rank));
		break;
	case INC_COLL_ALLGATHER:
	case INC_COLL_GATHER:
		lay_one(send, rank, plan_count(sim, idx, rank, rank));
		lay_nothing(recv);
		if (root || o.coll == INC_COLL_ALLGATHER)
			lay_all(sim, idx, rank, false, recv);
		if (o.in_place)
			*send = *recv;
		break;
	case INC_COLL_SCATTER:
		lay_nothing(send);
		if (root)
			lay_all(sim, idx, rank, true, send);
		lay_one(recv, rank, plan_count(sim, idx, rank, rank));
		break;
	case INC_COLL_ALLTOALL:
		lay_all(sim, idx, rank, true, send);
		lay_all(sim, idx, rank, false, recv);
		break;
	default:
		break;
	}
}

/* Floats of very different size: another order of additions gives other bits; inf, 0 at times. */
static u32 float_bits(u64 r)
{
	u32 sign = (u32)(r >> 63) << 31;

	if (!(r & 0x3ff))
		return sign | ((r & 0xffff) ? 0 : 0x7f800000u);
	return sign | (u32)(110 + (r >> 16) % 30) << 23 | (u32)(r >> 32 & 0x7fffff);
}

static u64 double_bits(u64 r)
{
	u64 sign = r >> 63 << 63;

	if (!(r & 0x3ff))
		return sign | ((r & 0xffff) ? 0 : 0x7ff0000000000000ull);
	return sign | (u64)(1000 + (r >> 2) % 60) << 52 | (r << 7 >> 12);
}

/* Of @exp and @man bits: mostly in the middle of the range, so that sums round; NaNs at times. */
static u32 small_bits(u64 r, u32 exp, u32 man)
{
	u32 sign = (u32)(r >> 63) << (exp + man), spread = exp > 4 ? 8 : 4;

	if (!(r & 0x1f))
		return sign | (u32)(r >> 8 & ((1u << (exp + man)) - 1));
	return sign | ((1u << (exp - 1)) - 1 - spread / 2 + (u32)(r >> 8) % spread) << man |
	       (u32)(r >> 32 & ((1u << man) - 1));
}

static u64 number_bits(u8 type, u64 r)
{
	switch (type) {
	case INC_TYPE_F16:
		return small_bits(r, 5, 10);
	case INC_TYPE_BF16:
		return small_bits(r, 8, 7);
	case INC_TYPE_F8E4M3:
		return small_bits(r, 4, 3);
	case INC_TYPE_F8E5M2:
		return small_bits(r, 5, 2);
	case INC_TYPE_F32:
		return float_bits(r);
	case INC_TYPE_F64:
		return double_bits(r);
	case INC_TYPE_BOOL:
		return r >> 60 ? r >> 32 & 1 : r >> 24 & 0xff;
	default:
		return r >> (64 - 8 * min(netinc_reduce_elem_size(type), 8u));
	}
}

/* What an element consists of, one after the other in memory: numbers of these types. */
static void parts_of(u8 type, u8 part[2])
{
	switch (type) {
	case INC_TYPE_C32:
		part[0] = INC_TYPE_F32;
		part[1] = INC_TYPE_F32;
		break;
	case INC_TYPE_C64:
		part[0] = INC_TYPE_F64;
		part[1] = INC_TYPE_F64;
		break;
	case INC_TYPE_I32_I32:
		part[0] = INC_TYPE_I32;
		part[1] = INC_TYPE_I32;
		break;
	case INC_TYPE_F32_I32:
		part[0] = INC_TYPE_F32;
		part[1] = INC_TYPE_I32;
		break;
	case INC_TYPE_I64_I64:
		part[0] = INC_TYPE_I64;
		part[1] = INC_TYPE_I64;
		break;
	case INC_TYPE_F64_I64:
		part[0] = INC_TYPE_F64;
		part[1] = INC_TYPE_I64;
		break;
	default:
		part[0] = type;
		part[1] = INC_TYPE_NONE;
		break;
	}
}

/* A pair's value is one of few: the index decides; NaNs at times, no -0, which is the same as 0. */
static u64 value_bits(u8 type, u64 r)
{
	static const u64 doubles[8] = {
		0, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000, 0xfff0000000000000,
		0x4000000000000000, 0x7ff8000000000000, 0xfff0000000000001,
	};
	static const u32 floats[8] = {
		0, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x40000000, 0x7fc00000,
		0xff800001,
	};
	u32 i = (u32)(r >> 60) % (r >> 32 & 0xf ? 6 : 8);

	if (type == INC_TYPE_F64)
		return doubles[i];
	return type == INC_TYPE_F32 ? floats[i] : (u64)((s64)i - 3);
}

static bool is_pair(u8 type)
{
	return type == INC_TYPE_I32_I32 || type == INC_TYPE_F32_I32 || type == INC_TYPE_I64_I64 ||
	       type == INC_TYPE_F64_I64;
}

/* All types: numbers least significant byte first. */
static void fill(u64 x, u8 type, u8 *buf, u64 n)
{
	u32 size = netinc_reduce_elem_size(type);
	u8 part[2];
	u32 parts, piece;
	__le64 v;
	u64 i, r;

	if (arithmetic_is_block(type)) {
		for (i = 0; i < n; i++)
			arithmetic_input(type, (x | 1) * (i + 1), buf + size * i);
		return;
	}
	parts_of(type, part);
	parts = part[1] ? 2 : 1;
	piece = netinc_reduce_elem_size(type) / parts;
	x ^= x >> 31;
	x *= 0xbf58476d1ce4e5b9ull;
	x |= 1;
	for (i = 0; i < n * parts; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		r = x * 0x2545f4914f6cdd1dull;
		v = cpu_to_le64(is_pair(type) && i % 2 == 0 ? value_bits(part[0], r) :
							      number_bits(part[i % parts], r));
		memcpy(buf + piece * i, &v, piece);
	}
}

/*
 * Of one operation in four some runs are zeros, of which some are as long as blocks, or nearly all
 * is.
 */
static void clear_runs(u64 x, u8 *in, u64 bytes, u32 block)
{
	u64 at, run, most;

	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
	if (x >> 62)
		return;
	most = x >> 60 & 1 ? 2 * block : 64 * block;
	for (at = 0; at < bytes; at += run) {
		x = (x ^ x >> 31) * 0x94d049bb133111ebull + 1;
		run = 1 + (x >> 16) % most;
		run = run < bytes - at ? run : bytes - at;
		if (x >> 63)
			memset(in + at, 0, run);
	}
}

const u8 *plan_input(struct sim *sim, u32 idx, u32 rank)
{
	u8 type = plan_op_of(sim, idx, rank).type, **in = &sim->outcome[idx].input[rank];
	u64 x = sim->seed * 0x9e3779b97f4a7c15ull +
		((u64)sim->round << 40 | (u64)idx << 20 | rank) + 1;
	struct layout send, recv;

	if (*in)
		return *in;
	plan_layouts(sim, idx, rank, &send, &recv);
	*in = malloc(send.length * netinc_reduce_elem_size(type) + 1);
	if (type)
		fill(x, type, *in, send.length);
	clear_runs(x, *in, send.length * netinc_reduce_elem_size(type), sim->plan.block[0]);
	return *in;
}

u64 plan_blocks(const struct sim *sim)
{
	u64 n = 0, rounds, all = sim->plan.hosts * sim->plan.hosts, size;
	/* accumulators may be so much wider, and blocks shorter */
	u32 wider = sim->plan.tree.nodes ? 6 : 1;
	const struct plan_op *o;
	u32 i;

	for (i = 0; i < 2 * sim->plan.round[sim->round].nops; i++) {
		o = i % 2 ? &sim_step_of(sim, i / 2)->odd : &sim_step_of(sim, i / 2)->op;
		size = netinc_reduce_elem_size(o->type);
		rounds = 2 + wider * o->count * size / sim->plan.block[0];
		if (arithmetic_is_block(o->type))
			rounds = 2 + o->count;
		n += rounds * (o->coll == INC_COLL_ALLTOALL ? all : shares(sim, o->coll));
		if (plan_asks_counts(o))
			n += all * 2;
	}
	return n;
}
