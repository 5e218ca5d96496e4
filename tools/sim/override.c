// SPDX-License-Identifier: GPL-2.0-only
/* What is changed in a seed's plan: name[.round[.step]]=value, by hand or by shrink.c. */
#include <inttypes.h>
#include <stddef.h>

#include "sim.h"

enum scope { OF_PLAN, OF_ROUND, OF_STEP, OF_TROUBLE };

static const struct {
	const char *name;
	u8 scope;
	u32 offset;
	u32 size;		/* bytes; 0: not a number of the plan, see special() */
} fields[__SET_MAX] = {
	[SET_HOSTS] = { "hosts", OF_PLAN, offsetof(struct plan, hosts), 4 },
	[SET_WINDOW] = { "window", OF_PLAN, offsetof(struct plan, window), 4 },
	[SET_DEAD] = { "dead", OF_PLAN, offsetof(struct plan, dead_ms), 4 },
	[SET_SUPER_PACKET] = { "super-packet", OF_PLAN, offsetof(struct plan, super_packet), 4 },
	[SET_GSO] = { "gso", OF_PLAN, offsetof(struct plan, gso), 1 },
	[SET_FIRST_BLOCK] = { "first-block", OF_PLAN, offsetof(struct plan, first_block), 8 },
	[SET_HOLD_LIMIT] = { "hold-limit", OF_PLAN, offsetof(struct plan, hold_limit), 8 },
	[SET_LOSS] = { "loss", OF_PLAN, offsetof(struct plan, loss), 4 },
	[SET_BURST] = { "burst", OF_PLAN, offsetof(struct plan, burst), 4 },
	[SET_DUPLICATE] = { "duplicate", OF_PLAN, offsetof(struct plan, duplicate), 4 },
	[SET_REORDER] = { "reorder", OF_PLAN, offsetof(struct plan, reorder), 4 },
	[SET_CORRUPT] = { "corrupt", OF_PLAN, offsetof(struct plan, corrupt), 4 },
	[SET_DELAY] = { "delay", OF_PLAN, offsetof(struct plan, base_delay), 4 },
	[SET_JITTER] = { "jitter", OF_PLAN, offsetof(struct plan, jitter), 4 },
	[SET_LATE] = { "late", OF_PLAN, offsetof(struct plan, late_delay), 4 },
	[SET_FAIL_HOLD] = { "fail-hold", OF_PLAN, offsetof(struct plan, fail_hold), 4 },
	[SET_FAIL_FOLD] = { "fail-fold", OF_PLAN, offsetof(struct plan, fail_fold), 4 },
	[SET_FAIL_DELIVER] = { "fail-deliver", OF_PLAN, offsetof(struct plan, fail_deliver), 4 },
	[SET_FAIL_SEND] = { "fail-send", OF_PLAN, offsetof(struct plan, fail_send), 4 },
	[SET_CALM] = { "calm", OF_PLAN, offsetof(struct plan, calm), 8 },
	[SET_MISHAPS] = { "mishaps", OF_PLAN, offsetof(struct plan, mishaps), 4 },
	[SET_INFLIGHT] = { "inflight", OF_PLAN, offsetof(struct plan, inflight), 4 },
	[SET_THINK] = { "think", OF_PLAN, offsetof(struct plan, think), 4 },
	[SET_BLOCK] = { "block", OF_PLAN, 0, 0 },
	[SET_START] = { "start", OF_PLAN, 0, 0 },
	[SET_DICE] = { "dice", OF_PLAN, 0, 0 },
	[SET_SPARE] = { "spare", OF_PLAN, 0, 0 },
	[SET_ONLY] = { "only", OF_PLAN, 0, 0 },
	[SET_FALLBACK] = { "fallback", OF_PLAN, offsetof(struct plan, fallback), 4 },
	[SET_STANDBYS] = { "standbys", OF_PLAN, offsetof(struct plan, standbys), 4 },
	[SET_NETWORKS] = { "networks", OF_PLAN, offsetof(struct plan, networks), 1 },
	[SET_LATE_MS] = { "late-ms", OF_PLAN, offsetof(struct plan, late_ms), 4 },
	[SET_TREE] = { "tree", OF_PLAN, offsetof(struct plan, tree.nodes), 4 },
	[SET_SHIFT] = { "shift", OF_PLAN, offsetof(struct plan, tree.shift), 4 },
	[SET_ASKS] = { "asks", OF_PLAN, offsetof(struct plan, tree.asks), 4 },
	[SET_AT] = { "at", OF_PLAN, 0, 0 },
	[SET_FAULT] = { "fault", OF_ROUND, offsetof(struct plan_round, fault), 4 },
	[SET_VICTIM] = { "victim", OF_ROUND, offsetof(struct plan_round, victim), 4 },
	[SET_LEAVE_AFTER] = { "leave-after", OF_ROUND, offsetof(struct plan_round, leave_after),
			      4 },
	[SET_FAULT_AT] = { "fault-at", OF_ROUND, offsetof(struct plan_round, fault_at), 8 },
	[SET_FAULT_WHEN] = { "fault-when", OF_ROUND, offsetof(struct plan_round, fault_when), 4 },
	[SET_FAULT_NODE] = { "fault-node", OF_ROUND, offsetof(struct plan_round, fault_node), 4 },
	[SET_PAUSE] = { "pause", OF_ROUND, offsetof(struct plan_round, pause), 8 },
	[SET_TROUBLE] = { "trouble", OF_TROUBLE, offsetof(struct trouble, kind), 4 },
	[SET_TROUBLE_PLACE] = { "trouble-place", OF_TROUBLE, offsetof(struct trouble, place), 4 },
	[SET_TROUBLE_HOST] = { "trouble-host", OF_TROUBLE, offsetof(struct trouble, host), 4 },
	[SET_TROUBLE_WHEN] = { "trouble-when", OF_TROUBLE, offsetof(struct trouble, when), 4 },
	[SET_TROUBLE_AT] = { "trouble-at", OF_TROUBLE, offsetof(struct trouble, at), 8 },
	[SET_TROUBLE_LASTS] = { "trouble-lasts", OF_TROUBLE, offsetof(struct trouble, lasts), 8 },
	[SET_MULTICAST] = { "multicast", OF_PLAN, offsetof(struct plan, multicast), 1 },
	[SET_UNABLE] = { "unable", OF_PLAN, offsetof(struct plan, unable), 4 },
	[SET_DEAF] = { "deaf", OF_PLAN, offsetof(struct plan, deaf), 4 },
	[SET_DEAF_AT] = { "deaf-at", OF_PLAN, offsetof(struct plan, deaf_at), 8 },
	[SET_OTHERS] = { "others", OF_PLAN, offsetof(struct plan, others), 4 },
	[SET_HOSTILE] = { "hostile", OF_PLAN, offsetof(struct plan, hostile.who), 4 },
	[SET_HOSTILE_RANKS] = { "hostile-ranks", OF_PLAN, offsetof(struct plan, hostile.ranks), 4 },
	[SET_HOSTILE_PLACES] = { "hostile-places", OF_PLAN, offsetof(struct plan, hostile.places),
				 4 },
	[SET_HOSTILE_ROOTS] = { "hostile-roots", OF_PLAN, offsetof(struct plan, hostile.roots), 4 },
	[SET_TRICKS] = { "tricks", OF_PLAN, offsetof(struct plan, hostile.tricks), 4 },
	[SET_LIE_RATE] = { "lie-rate", OF_PLAN, offsetof(struct plan, hostile.rate), 4 },
	[SET_LIE_PAUSE] = { "lie-pause", OF_PLAN, offsetof(struct plan, hostile.pause), 4 },
	[SET_LIES] = { "lies", OF_PLAN, offsetof(struct plan, hostile.lies), 4 },
	[SET_HONEST] = { "honest", OF_PLAN, offsetof(struct plan, hostile.honest), 1 },
	[SET_DROP] = { "drop", OF_STEP, 0, 0 },
	[SET_COUNT] = { "count", OF_STEP, 0, 0 },
	[SET_AGREE] = { "agree", OF_STEP, 0, 0 },
	[SET_IN_PLACE] = { "in-place", OF_STEP, offsetof(struct plan_step, op.in_place), 1 },
	[SET_DISPLACED] = { "displaced", OF_STEP, offsetof(struct plan_step, op.displaced), 1 },
};

static bool same(const struct override *a, const struct override *b)
{
	return a->field == b->field && a->round == b->round && a->step == b->step &&
	       (a->field != SET_SPARE || a->value == b->value);
}

bool override_has(const struct overrides *o, struct override what)
{
	u32 i;

	for (i = 0; i < o->n; i++)
		if (same(&o->list[i], &what))
			return true;
	return false;
}

u64 override_get(const struct overrides *o, u8 field)
{
	u32 i;

	for (i = 0; i < o->n; i++)
		if (o->list[i].field == field)
			return o->list[i].value;
	return ~0ull;
}

bool override_set(struct overrides *o, struct override what)
{
	u32 i;

	for (i = 0; i < o->n && !same(&o->list[i], &what); i++)
		;
	if (i == SIM_MAX_OVERRIDES)
		return false;
	o->list[i] = what;
	o->n = max(o->n, i + 1);
	return true;
}

/* A number and what ends it; false: there is none. */
static bool number(const char **text, u64 *value)
{
	char *end;

	*value = strtoull(*text, &end, 0);
	if (end == *text || **text == '-')
		return false;
	*text = end;
	return true;
}

static bool parse_one(const char **text, struct override *what)
{
	size_t len = strcspn(*text, ".=,");
	u64 at[2] = { 0, 0 };
	u32 i;

	memset(what, 0, sizeof(*what));
	while (what->field < __SET_MAX && (strlen(fields[what->field].name) != len ||
					   memcmp(fields[what->field].name, *text, len)))
		what->field++;
	if (what->field == __SET_MAX)
		return false;
	*text += len;
	for (i = 0; i < min_t(u32, fields[what->field].scope, OF_STEP); i++) {
		if (*(*text)++ != '.' || !number(text, &at[i]) ||
		    at[i] >= (i ? SIM_MAX_OPS : SIM_MAX_ROUNDS))
			return false;
	}
	if (fields[what->field].scope == OF_TROUBLE && at[1] >= SIM_MAX_TROUBLES)
		return false;
	what->round = at[0];
	what->step = at[1];
	return *(*text)++ == '=' && number(text, &what->value);
}

bool override_parse(struct overrides *o, const char *text)
{
	struct override what;

	do {
		if (!parse_one(&text, &what) || !override_set(o, what))
			return false;
	} while (*text++ == ',');
	return !text[-1];
}

void override_print(FILE *to, const struct overrides *o)
{
	const struct override *what;
	u32 i;

	for (i = 0; i < o->n; i++) {
		what = &o->list[i];
		fprintf(to, "%s%s", i ? "," : " --override ", fields[what->field].name);
		if (fields[what->field].scope >= OF_ROUND)
			fprintf(to, ".%u", what->round);
		if (fields[what->field].scope >= OF_STEP)
			fprintf(to, ".%u", what->step);
		fprintf(to, "=%" PRIu64, what->value);
	}
}

void override_names(FILE *to)
{
	static const char * const where[] = { "", ".ROUND", ".ROUND.STEP", ".ROUND.N" };
	u32 i, column = 0;

	for (i = 0; i < __SET_MAX; i++) {
		column += fprintf(to, "%s%s%s", column ? " " : "  ", fields[i].name,
				  where[fields[i].scope]);
		if (column > 90 || i + 1 == __SET_MAX) {
			fprintf(to, "\n");
			column = 0;
		}
	}
}

static void agree(struct plan_step *s)
{
	s->disagree = AGREE;
	s->odd = s->op;
	s->odd_count = NO_COUNT;
	s->odd_less = NO_COUNT;
}

static void set_count(struct plan_step *s, u64 count)
{
	if (s->odd.count == s->op.count || s->odd.count == count)
		s->odd.count = count;
	s->op.count = count;
	if (s->disagree == DIFFER && s->odd_count == NO_COUNT && s->odd.coll == s->op.coll &&
	    s->odd.type == s->op.type && s->odd.op == s->op.op && s->odd.mode == s->op.mode &&
	    s->odd.root == s->op.root && s->odd.count == s->op.count)
		agree(s);
}

/* What is not just a number of the plan. SET_DROP and SET_ONLY wait until all others are done. */
static void special(struct sim *sim, const struct override *what)
{
	struct plan *p = &sim->plan;
	struct plan_step *s = &p->round[what->round].step[what->step];
	u32 i;

	switch (what->field) {
	case SET_BLOCK:
	case SET_START:
		for (i = 0; i < SIM_MAX_HOSTS; i++)
			*(what->field == SET_BLOCK ? &p->block[i] : &p->start[i]) = what->value;
		for (i = 0; what->field == SET_BLOCK && i < SIM_MAX_NODES; i++)
			p->tree.block[i] = what->value;
		break;
	case SET_AT:
		for (i = 0; i < SIM_MAX_HOSTS; i++)
			p->tree.at[i] = what->value;
		break;
	case SET_DICE:
		sim->random ^= what->value * 0xd1342543de82ef95ull;
		sim->hostile.random ^= what->value * 0xd1342543de82ef95ull;
		break;
	case SET_SPARE:
		p->spared[p->nspared++ % SIM_MAX_SPARED] = what->value;
		break;
	case SET_COUNT:
		set_count(s, what->value);
		break;
	case SET_AGREE:
		agree(s);
		break;
	default:
		break;
	}
}

static void apply(struct sim *sim, const struct override *what)
{
	u8 *base = (u8 *)&sim->plan;
	u32 low = what->value;

	if (!fields[what->field].size) {
		special(sim, what);
		return;
	}
	if (fields[what->field].scope >= OF_ROUND)
		base = (u8 *)&sim->plan.round[what->round];
	if (fields[what->field].scope == OF_STEP)
		base = (u8 *)&sim->plan.round[what->round].step[what->step];
	if (fields[what->field].scope == OF_TROUBLE)
		base = (u8 *)&sim->plan.round[what->round].trouble[what->step];
	base += fields[what->field].offset;
	if (fields[what->field].size == 1)
		*base = !!what->value;
	else if (fields[what->field].size == sizeof(low))
		memcpy(base, &low, sizeof(low));
	else
		memcpy(base, &what->value, sizeof(what->value));
}

/* At least one operation remains. */
static void drop_steps(struct plan_round *r, u32 round, const struct overrides *o)
{
	u32 i, n = 0, before = 0;

	for (i = 0; i < r->nops; i++) {
		if (override_has(o, override_of(SET_DROP, round, i, 1)) &&
		    (n || i + 1 < r->nops))
			continue;
		before += i < r->leave_after;
		r->step[n++] = r->step[i];
	}
	r->nops = n;
	r->leave_after = min(before, n - 1);
}

/* A rank that is no more, or the number of a pair of ranks. */
static bool fit_count(u32 *count, bool pairs, u32 was, u32 now)
{
	u32 from = *count / was, to = *count % was;

	if (*count == NO_COUNT)
		return true;
	*count = pairs ? from * now + to : *count;
	return pairs ? from < now && to < now : *count < now;
}

static void fit_step(struct plan_step *s, u32 was, u32 now)
{
	bool pairs = s->op.coll == INC_COLL_ALLTOALL;
	bool fits = s->odd_rank < now && s->op.root < now && s->odd.root < now && now > 1;

	s->op.root %= now;
	fits = fit_count(&s->odd_count, pairs, was, now) && fits;
	fits = fit_count(&s->odd_less, pairs, was, now) && fits;
	if (!fits)
		agree(s);
}

/* Places and hosts that are no more. */
static void fit_troubles(const struct plan *p, struct trouble *t)
{
	u32 last = p->tree.nodes ? p->tree.nodes - 1 : p->standbys, i;

	for (i = 0; i < SIM_MAX_TROUBLES; i++, t++) {
		t->host %= p->hosts;
		if (t->kind >= TROUBLE_COUNT || !p->fallback || t->place > SIM_EDGE ||
		    (t->place == SIM_EDGE ? p->fallback != INC_FALLBACK_EDGE ||
					    t->kind != TROUBLE_CUT : t->place > last))
			t->kind = TROUBLE_NONE;
	}
}

/* Where there is a fallback, what befalls nodes is troubles. */
static void fit_fault(const struct plan *p, struct plan_round *r)
{
	if (p->fallback && r->fault >= FAULT_NODE_SILENT && r->fault <= FAULT_NODE_REMOVED)
		r->fault = FAULT_NONE;
}

void override_apply(struct sim *sim, const struct overrides *o)
{
	struct plan *p = &sim->plan;
	u32 was = p->hosts, r, i;

	for (i = 0; i < o->n; i++)
		apply(sim, &o->list[i]);
	p->hosts = min(max(p->hosts, 1u), was);
	p->fallback %= __INC_FALLBACK_MAX;
	p->standbys = min_t(u32, p->standbys, SIM_MAX_STANDBYS);
	hostile_fit(sim);
	tree_fit(sim);
	for (r = 0; r < p->rounds; r++) {
		drop_steps(&p->round[r], r, o);
		p->round[r].victim %= p->hosts;
		fit_fault(p, &p->round[r]);
		fit_troubles(p, p->round[r].trouble);
		for (i = 0; p->hosts < was && i < p->round[r].nops; i++)
			fit_step(&p->round[r].step[i], was, p->hosts);
	}
	for (i = 0; i < o->n; i++) {
		if (o->list[i].field != SET_ONLY || o->list[i].value >= p->rounds)
			continue;
		p->round[0] = p->round[o->list[i].value];
		p->rounds = 1;
	}
}
