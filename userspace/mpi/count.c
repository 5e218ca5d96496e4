// SPDX-License-Identifier: LGPL-2.1-or-later
/* Counters, the report of them, and the text of the last failure. */
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "internal.h"

#define KEY_OF(name, key, text) [INCMPI_WHY_##name] = key,
#define TEXT_OF(name, key, text) [INCMPI_WHY_##name] = text,
#define STAGED_KEY_OF(name, key, text)	\
	[INCMPI_COUNT_STAGED + INCMPI_STAGED_##name] = "staged." key,
#define STAGED_TEXT_OF(name, key, text) [INCMPI_STAGED_##name] = text,

static const char *const why_keys[INCMPI_NR_WHYS] = { INCMPI_REASONS(KEY_OF) };
static const char *const why_texts[INCMPI_NR_WHYS] = { INCMPI_REASONS(TEXT_OF) };
static const char *const own_names[INCMPI_COUNT_OPS] = {
	[INCMPI_COUNT_GROUPS] = "groups", [INCMPI_COUNT_AGAIN] = "again",
	[INCMPI_COUNT_REFUSED] = "refused",
	[INCMPI_COUNT_ERRORS] = "errors", [INCMPI_COUNT_TIMED] = "timed",
	[INCMPI_COUNT_SAVED] = "saved_ns",
	INCMPI_STAGES(STAGED_KEY_OF)
};

static const char *const staged_texts[INCMPI_NR_STAGED] = { INCMPI_STAGES(STAGED_TEXT_OF) };

static _Atomic uint64_t all_counts[INCMPI_NR_COUNTS];
static _Thread_local char errmsg[INCMPI_TEXT_LEN];

const char *incmpi_why_text(enum incmpi_why why)
{
	return why_texts[why] ?: "";
}

void incmpi_count(unsigned int index, uint64_t n)
{
	atomic_fetch_add_explicit(&all_counts[index], n, memory_order_relaxed);
}

void incmpi_counts(uint64_t counts[INCMPI_NR_COUNTS])
{
	for (unsigned int i = 0; i < INCMPI_NR_COUNTS; i++)
		counts[i] = atomic_load_explicit(&all_counts[i], memory_order_relaxed);
}

/* What stands before a function's name, and behind it. */
static const char *const befores[INCMPI_NR_FORMS] = { "", "i", "" };
static const char *const behinds[INCMPI_NR_FORMS] = { "", "", "_init" };

/* Its place among those of one kind: blocking functions first. */
static int slot_of(const char *name, size_t len)
{
	for (int form = 0; form < INCMPI_NR_FORMS; form++) {
		size_t before = strlen(befores[form]), behind = strlen(behinds[form]);
		int fn;

		if (len < before + behind || memcmp(name, befores[form], before) ||
		    memcmp(name + len - behind, behinds[form], behind))
			continue;
		fn = incmpi_fn_parse(name + before, len - before - behind);
		if (fn >= 0)
			return fn + form * INCMPI_NR_FNS;
	}
	return -1;
}

static int index_of(const char *name)
{
	const char *dot = strchr(name, '.');
	int slot;

	for (int i = 0; i < INCMPI_COUNT_OPS; i++)
		if (!strcmp(own_names[i], name))
			return i;
	if (!strncmp(name, "why.", 4)) {
		for (int i = 1; i < INCMPI_NR_WHYS; i++)
			if (!strcmp(why_keys[i], name + 4))
				return INCMPI_COUNT_WHY + i;
		return -1;
	}
	slot = slot_of(name, dot ? (size_t)(dot - name) : strlen(name));
	if (slot < 0 || (dot && strcmp(dot, ".bytes")))
		return -1;
	return (dot ? INCMPI_COUNT_BYTES : INCMPI_COUNT_OPS) + slot;
}

uint64_t inc_mpi_counter(const char *name)
{
	int index = index_of(name);

	return index < 0 ? ~0ULL : atomic_load_explicit(&all_counts[index], memory_order_relaxed);
}

void incmpi_report(FILE *out, const uint64_t counts[INCMPI_NR_COUNTS], int ranks)
{
	fprintf(out, "libinc-mpi: sums over %d ranks\n", ranks);
	fprintf(out, "libinc-mpi: groups joined %llu, communicators refused %llu\n",
		(unsigned long long)counts[INCMPI_COUNT_GROUPS],
		(unsigned long long)counts[INCMPI_COUNT_REFUSED]);
	if (counts[INCMPI_COUNT_AGAIN])
		fprintf(out, "libinc-mpi: groups used again %llu\n",
			(unsigned long long)counts[INCMPI_COUNT_AGAIN]);
	fprintf(out, "libinc-mpi: operations failed %llu\n",
		(unsigned long long)counts[INCMPI_COUNT_ERRORS]);
	for (int i = 0; i < INCMPI_NR_FORMS * INCMPI_NR_FNS; i++)
		if (counts[INCMPI_COUNT_OPS + i])
			fprintf(out, "libinc-mpi: by INC: %s%s%s: %llu calls, %llu bytes\n",
				befores[i / INCMPI_NR_FNS], incmpi_fn_name(i % INCMPI_NR_FNS),
				behinds[i / INCMPI_NR_FNS],
				(unsigned long long)counts[INCMPI_COUNT_OPS + i],
				(unsigned long long)counts[INCMPI_COUNT_BYTES + i]);
	for (int i = 0; i < INCMPI_NR_STAGED; i++)
		if (counts[INCMPI_COUNT_STAGED + i])
			fprintf(out, "libinc-mpi: copied: %s (%s): %llu calls\n",
				own_names[INCMPI_COUNT_STAGED + i] + sizeof("staged"),
				staged_texts[i],
				(unsigned long long)counts[INCMPI_COUNT_STAGED + i]);
	if (counts[INCMPI_COUNT_TIMED])
		fprintf(out, "libinc-mpi: saved against the tuning table: %.6f s, by %llu blocking calls\n",
			(double)(int64_t)counts[INCMPI_COUNT_SAVED] / 1e9,
			(unsigned long long)counts[INCMPI_COUNT_TIMED]);
	for (int i = 1; i < INCMPI_NR_WHYS; i++)
		if (counts[INCMPI_COUNT_WHY + i])
			fprintf(out, "libinc-mpi: by MPI: %s (%s): %llu calls\n", why_keys[i],
				why_texts[i], (unsigned long long)counts[INCMPI_COUNT_WHY + i]);
}

void incmpi_set_errmsg(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(errmsg, sizeof(errmsg), fmt, args);
	va_end(args);
}

const char *incmpi_errmsg(void)
{
	return errmsg;
}
