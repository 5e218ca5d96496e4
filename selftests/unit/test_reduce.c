// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reduction kernels against the arithmetic of this CPU: every kernel that the rules ask for in
 * every variant, bit for bit, with all special values, every alignment, every number of elements
 * around that of a vector, in one pass and in several, in place, and with bytes around each result
 * that must not change.
 */
#include "reduce/order.h"
#include "reduce_env.h"

#define MAX_SOURCES	NETINC_MAX_SOURCES
#define MAX_PASSES	150u	/* sources of several passes */
#define MAX_SIZE	16u	/* bytes of an element */
/* elements; emulated processors take fewer */
#ifndef BULK
#define BULK		0x100000u
#endif
#define BULK_SOURCES	3u

/* One kernel in one variant. */
struct kernel_test {
	const struct ref_type *t;
	u8 op, mode, variant;
	const struct property *property;
	char name[64];
};

struct property {
	const char *name;
	void (*test)(const struct kernel_test *k, const struct netinc_reduce *r);
};

/* A set of sources and what is to come out of it. */
struct data {
	unsigned int n, count, ranks;
	u8 *buf[MAX_PASSES];
	const void *src[MAX_PASSES];	/* in there, off its alignment */
	u8 *want;
};

static void data_free(struct data *d)
{
	unsigned int s;

	for (s = 0; s < d->n; s++)
		free(d->buf[s]);
	free(d->want);
}

static void data_allocate(struct data *d, const struct kernel_test *k, unsigned int misalign)
{
	size_t len = (size_t)d->count * ref_size(k->t), off;
	unsigned int s;

	for (s = 0; s < d->n; s++) {
		off = misalign ? ktap_below(misalign) : 0;
		d->buf[s] = allocate(len + off);
		d->src[s] = d->buf[s] + off;
	}
	d->want = allocate(len);
}

static void data_reference(struct data *d, const struct kernel_test *k)
{
	unsigned int size = ref_size(k->t), i, s;
	const u8 *p[MAX_PASSES];

	for (i = 0; i < d->count; i++) {
		for (s = 0; s < d->n; s++)
			p[s] = d->src[s] + (size_t)i * size;
		ref_fold(k->t, k->op, k->mode, p, d->n, d->ranks, d->want + (size_t)i * size);
	}
}

static void data_random(struct data *d, const struct kernel_test *k)
{
	unsigned int size = ref_size(k->t), i, s;

	for (s = 0; s < d->n; s++)
		for (i = 0; i < d->count; i++)
			interesting(k->t, (u8 *)d->src[s] + (size_t)i * size);
	data_reference(d, k);
}

static bool compare(const struct kernel_test *k, const struct data *d, const char *how,
		    const u8 *dst)
{
	unsigned int size = ref_size(k->t), i, s;

	if (!memcmp(dst, d->want, (size_t)d->count * size))
		return true;
	for (i = 0; !memcmp(dst + (size_t)i * size, d->want + (size_t)i * size, size); i++)
		;
	expect(false, "%s%s: element %u of %u, %u sources, %u ranks: %s, expected %s", k->name, how,
	       i, d->count, d->n, d->ranks, hex(dst + (size_t)i * size, size),
	       hex(d->want + (size_t)i * size, size));
	for (s = 0; s < d->n && s < 4; s++)
		printf("#   source %u: %s\n", s, hex(d->src[s] + (size_t)i * size, size));
	return false;
}

/* Every pair of special values first, then what is interesting; the same for each variant. */
static const struct data *bulk(const struct kernel_test *k)
{
	static struct kernel_test of;
	static struct data d;
	unsigned int size = ref_size(k->t), specials = k->t->bytes == 1 ? 256 : SPECIALS, i, s;

	if (of.t == k->t && of.op == k->op && of.mode == k->mode)
		return &d;
	of = *k;
	data_free(&d);
	d = (struct data){ .n = BULK_SOURCES, .count = k->t->class == REF_BLOCK ? BULK / 256 : BULK,
			   .ranks = 1 + ktap_below(k->op == INC_OP_AVG ? INC_MAX_RANKS : 1) };
	data_allocate(&d, k, 0);
	for (s = 0; s < d.n; s++)
		for (i = 0; i < d.count; i++)
			interesting(k->t, (u8 *)d.src[s] + (size_t)i * size);
	for (i = 0; i < specials * specials && k->t->class != REF_BLOCK; i++) {
		ref_put((u8 *)d.src[0] + (size_t)i * size, k->t->bytes,
			special(k->t, i % specials));
		ref_put((u8 *)d.src[1] + (size_t)i * size, k->t->bytes,
			special(k->t, i / specials));
	}
	data_reference(&d, k);
	return &d;
}

static void bulk_of(const struct kernel_test *k, const struct netinc_reduce *r)
{
	const struct data *d = bulk(k);
	size_t len = (size_t)d->count * ref_size(k->t);
	u8 *dst = allocate(len);

	r->fold(dst, d->src, d->n, d->count, &(struct netinc_fold_args){ .ranks = d->ranks });
	compare(k, d, "", dst);
	free(dst);
}

/* Folds once, to dst or in place, with guards around. */
static bool run(const struct kernel_test *k, const struct netinc_reduce *r, struct data *d,
		bool in_place)
{
	const struct netinc_fold_args args = { .ranks = d->ranks };
	size_t len = (size_t)d->count * ref_size(k->t), size = len + 2 * GUARD;
	unsigned int off = ktap_below(GUARD);
	u8 *out = allocate(size), *dst = out + off;
	const void *first = d->src[0];
	bool good;

	memset(out, GUARD_BYTE, size);
	if (in_place) {
		memcpy(dst, first, len);
		d->src[0] = dst;
	}
	r->fold(dst, d->src, d->n, d->count, &args);
	d->src[0] = first;
	good = compare(k, d, in_place ? " in place" : "", dst);
	good = guards_intact(k->name, out, dst, len, size) && good;
	free(out);
	return good;
}

static void shapes_of(const struct kernel_test *k, const struct netinc_reduce *r)
{
	unsigned int lanes = 64 / r->elem_size, i;
	bool good = true;

	/* Every count up to three vectors, then any up to some chunks. */
	for (i = 0; i < 3 * lanes + 80 && good; i++) {
		struct data d = {
			.n = 1 + ktap_below(i % 4 ? 4 : MAX_SOURCES),
			.ranks = 1 + ktap_below(INC_MAX_RANKS),
			.count = i < 3 * lanes ? i : ktap_below(20 * lanes),
		};

		data_allocate(&d, k, 64);
		data_random(&d, k);
		good = run(k, r, &d, false) && run(k, r, &d, true);
		data_free(&d);
	}
}

/* Any variant of the kernel, or its accumulators'. */
static const struct netinc_reduce *any_variant(const struct netinc_reduce *r, bool accumulators)
{
	const struct netinc_reduce *by;

	if (accumulators)
		return netinc_reduce_accumulators(r, ktap_below(2));
	by = netinc_reduce_variant(r->type, r->op, r->mode, ktap_below(NETINC_VARIANT_COUNT));
	return by ?: r;
}

/* One pass, of as many sources as there may be or fewer. Returns how many. */
static unsigned int one_pass(const struct netinc_reduce *r, const struct data *d,
			     unsigned int first, u8 *to)
{
	unsigned int left = d->n - first, n = 1 + ktap_below(min(left, MAX_SOURCES));
	const struct netinc_fold_args args = { .flags = NETINC_FOLD_UNROUNDED, .ranks = 0 };

	n = netinc_order_pass(first, 1, n, n == left);
	any_variant(r, false)->fold(to, d->src + first, n, d->count, &args);
	return n;
}

/*
 * The sources in several passes, each by any variant: what comes out is what the definition gives,
 * and accumulators are as many bytes as the table says.
 */
static bool several_passes(const struct kernel_test *k, const struct netinc_reduce *r,
			   struct data *d)
{
	size_t wide = (size_t)d->count * r->acc_size, size = wide + 2 * GUARD;
	const struct netinc_fold_args join = { .flags = NETINC_FOLD_UNROUNDED, .ranks = 0 };
	const struct netinc_fold_args end = { NETINC_FOLD_ACCUMULATORS, d->ranks };
	u8 *out[NETINC_ORDER_DEPTH], *acc[NETINC_ORDER_DEPTH];
	u8 *dst = allocate((size_t)d->count * r->elem_size);
	struct netinc_order o = { 0 };
	unsigned int done, n, i, used = 0;
	bool good = true;

	for (done = 0; done < d->n; done += n) {
		if (o.n == used) {
			out[used] = allocate(size);
			memset(out[used], GUARD_BYTE, size);
			acc[used] = out[used] + 1 + ktap_below(GUARD - 1);
			used++;
		}
		n = one_pass(r, d, done, acc[o.n]);
		netinc_order_push(&o, n);
		while (o.n > 1 && (done + n == d->n || netinc_order_halves(&o))) {
			const void *src[2] = { acc[o.n - 2], acc[o.n - 1] };
			const struct netinc_reduce *by;

			by = any_variant(r, true);
			by->fold(acc[o.n - 2], src, 2,
				 d->count * netinc_reduce_acc_elems(r, by), &join);
			netinc_order_join(&o);
		}
	}
	any_variant(r, false)->fold(dst, (const void *const *)acc, 1, d->count, &end);
	good = compare(k, d, " in passes", dst);
	for (i = 0; i < used; i++) {
		good = guards_intact(k->name, out[i], acc[i], wide, size) && good;
		free(out[i]);
	}
	free(dst);
	return good;
}

static void passes_of(const struct kernel_test *k, const struct netinc_reduce *r)
{
	unsigned int i;
	bool good = true;

	for (i = 0; i < 150 && good; i++) {
		struct data d = {
			.n = 1 + ktap_below(i % 4 ? 20 : MAX_PASSES),
			.count = ktap_below(k->t->class == REF_BLOCK ? 8 : 100),
			.ranks = 1 + ktap_below(INC_MAX_RANKS),
		};

		data_allocate(&d, k, 64);
		data_random(&d, k);
		good = several_passes(k, r, &d);
		data_free(&d);
	}
}

static const struct property properties[] = {
	{ "bulk", bulk_of },
	{ "shapes", shapes_of },
	{ "passes", passes_of },
};

static void kernel_test(void)
{
	const struct kernel_test *k = ktap.arg;
	const struct netinc_reduce *r;

	if (skip_variant(k->variant))
		return;
	netinc_reduce_init(netinc_cpu_features());
	r = netinc_reduce_variant(k->t->type, k->op, k->mode, k->variant);
	if (expect(r, "there is no %s", k->name))
		k->property->test(k, r);
}

#define MAX_TESTS \
	(ARRAY_SIZE(ref_types) * __INC_OP_MAX * 2 * NETINC_VARIANT_COUNT * ARRAY_SIZE(properties))

struct list {
	unsigned int n;
	struct ktap_test tests[MAX_TESTS];
	struct kernel_test args[MAX_TESTS];
};

static void add_tests(struct list *l, const struct ref_type *t, u8 op, u8 mode)
{
	unsigned int p, v;

	for (p = 0; p < ARRAY_SIZE(properties); p++)
		for (v = 0; v < NETINC_VARIANT_COUNT; v++) {
			struct kernel_test *k = &l->args[l->n];

			if (!variant_is_of_here(v))
				continue;
			*k = (struct kernel_test){
				.t = t, .op = op, .mode = mode, .variant = v,
				.property = &properties[p],
			};
			snprintf(k->name, sizeof(k->name), "%s_%s%s_%s_%s",
				 netinc_type_name(k->t->type), netinc_op_name(k->op),
				 k->mode ? "_saturate" : "", netinc_variant_name(v),
				 k->property->name);
			l->tests[l->n++] = (struct ktap_test){ k->name, kernel_test, k };
		}
}

/* What the rules ask for; variants of a kernel one after the other, because they share its data. */
static void add_all_tests(struct list *l)
{
	unsigned int type, op, mode;

	for (type = 0; type < ARRAY_SIZE(ref_types); type++)
		for (op = 1; op < __INC_OP_MAX; op++)
			for (mode = 0; mode <= INC_MODE_SATURATE; mode++)
				if (ref_exists(&ref_types[type], op, mode))
					add_tests(l, &ref_types[type], op, mode);
}

int main(int argc, char **argv)
{
	static struct list l;

	add_all_tests(&l);
	return ktap_main(l.tests, l.n, argc, argv);
}
