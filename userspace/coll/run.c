// SPDX-License-Identifier: GPL-2.0-only
/* Does one operation after the other, several in flight, and compares what they leave behind. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coll.h"

/* with --until: after so many operations rank 0 looks for the file */
#define UNTIL_OPS	25

static uint32_t passed[__INC_COLL_MAX];

void describe(const struct plan *plan, char *buf, size_t len)
{
	static const char *const how[] = { "blocking", "request", "persistent" };
	int n = snprintf(buf, len, "operation %u (%s): %s", plan->nr, how[plan->how],
			 inc_coll_name(plan->coll));

	if (plan->coll != INC_COLL_BARRIER)
		snprintf(buf + n, len - n, " %s %s %llu as %s, %u %% zeros, root %u%s%s%s",
			 inc_type_name(plan->type), plan->op ? inc_op_name(plan->op) : "-",
			 (unsigned long long)plan->count, inc_type_name(plan->wire), plan->zeros,
			 plan->root,
			 plan->mode & INC_MODE_SATURATE ? " saturating" : "",
			 plan->mode & INC_MODE_COUNTS ? " per-rank counts" : "",
			 plan->in_place ? " in place" : "");
}

static void print_bytes(const char *what, const uint8_t *bytes, size_t n)
{
	fprintf(stderr, ", %s", what);
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, " %02x", bytes[i]);
}

/* Which element of which share byte @at of a region is in; false: in none. */
static bool find_element(const struct region *r, size_t at, size_t elem, unsigned int *share,
			 uint64_t *i)
{
	uint64_t pos;

	if (at < (size_t)(r->data - r->mem))
		return false;
	pos = (at - (r->data - r->mem)) / elem;
	for (*share = 0; *share < r->shares; (*share)++) {
		*i = pos - r->displs[*share];
		if (pos >= r->displs[*share] && *i < r->counts[*share])
			return true;
	}
	return false;
}

static _Noreturn void buffer_differs(const struct config *cfg, const struct slot *slot,
				     const char *name, const struct region *r)
{
	size_t elem = inc_type_size(slot->plan.type), at = 0;
	unsigned int share;
	char text[256];
	uint64_t i;

	while (r->mem[at] == r->image[at])
		at++;
	describe(&slot->plan, text, sizeof(text));
	fprintf(stderr, "rank %u of %u: %s: ", cfg->join.rank, cfg->join.size, text);
	if (find_element(r, at, elem, &share, &i)) {
		at = r->data - r->mem + (r->displs[share] + i) * elem;
		fprintf(stderr, "%s, share %u of %u, element %llu of %llu", name, share, r->shares,
			(unsigned long long)i, (unsigned long long)r->counts[share]);
		print_bytes("got", r->mem + at, elem);
		print_bytes("expected", r->image + at, elem);
	} else {
		fprintf(stderr, "%s: byte %zd outside of all shares was overwritten", name,
			(ssize_t)(at - (r->data - r->mem)));
		print_bytes("got", r->mem + at, 1);
	}
	fprintf(stderr, " (start %u; --seed %u --first %u)\n", slot->start, cfg->seed,
		slot->plan.nr);
	exit(1);
}

static void finish_slot(const struct config *cfg, struct slot *slot, int ret)
{
	char text[256];

	slot->busy = false;
	if (ret) {
		describe(&slot->plan, text, sizeof(text));
		errx(1, "rank %u of %u: %s: %s (--seed %u)", cfg->join.rank, cfg->join.size, text,
		     inc_errmsg(cfg->inc), cfg->seed);
	}
	if (slot->send.mem && memcmp(slot->send.mem, slot->send.image, slot->send.size))
		buffer_differs(cfg, slot, "send", &slot->send);
	if (slot->recv.mem && memcmp(slot->recv.mem, slot->recv.image, slot->recv.size))
		buffer_differs(cfg, slot, "recv", &slot->recv);
}

static void drain_slot(const struct config *cfg, struct slot *slot)
{
	if (slot->busy)
		finish_slot(cfg, slot, inc_wait(&slot->req, -1));
	if (slot->plan.how == PERSISTENT)
		inc_release(&slot->req);
	layout_free(slot);
}

/* The last start of a persistent operation stays under way, as a request does. */
static void run_persistent(const struct config *cfg, struct slot *slot)
{
	int ret = inc_prepare(cfg->inc, &slot->args, &slot->req);

	for (slot->start = 0; !ret; slot->start++) {
		layout_fill(slot, cfg->join.rank);
		ret = inc_start(&slot->req);
		slot->busy = !ret;
		if (ret || slot->start + 1 == slot->plan.starts)
			break;
		finish_slot(cfg, slot, inc_wait(&slot->req, -1));
	}
	if (ret)
		finish_slot(cfg, slot, ret);
}

static void be_late(const struct config *cfg, uint64_t seed)
{
	uint64_t x = mix(seed, 0x20000 + cfg->join.rank), ms = x / 8 % (cfg->late + 1ULL);
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	if (!(x & 7))
		nanosleep(&ts, NULL);
}

static void run_one(const struct config *cfg, struct slot *slot)
{
	int ret;

	be_late(cfg, slot->plan.seed);
	layout(slot, cfg->join.rank);
	if (slot->plan.how == PERSISTENT) {
		run_persistent(cfg, slot);
		return;
	}
	layout_fill(slot, cfg->join.rank);
	if (slot->plan.how == BLOCKING) {
		finish_slot(cfg, slot, inc_collective(cfg->inc, &slot->args));
		return;
	}
	ret = inc_icollective(cfg->inc, &slot->args, &slot->req);
	slot->busy = !ret;
	if (ret)
		finish_slot(cfg, slot, ret);
}

/* All ranks do as many: rank 0 tells the others now and then whether it has found the file. */
static bool is_over(const struct config *cfg, uint32_t done)
{
	uint32_t over = cfg->join.rank == 0 && cfg->until && !access(cfg->until, F_OK);

	if (done < cfg->ops || !cfg->until)
		return done >= cfg->ops;
	if (done % UNTIL_OPS)
		return false;
	if (inc_broadcast(cfg->inc, &over, 1, INC_TYPE_U32, 0))
		errx(1, "rank %u of %u: --until: %s", cfg->join.rank, cfg->join.size,
		     inc_errmsg(cfg->inc));
	return over;
}

static void report_run(const struct config *cfg)
{
	for (unsigned int coll = 1; coll < INC_COLL_LEAVE && !cfg->quiet; coll++)
		if (passed[coll])
			printf("%s %u ok\n", inc_coll_name(coll), passed[coll]);
}

void run(const struct config *cfg)
{
	struct slot *slots = calloc(cfg->flight, sizeof(*slots)), *slot;

	if (!slots)
		errx(1, "out of memory");
	for (uint32_t nr = cfg->first; !is_over(cfg, nr - cfg->first); nr++) {
		slot = &slots[nr % cfg->flight];
		drain_slot(cfg, slot);
		make_plan(cfg, nr, &slot->plan);
		if (!slot->plan.coll)
			errx(2, "--coll, --type and --op exclude one another");
		run_one(cfg, slot);
		passed[slot->plan.coll]++;
	}
	for (uint32_t i = 0; i < cfg->flight; i++)
		drain_slot(cfg, &slots[i]);
	free(slots);
	report_run(cfg);
}
