// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arithmetic of single elements: with the host's float and double, exact scaling and nearbyint(),
 * so that it shares no idea with the reduction kernels it is compared with. Needs
 * -ffp-contract=off.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"

enum kind { NONE, SIGNED, UNSIGNED, BOOLEAN, FLOAT, COMPLEX, PAIR, BLOCK };

/* @part: type of the value in a pair and of the parts of a complex number. */
static const struct {
	enum kind kind;
	unsigned int size;
	enum inc_type part, index;
} types[__INC_TYPE_MAX] = {
	[INC_TYPE_I8] = { SIGNED, 1 },
	[INC_TYPE_I16] = { SIGNED, 2 },
	[INC_TYPE_I32] = { SIGNED, 4 },
	[INC_TYPE_I64] = { SIGNED, 8 },
	[INC_TYPE_U8] = { UNSIGNED, 1 },
	[INC_TYPE_U16] = { UNSIGNED, 2 },
	[INC_TYPE_U32] = { UNSIGNED, 4 },
	[INC_TYPE_U64] = { UNSIGNED, 8 },
	[INC_TYPE_F16] = { FLOAT, 2 },
	[INC_TYPE_BF16] = { FLOAT, 2 },
	[INC_TYPE_F32] = { FLOAT, 4 },
	[INC_TYPE_F64] = { FLOAT, 8 },
	[INC_TYPE_F8E4M3] = { FLOAT, 1 },
	[INC_TYPE_F8E5M2] = { FLOAT, 1 },
	[INC_TYPE_BOOL] = { BOOLEAN, 1 },
	[INC_TYPE_C32] = { COMPLEX, 8, INC_TYPE_F32 },
	[INC_TYPE_C64] = { COMPLEX, 16, INC_TYPE_F64 },
	[INC_TYPE_I32_I32] = { PAIR, 8, INC_TYPE_I32, INC_TYPE_I32 },
	[INC_TYPE_F32_I32] = { PAIR, 8, INC_TYPE_F32, INC_TYPE_I32 },
	[INC_TYPE_I64_I64] = { PAIR, 16, INC_TYPE_I64, INC_TYPE_I64 },
	[INC_TYPE_F64_I64] = { PAIR, 16, INC_TYPE_F64, INC_TYPE_I64 },
	[INC_TYPE_MXF8E4M3] = { BLOCK, 33 },
	[INC_TYPE_MXF8E5M2] = { BLOCK, 33 },
	[INC_TYPE_MXF4E2M1] = { BLOCK, 17 },
	[INC_TYPE_MXI8] = { BLOCK, 33 },
};

/* Bits of exponent and mantissa; whether there are infinities; the canonical NaN. */
struct format {
	int exp, man;
	bool inf;
	uint64_t nan;
};

static const struct format formats[__INC_TYPE_MAX] = {
	[INC_TYPE_F16] = { 5, 10, true, 0x7e00 },
	[INC_TYPE_BF16] = { 8, 7, true, 0x7fc0 },
	[INC_TYPE_F32] = { 8, 23, true, 0x7fc00000 },
	[INC_TYPE_F64] = { 11, 52, true, 0x7ff8000000000000 },
	[INC_TYPE_F8E4M3] = { 4, 3, false, 0x7f },
	[INC_TYPE_F8E5M2] = { 5, 2, true, 0x7e },
};

/* Integers are in i, of unsigned types as their bits; index is that of a pair. */
struct number {
	double f, im;
	int64_t i, index;
};

bool is_float(enum inc_type type)
{
	return types[type].kind == FLOAT;
}

bool is_block(enum inc_type type)
{
	return types[type].kind == BLOCK;
}

bool saturates(enum inc_type type)
{
	return (types[type].kind == SIGNED || types[type].kind == UNSIGNED) &&
	       types[type].size <= 2;
}

/* Whether the operation makes sense for the type. */
bool exists(enum inc_type type, enum inc_op op)
{
	enum kind kind = types[type].kind;
	bool integer = kind == SIGNED || kind == UNSIGNED;

	switch (op) {
	case INC_OP_SUM:
	case INC_OP_AVG:
		return integer || kind == FLOAT || kind == COMPLEX || kind == BLOCK;
	case INC_OP_PROD:
		return integer || kind == FLOAT || kind == COMPLEX;
	case INC_OP_WSUM:
		return kind == FLOAT || kind == COMPLEX;
	case INC_OP_MIN:
	case INC_OP_MAX:
		return integer || kind == FLOAT || kind == BLOCK;
	case INC_OP_BAND:
	case INC_OP_BOR:
	case INC_OP_BXOR:
		return integer;
	case INC_OP_LAND:
	case INC_OP_LOR:
	case INC_OP_LXOR:
		return integer || kind == BOOLEAN;
	case INC_OP_MINLOC:
	case INC_OP_MAXLOC:
		return kind == PAIR;
	default:
		return false;
	}
}

/* ---- Elements in memory -------------------------------------------------- */

/* Little-endian, whatever this machine is. */
static uint64_t get_bits(const void *from, unsigned int size)
{
	const uint8_t *bytes = from;
	uint64_t x = 0;

	while (size--)
		x = x << 8 | bytes[size];
	return x;
}

static void put_bits(void *to, unsigned int size, uint64_t x)
{
	uint8_t *bytes = to;

	for (; size--; x >>= 8)
		*bytes++ = x;
}

static double decode_wide(enum inc_type type, uint64_t bits)
{
	uint32_t bits4 = bits;
	double x;
	float x4;

	memcpy(&x, &bits, 8);
	memcpy(&x4, &bits4, 4);
	return type == INC_TYPE_F64 ? x : (double)x4;
}

static uint64_t encode_wide(enum inc_type type, double x)
{
	float x4 = (float)x;
	uint32_t bits4;
	uint64_t bits;

	memcpy(&bits, &x, 8);
	memcpy(&bits4, &x4, 4);
	return isnan(x) ? formats[type].nan : type == INC_TYPE_F64 ? bits : bits4;
}

static double decode_small(enum inc_type type, uint64_t bits)
{
	const struct format *f = &formats[type];
	int bias = (1 << (f->exp - 1)) - 1, top = (1 << f->exp) - 1, e = bits >> f->man & top;
	uint64_t man = bits & ((1ULL << f->man) - 1), all = (1ULL << f->man) - 1;
	bool negative = bits >> (f->exp + f->man) & 1;
	double x;

	if (e == top && (f->inf ? man != 0 : man == all))
		return NAN;
	if (e == top && f->inf)
		x = INFINITY;
	else if (e)
		x = ldexp((double)(man + all + 1), e - bias - f->man);
	else
		x = ldexp((double)man, 1 - bias - f->man);
	return negative ? -x : x;
}

/*
 * To the nearest, ties to even: x is scaled so that the last bit of the mantissa is 1, and rounded
 * to a whole number, whose carry goes into the exponent by itself.
 */
static uint64_t encode_small(enum inc_type type, double x)
{
	const struct format *f = &formats[type];
	int bias = (1 << (f->exp - 1)) - 1, e;
	uint64_t sign = (signbit(x) ? 1ULL : 0) << (f->exp + f->man);
	uint64_t inf = ((1ULL << f->exp) - 1) << f->man, bits;

	if (isnan(x) || (isinf(x) && !f->inf))
		return f->nan;
	if (isinf(x))
		return sign | inf;
	e = x == 0 ? 1 - bias : ilogb(x);
	if (e < 1 - bias)
		e = 1 - bias;
	if (e > bias + 1)
		return f->inf ? sign | inf : f->nan;
	bits = ((uint64_t)(e - (1 - bias)) << f->man) +
	       (uint64_t)nearbyint(fabs(ldexp(x, f->man - e)));
	if (!f->inf)
		return bits >= f->nan ? f->nan : sign | bits;
	return sign | (bits < inf ? bits : inf);
}

static double decode_float(enum inc_type type, uint64_t bits)
{
	return types[type].size >= 4 ? decode_wide(type, bits) : decode_small(type, bits);
}

static uint64_t encode_float(enum inc_type type, double x)
{
	return types[type].size >= 4 ? encode_wide(type, x) : encode_small(type, x);
}

static double round_to(enum inc_type type, double x)
{
	return decode_float(type, encode_float(type, x));
}

static int64_t extend_sign(enum inc_type type, uint64_t bits)
{
	unsigned int unused = 64 - 8 * types[type].size;

	if (types[type].kind == SIGNED)
		return (int64_t)(bits << unused) >> unused;
	return (int64_t)(bits << unused >> unused);
}

static void load_part(enum inc_type type, const void *from, double *f, int64_t *i)
{
	uint64_t bits = get_bits(from, types[type].size);

	if (types[type].kind == FLOAT)
		*f = decode_float(type, bits);
	else
		*i = extend_sign(type, bits);
}

static void store_part(enum inc_type type, void *to, double f, int64_t i)
{
	put_bits(to, types[type].size,
		 types[type].kind == FLOAT ? encode_float(type, f) : (uint64_t)i);
}

static struct number load_number(enum inc_type type, const uint8_t *from)
{
	enum inc_type part = types[type].part ? types[type].part : type;
	struct number x = { 0 };
	double unused;

	load_part(part, from, &x.f, &x.i);
	if (types[type].kind == COMPLEX)
		load_part(part, from + types[part].size, &x.im, &x.i);
	else if (types[type].kind == PAIR)
		load_part(types[type].index, from + types[part].size, &unused, &x.index);
	return x;
}

static void store_number(enum inc_type type, uint8_t *to, struct number x)
{
	enum inc_type part = types[type].part ? types[type].part : type;

	store_part(part, to, x.f, x.i);
	if (types[type].kind == COMPLEX)
		store_part(part, to + types[part].size, x.im, 0);
	else if (types[type].kind == PAIR)
		store_part(types[type].index, to + types[part].size, 0, x.index);
}

/* ---- Operations ---------------------------------------------------------- */

/* One step of an accumulator, f32 for all but f64 and c64. */
static double one_step(bool wide, char what, double a, double b)
{
	float x = (float)a, y = (float)b;

	switch (what) {
	case '+':
		return wide ? a + b : (double)(x + y);
	case '-':
		return wide ? a - b : (double)(x - y);
	case '*':
		return wide ? a * b : (double)(x * y);
	default:
		return wide ? a / b : (double)(x / y);
	}
}

/* minimum and maximum of IEEE 754-2019 */
static double extreme_of(double a, double b, bool max)
{
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == b)
		return signbit(a) != max ? a : b;
	return (a < b) != max ? a : b;
}

static struct number fold_complex(bool wide, enum inc_op op, struct number a, struct number b)
{
	if (op != INC_OP_PROD)
		return (struct number){ .f = one_step(wide, '+', a.f, b.f),
					.im = one_step(wide, '+', a.im, b.im) };
	return (struct number){
		.f = one_step(wide, '-', one_step(wide, '*', a.f, b.f),
			      one_step(wide, '*', a.im, b.im)),
		.im = one_step(wide, '+', one_step(wide, '*', a.f, b.im),
			       one_step(wide, '*', a.im, b.f)),
	};
}

static struct number fold_float(bool wide, enum inc_op op, struct number a, struct number b)
{
	if (op == INC_OP_MIN || op == INC_OP_MAX)
		return (struct number) { .f = extreme_of(a.f, b.f, op == INC_OP_MAX) };
	return (struct number) { .f = one_step(wide, op == INC_OP_PROD ? '*' : '+', a.f, b.f) };
}

static int64_t fold_int(bool is_signed, enum inc_op op, int64_t a, int64_t b)
{
	bool less = is_signed ? a < b : (uint64_t)a < (uint64_t)b;

	switch (op) {
	case INC_OP_PROD:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case INC_OP_MIN:
		return less ? a : b;
	case INC_OP_MAX:
		return less ? b : a;
	case INC_OP_BAND:
		return a & b;
	case INC_OP_BOR:
		return a | b;
	case INC_OP_BXOR:
		return a ^ b;
	case INC_OP_LAND:
		return a && b;
	case INC_OP_LOR:
		return a || b;
	case INC_OP_LXOR:
		return !a != !b;
	default:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	}
}

/* NaN before all others, then the extreme value, then the lowest index. */
static bool comes_before(enum inc_type value, enum inc_op op, const struct number *a,
			 const struct number *b)
{
	bool nan_a = is_float(value) && isnan(a->f), nan_b = is_float(value) && isnan(b->f);
	bool less, equal;

	if (nan_a != nan_b)
		return nan_a;
	less = is_float(value) ? a->f < b->f : a->i < b->i;
	equal = nan_a || (is_float(value) ? a->f == b->f : a->i == b->i);
	if (equal)
		return a->index <= b->index;
	return less == (op == INC_OP_MINLOC);
}

static struct number fold_two(const struct plan *plan, struct number a, struct number b)
{
	enum inc_type type = plan->wire;

	switch (types[type].kind) {
	case FLOAT:
		return fold_float(type == INC_TYPE_F64, plan->op, a, b);
	case COMPLEX:
		return fold_complex(type == INC_TYPE_C64, plan->op, a, b);
	case PAIR:
		return comes_before(types[type].part, plan->op, &a, &b) ? a : b;
	default:
		/* Kept within the type, but for saturating sums: their exact value is needed. */
		a.i = fold_int(types[type].kind == SIGNED, plan->op, a.i, b.i);
		if (!(plan->mode & INC_MODE_SATURATE))
			a.i = extend_sign(type, (uint64_t)a.i);
		return a;
	}
}

static int64_t clamp_to(enum inc_type type, int64_t x)
{
	int bits = 8 * types[type].size - (types[type].kind == SIGNED);
	int64_t max = (1LL << bits) - 1, min = types[type].kind == SIGNED ? -max - 1 : 0;

	return x < min ? min : x > max ? max : x;
}

static struct number average_of(const struct plan *plan, struct number x)
{
	bool wide = plan->wire == INC_TYPE_F64 || plan->wire == INC_TYPE_C64;

	x.f = one_step(wide, '/', x.f, plan->ranks);
	x.im = one_step(wide, '/', x.im, plan->ranks);
	if (types[plan->wire].kind == SIGNED)
		x.i /= plan->ranks;
	else
		x.i = (int64_t)((uint64_t)x.i / plan->ranks);
	return x;
}

/* What a rank's element is when it is folded: weighted, and as the wire has it. */
static struct number contribution_of(const struct plan *plan, const uint8_t *elem, uint32_t rank)
{
	bool wide = plan->type == INC_TYPE_F64 || plan->type == INC_TYPE_C64;
	struct number x = load_number(plan->type, elem);

	if (plan->op == INC_OP_WSUM) {
		x.f = one_step(wide, '*', x.f, plan->weights[rank]);
		x.im = one_step(wide, '*', x.im, plan->weights[rank]);
	}
	if (is_float(plan->wire))
		x.f = round_to(plan->wire, x.f);
	if (plan->op == INC_OP_LAND || plan->op == INC_OP_LOR || plan->op == INC_OP_LXOR)
		x.i = !!x.i;
	return x;
}

/*
 * @n operands along one binary tree, which is cut at the largest power of two below its size: the
 * order of every fold.
 */
static struct number fold_pairs(const struct plan *plan, const struct number *x, uint32_t n)
{
	uint32_t half = 1;

	if (n == 1)
		return *x;
	while (2 * half < n)
		half *= 2;
	return fold_two(plan, fold_pairs(plan, x, half), fold_pairs(plan, x + half, n - half));
}

/* Ranks of one node of a tree: @n from @first on, if @whole; they are all that is below it. */
struct range {
	uint32_t first, n;
	bool whole;
};

/* Is that a node of the binary tree over all ranks? */
static bool is_subtree(const struct range *r, uint32_t ranks)
{
	uint32_t size = 1;

	while (size < r->n)
		size *= 2;
	return r->whole && r->first % size == 0 &&
	       (size == r->n || r->first + r->n == ranks);
}

/* What stands in @at up to a closing bracket or the end: are all nodes such nodes? */
static bool is_canonical(const char **at, uint32_t ranks, struct range *all)
{
	struct range next;
	bool good = true;

	*all = (struct range){ .whole = true };
	for (bool first = true; first || *(*at)++ == ','; first = false) {
		if (**at == '(') {
			++*at;
			good = is_canonical(at, ranks, &next) && good;
			good = good && is_subtree(&next, ranks);
		} else {
			next = (struct range){ (uint32_t)strtoul(*at, (char **)at, 10), 1, true };
		}
		if (first)
			all->first = next.first;
		all->whole = all->whole && next.whole && next.first == all->first + all->n;
		all->n += next.n;
	}
	return good;
}

/* The same, folded: ranks, or what nodes have folded, in the order in which they stand there. */
static struct number fold_children(const struct plan *plan, const struct elem *elems,
				   const char **at)
{
	struct number child[MAX_RANKS];
	uint32_t n = 0, rank;

	do {
		if (**at == '(') {
			++*at;
			child[n] = fold_children(plan, elems, at);
		} else {
			rank = (uint32_t)strtoul(*at, (char **)at, 10);
			child[n] = contribution_of(plan, elems[rank].bytes, rank);
		}
		n++;
	} while (*(*at)++ == ',');
	return fold_pairs(plan, child, n);
}

static struct number fold_ranks(const struct plan *plan, const struct elem *elems, uint32_t n)
{
	struct number rank[MAX_RANKS];

	for (uint32_t r = 0; r < n; r++)
		rank[r] = contribution_of(plan, elems[r].bytes, r);
	return fold_pairs(plan, rank, n);
}

/* elems[r] is rank r's, for the first n ranks. */
void fold(const struct plan *plan, const struct elem *elems, uint32_t n, const char *tree,
	  void *result)
{
	const char *at = tree;
	struct range all;
	struct number x;

	if (is_block(plan->type)) {
		fold_blocks(plan, elems, n, tree, result);
		return;
	}
	if (!tree || is_canonical(&at, n, &all))
		x = fold_ranks(plan, elems, n);
	else
		x = fold_children(plan, elems, &tree);
	if (plan->op == INC_OP_AVG)
		x = average_of(plan, x);
	if (plan->mode & INC_MODE_SATURATE)
		x.i = clamp_to(plan->type, x.i);
	if (is_float(plan->wire))
		x.f = round_to(plan->wire, x.f);
	store_number(plan->type, result, x);
}

/* What becomes of an element that is only moved. */
void travel(const struct plan *plan, void *elem)
{
	struct number x;

	if (plan->wire == plan->type)
		return;
	x = load_number(plan->type, elem);
	x.f = round_to(plan->wire, x.f);
	store_number(plan->type, elem, x);
}

/* ---- What ranks send ----------------------------------------------------- */

/* splitmix64 of both */
uint64_t mix(uint64_t seed, uint64_t x)
{
	uint64_t z = seed + 0x9e3779b97f4a7c15ull * (x + 1);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Zeros, ones, the ends of all ranges, NaNs of both kinds and signs. */
static uint64_t special_float(const struct format *f, uint64_t x)
{
	uint64_t one = ((1ULL << (f->exp - 1)) - 1) << f->man;
	uint64_t inf = ((1ULL << f->exp) - 1) << f->man;
	const uint64_t values[] = {
		0, 1, (1ULL << f->man) - 1, 1ULL << f->man, one, one + 1, one - 1, inf - 1, inf,
		inf + 1, f->nan, f->nan + 1, one + (3ULL << f->man),
		one - ((uint64_t)f->man << f->man), 0, one,
	};

	return values[x >> 1 & 15] | (x & 1) << (f->exp + f->man);
}

/* Most are near 1, so that sums cancel and round, and seldom leave the range. */
static uint64_t random_float(const struct format *f, uint64_t x)
{
	uint64_t e = (1ULL << (f->exp - 1)) - 5 + (x >> 4 & 7),
		 man = x >> 7 & ((1ULL << f->man) - 1);

	switch (x & 15) {
	case 0:
		return x >> 4 | x << 60;
	case 1:
	case 2:
		return special_float(f, x >> 4);
	default:
		return man | e << f->man | x >> 63 << (f->exp + f->man);
	}
}

static uint64_t random_int(unsigned int size, uint64_t x)
{
	uint64_t top = 1ULL << (8 * size - 1);

	switch (x & 15) {
	case 0:
		return top - 1 + (x >> 4 & 1);
	case 1:
		return 0 - (x >> 4 & 3);
	case 2:
	case 3:
		return x >> 4 & 3;
	default:
		return mix(x, 0);
	}
}

/* Few values, so that there are ties; +0 only, of which -0 would be one. */
static void random_pair(enum inc_type type, uint64_t x, uint8_t *elem)
{
	enum inc_type part = types[type].part;
	int64_t value = (int64_t)(x & 7) - 3;
	bool nan = is_float(part) && !(x >> 8 & 31);

	store_part(part, elem, nan ? NAN : (double)value, value);
	store_part(types[type].index, elem + types[part].size, 0, (int64_t)(x >> 16 & 15) - 4);
}

static void random_part(enum inc_type type, uint64_t x, uint8_t *elem)
{
	switch (types[type].kind) {
	case FLOAT:
		put_bits(elem, types[type].size, random_float(&formats[type], x));
		break;
	case BOOLEAN:
		put_bits(elem, 1, x & 14 ? x >> 8 & 1 : x >> 8);
		break;
	default:
		put_bits(elem, types[type].size, random_int(types[type].size, x));
	}
}

/* Element @i of what @from has for @to, or for all of them. */
void input(const struct plan *plan, unsigned int start, uint32_t from, uint32_t to, uint64_t i,
	   void *elem)
{
	uint64_t share = (uint64_t)from << 48 ^ (uint64_t)to << 32;
	uint64_t x = mix(plan->seed + start, share + i);
	enum inc_type part = types[plan->type].part;
	uint8_t *bytes = elem;

	if (plan->zeros &&
	    mix(plan->seed + start, ~(share + i / plan->run)) % 100 < plan->zeros) {
		memset(bytes, 0, types[plan->type].size);
	} else if (is_block(plan->type)) {
		input_block(plan->type, x, bytes);
	} else if (types[plan->type].kind == PAIR) {
		random_pair(plan->type, x, bytes);
	} else if (types[plan->type].kind == COMPLEX) {
		random_part(part, x, bytes);
		random_part(part, mix(x, 1), bytes + types[part].size);
	} else {
		random_part(plan->type, x, bytes);
	}
}
