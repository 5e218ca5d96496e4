// SPDX-License-Identifier: GPL-2.0-only
/*
 * A seed that fails is made smaller: one thing after the other is left out of its plan, as long as
 * it fails in the same way. What is left out changes what happens afterwards, so other random
 * decisions are tried as well. Every attempt is a process of its own: it may crash, or never end.
 * What bounds the attempts is the number of their events, so that a seed becomes as small on every
 * machine.
 */
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim.h"

#define DICE		12		/* other decisions that are tried with each change */
#define DICE_LARGE	60		/* with what matters most: ranks, operations, mishaps */
#define DESCENTS	3		/* from the whole seed to a small one */
#define SHORTER		40		/* and in the end, for the shortest trace */
#define ATTEMPT		20		/* seconds after which a run hangs */
#define ATTEMPT_EVENTS	2000		/* that take as long as a process to run them in */
#define HANG_EVENTS	5000000		/* and as long as a run that hangs */
#define TRACE_LINES	60		/* at its begin, and at its end */

/* How a run ended, and how large it was. */
struct attempt {
	bool failed;
	char how[160];		/* message without numbers */
	u64 steps, elems;
	u32 hosts, ops;
	u32 mishaps;		/* that happened */
	u32 chances;		/* and those that were spared */
};

struct shrink {
	const struct options *o;
	u64 seed;
	u64 attempts;
	u64 work;		/* that they have taken, in events */
	u64 most;		/* that they may take */
	u64 dice;		/* numbers that have been used */
	struct sim *sim;	/* of the attempt, shared with it: it may crash */
	struct attempt first, now;
	struct overrides best;
};

static struct attempt measure(const struct sim *sim, int status)
{
	struct attempt result = { .failed = true }, *a = &result;
	u32 r, i;

	if (WIFSIGNALED(status))
		snprintf(a->how, sizeof(a->how), "signal %d", WTERMSIG(status));
	else if (sim->failure)
		snprintf(a->how, sizeof(a->how), "%s", sim->failure);
	else
		a->failed = false;
	a->steps = sim->steps;
	a->mishaps = sim->happened;
	a->chances = sim->mishaps;
	a->hosts = sim->plan.hosts;
	for (r = 0; r < sim->plan.rounds; r++) {
		a->ops += sim->plan.round[r].nops;
		for (i = 0; i < sim->plan.round[r].nops; i++)
			a->elems += sim->plan.round[r].step[i].op.count;
	}
	return result;
}

/* @out: where its output goes to, with a trace; NULL: nowhere */
static struct attempt attempt(struct shrink *s, const struct overrides *o, FILE *out)
{
	int status = 0;
	pid_t pid;

	s->attempts++;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(ATTEMPT);
		if (!freopen("/dev/null", "w", stderr) ||
		    (!out && !freopen("/dev/null", "w", stdout)) ||
		    (out && dup2(fileno(out), STDOUT_FILENO) < 0))
			_exit(2);
		run_seed(s->sim, s->seed, o, out);
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("inc-sim: fork");
		exit(2);
	}
	s->work += ATTEMPT_EVENTS + s->sim->steps;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		s->work += HANG_EVENTS;
	/* formats are at the same address in both */
	return measure(s->sim, status);
}

static bool fails_alike(struct shrink *s, const struct overrides *o)
{
	struct attempt a = attempt(s, o, NULL);

	if (!a.failed || strcmp(a.how, s->first.how))
		return false;
	s->now = a;
	s->best = *o;
	return true;
}

static bool work_left(const struct shrink *s)
{
	return s->work < s->most;
}

static bool try_dice(struct shrink *s, u8 field, struct overrides *o)
{
	bool large = field == SET_HOSTS || field == SET_DROP || field == SET_MISHAPS ||
		     field == SET_SPARE;
	u32 n = large ? DICE_LARGE : DICE, i;

	if (fails_alike(s, o))
		return true;
	for (i = 0; i < n && work_left(s); i++)
		if (override_set(o, override_of(SET_DICE, 0, 0, ++s->dice)) && fails_alike(s, o))
			return true;
	return false;
}

/* With one number of the plan changed, if it is not what it is already. */
static bool try(struct shrink *s, u8 field, u32 round, u32 step, u64 value)
{
	struct overrides o = s->best;

	return work_left(s) && override_set(&o, override_of(field, round, step, value)) &&
	       memcmp(&o, &s->best, sizeof(o)) && try_dice(s, field, &o);
}

/* The plan as it is now. */
static const struct plan *plan_now(const struct shrink *s)
{
	static struct sim sim;

	memset(&sim, 0, sizeof(sim));
	sim.seed = s->seed;
	sim.random = s->seed;
	plan_make(&sim);
	hostile_pick(&sim, (u32)override_get(&s->best, SET_HOSTILE));
	override_apply(&sim, &s->best);
	return &sim.plan;
}

/* The same with nothing left out: steps have the numbers that the overrides name them by. */
static const struct plan *plan_full(const struct shrink *s)
{
	static struct sim sim;
	struct overrides o = { 0 };
	u32 i;

	for (i = 0; i < s->best.n; i++)
		if (s->best.list[i].field != SET_DROP && s->best.list[i].field != SET_ONLY)
			override_set(&o, s->best.list[i]);
	memset(&sim, 0, sizeof(sim));
	sim.seed = s->seed;
	sim.random = s->seed;
	plan_make(&sim);
	hostile_pick(&sim, (u32)override_get(&o, SET_HOSTILE));
	override_apply(&sim, &o);
	return &sim.plan;
}

/* Fewer nodes, and all ranks at one of them. */
static bool smaller_tree(struct shrink *s)
{
	u32 nodes = plan_now(s)->tree.nodes, n;
	bool any = false;

	if (!nodes)
		return false;
	if (try(s, SET_TREE, 0, 0, 0))
		return true;
	any |= try(s, SET_SHIFT, 0, 0, 0);
	any |= try(s, SET_ASKS, 0, 0, 0);
	for (n = 2; n < nodes; n++) {
		if (try(s, SET_TREE, 0, 0, n)) {
			any = true;
			break;
		}
	}
	for (n = 0; !any && n < nodes; n++)
		if (!override_has(&s->best, override_of(SET_AT, 0, 0, n)) &&
		    try(s, SET_AT, 0, 0, n))
			return true;
	return any;
}

static bool has(const struct shrink *s, u8 field, u32 round, u32 step)
{
	return override_has(&s->best, override_of(field, round, step, 1));
}

/* Is the round still played? */
static bool played(const struct shrink *s, u32 round)
{
	u32 i;

	for (i = 0; i < s->best.n; i++)
		if (s->best.list[i].field == SET_ONLY)
			return s->best.list[i].value == round;
	return true;
}

static bool fewer_rounds(struct shrink *s)
{
	u32 r;

	for (r = 0; r < SIM_MAX_ROUNDS && plan_now(s)->rounds > 1; r++)
		if (try(s, SET_ONLY, 0, 0, r))
			return true;
	return false;
}

static bool fewer_hosts(struct shrink *s)
{
	u32 hosts = plan_now(s)->hosts, n;

	for (n = 1; n < hosts; n++)
		if (try(s, SET_HOSTS, 0, 0, n))
			return true;
	return false;
}

/* Operations @from .. @from + @n - 1 of the round are left out. */
static bool without_steps(struct shrink *s, u32 round, u32 from, u32 n)
{
	struct overrides o = s->best;
	u32 i;

	for (i = from; i < from + n; i++)
		if (!override_set(&o, override_of(SET_DROP, round, i, 1)))
			return false;
	return work_left(s) && memcmp(&o, &s->best, sizeof(o)) && try_dice(s, SET_DROP, &o);
}

static bool fewer_steps(struct shrink *s)
{
	u32 r, i, n, nops;
	bool any = false;

	for (r = 0; r < plan_full(s)->rounds; r++) {
		nops = plan_full(s)->round[r].nops;
		for (n = nops; played(s, r) && n; n /= 2)
			for (i = 0; i < nops; i += n)
				any |= without_steps(s, r, i, min(n, nops - i));
	}
	return any;
}

static bool smaller_step(struct shrink *s, u32 round, u32 step)
{
	const struct plan_step *p = &plan_full(s)->round[round].step[step];
	u64 count = p->op.count, lower = 0;
	bool any = false, in_place = p->op.in_place, displaced = p->op.displaced;

	if (p->disagree)
		any |= try(s, SET_AGREE, round, step, 1);
	if (in_place)
		any |= try(s, SET_IN_PLACE, round, step, 0);
	if (displaced)
		any |= try(s, SET_DISPLACED, round, step, 0);
	/* the smallest one: none, one, then by halving the distance to one that fails */
	if (count && try(s, SET_COUNT, round, step, 0))
		return true;
	if (count > 1 && try(s, SET_COUNT, round, step, 1))
		return true;
	for (lower = 1; count > lower + 1 && work_left(s);) {
		if (try(s, SET_COUNT, round, step, (lower + count) / 2)) {
			count = (lower + count) / 2;
			any = true;
		} else {
			lower = (lower + count) / 2;
		}
	}
	return any;
}

static bool fewer_troubles(struct shrink *s)
{
	bool any = false;
	u32 r, i;

	for (r = 0; r < plan_full(s)->rounds; r++) {
		for (i = 0; played(s, r) && i < SIM_MAX_TROUBLES; i++) {
			if (!plan_full(s)->round[r].trouble[i].kind)
				continue;
			any |= try(s, SET_TROUBLE, r, i, TROUBLE_NONE);
			any |= try(s, SET_TROUBLE_LASTS, r, i, 0);
		}
	}
	return any;
}

static bool smaller_steps(struct shrink *s)
{
	const struct plan *p = plan_full(s);
	u32 rounds = p->rounds, r, i, nops;
	bool any = false;

	for (r = 0; r < rounds; r++) {
		nops = plan_full(s)->round[r].nops;
		if (played(s, r) && plan_full(s)->round[r].fault)
			any |= try(s, SET_FAULT, r, 0, FAULT_NONE);
		for (i = 0; played(s, r) && i < nops; i++)
			if (!has(s, SET_DROP, r, i))
				any |= smaller_step(s, r, i);
	}
	return any;
}

/* As simple as it gets: nothing goes wrong, one packet after the other. */
static bool simpler(struct shrink *s)
{
	static const struct {
		u8 field;
		u64 value;
	} simple[] = {
		{ SET_LOSS, 0 }, { SET_BURST, 0 }, { SET_DUPLICATE, 0 }, { SET_REORDER, 0 },
		{ SET_CORRUPT, 0 }, { SET_FAIL_HOLD, 0 }, { SET_FAIL_FOLD, 0 },
		{ SET_FAIL_DELIVER, 0 }, { SET_FAIL_SEND, 0 }, { SET_HOLD_LIMIT, ~0ull },
		{ SET_JITTER, 0 }, { SET_THINK, 0 }, { SET_START, 0 }, { SET_INFLIGHT, 1 },
		{ SET_GSO, 0 }, { SET_SUPER_PACKET, 1 }, { SET_FIRST_BLOCK, 0 },
		{ SET_WINDOW, INC_MIN_WINDOW }, { SET_BLOCK, INC_MIN_BLOCK }, { SET_DELAY, 10 },
		{ SET_LATE, 1000 }, { SET_FALLBACK, INC_FALLBACK_NONE },
		{ SET_FALLBACK, INC_FALLBACK_STANDBY }, { SET_STANDBYS, 0 }, { SET_STANDBYS, 1 },
		{ SET_NETWORKS, 0 }, { SET_MULTICAST, 0 }, { SET_UNABLE, 0 }, { SET_DEAF, 0 },
	};
	bool any = false;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(simple); i++)
		any |= try(s, simple[i].field, 0, 0, simple[i].value);
	return any;
}

/* The first of them only, and of those only what is needed. */
static bool fewer_mishaps(struct shrink *s)
{
	bool any = false;
	u32 n, i;

	for (n = 0; n < s->now.mishaps; n = n ? 2 * n : 1) {
		if (try(s, SET_MISHAPS, 0, 0, n)) {
			any = true;
			break;
		}
	}
	for (i = 0; i < s->now.chances && s->now.mishaps && i < SIM_MAX_SPARED; i++)
		any |= try(s, SET_SPARE, 0, 0, i);
	return any;
}

/* One bit after the other of a number that consists of bits. */
static bool fewer_bits(struct shrink *s, u8 field, u32 bits)
{
	bool any = false;
	u32 i;

	for (i = 0; i < 32; i++) {
		if (!(bits >> i & 1) || !try(s, field, 0, 0, bits & ~(1u << i)))
			continue;
		bits &= ~(1u << i);
		any = true;
	}
	return any;
}

/* Without those who lie, or with fewer of them and of their lies. */
static bool fewer_lies(struct shrink *s)
{
	struct plan_hostile h = plan_now(s)->hostile;
	u32 n, others = plan_now(s)->others;
	bool any = false;

	if (!h.who)
		return false;
	if (try(s, SET_HOSTILE, 0, 0, 0))
		return true;
	any |= fewer_bits(s, SET_HOSTILE, h.who);
	any |= fewer_bits(s, SET_HOSTILE_RANKS, h.ranks);
	any |= fewer_bits(s, SET_HOSTILE_PLACES, h.places);
	any |= fewer_bits(s, SET_HOSTILE_ROOTS, h.roots);
	any |= fewer_bits(s, SET_TRICKS, h.tricks);
	for (n = 0; n < others && !try(s, SET_OTHERS, 0, 0, n); n++)
		;
	for (n = 1; n < h.lies; n *= 2) {
		if (try(s, SET_LIES, 0, 0, n)) {
			any = true;
			break;
		}
	}
	any |= try(s, SET_LIE_RATE, 0, 0, 0);
	return any;
}

static void shortest(struct shrink *s)
{
	struct overrides o = s->best, best = s->best;
	struct attempt now = s->now;
	u32 i;

	for (i = 0; i < SHORTER && work_left(s); i++) {
		if (!override_set(&o, override_of(SET_DICE, 0, 0, ++s->dice)) ||
		    !fails_alike(s, &o) || s->now.steps >= now.steps)
			continue;
		now = s->now;
		best = o;
	}
	s->now = now;
	s->best = best;
}

/* What changes nothing is not said, but for what does not go wrong: that tells something. */
static void tidy(struct shrink *s)
{
	struct overrides o;
	struct attempt a;
	u32 i;

	for (i = s->best.n; i-- && work_left(s);) {
		if (s->best.list[i].field >= SET_LOSS && s->best.list[i].field <= SET_MISHAPS)
			continue;
		o = s->best;
		o.n--;
		memmove(o.list + i, o.list + i + 1, (o.n - i) * sizeof(*o.list));
		memset(o.list + o.n, 0, sizeof(*o.list));
		a = attempt(s, &o, NULL);
		if (!memcmp(&a, &s->now, sizeof(a)))
			s->best = o;
	}
}

static void print_size(const char *what, const struct attempt *a)
{
	printf("#   %-6s %u hosts, %u operations of %" PRIu64 " elements, %u mishaps, %" PRIu64
	       " events\n",
	       what, a->hosts, a->ops, a->elems, a->mishaps, a->steps);
}

static void print_trace(struct shrink *s)
{
	FILE *f = tmpfile();
	char line[512];
	u64 lines = 0, i;

	if (!f)
		return;
	attempt(s, &s->best, f);
	rewind(f);
	while (fgets(line, sizeof(line), f))
		lines++;
	rewind(f);
	for (i = 0; fgets(line, sizeof(line), f); i++)
		if (line[0] == '#' || i < TRACE_LINES || i + TRACE_LINES >= lines)
			printf("%s%s", line[0] == '#' ? "" : "#   ", line);
		else if (i == TRACE_LINES)
			printf("#   ... %" PRIu64 " lines ...\n", lines - 2 * TRACE_LINES);
	fclose(f);
}

static void descend(struct shrink *s)
{
	bool any = true;

	s->best = s->o->overrides;
	s->now = s->first;
	while (any && work_left(s)) {
		any = fewer_rounds(s);
		any |= fewer_hosts(s);
		any |= smaller_tree(s);
		any |= fewer_steps(s);
		any |= fewer_troubles(s);
		any |= simpler(s);
		any |= smaller_steps(s);
		any |= fewer_mishaps(s);
		any |= fewer_lies(s);
	}
	shortest(s);
}

/* One that the reader has less to do with. */
static bool smaller(const struct attempt *a, const struct attempt *b)
{
	return a->steps + 20 * (a->hosts + a->ops + a->mishaps) <
	       b->steps + 20 * (b->hosts + b->ops + b->mishaps);
}

/* Once, and again with other random decisions while there is work left. */
static void descend_often(struct shrink *s)
{
	struct overrides best;
	struct attempt now;
	u32 i;

	descend(s);
	for (i = 1; i < DESCENTS && 2 * s->work < s->most; i++) {
		best = s->best;
		now = s->now;
		descend(s);
		if (smaller(&s->now, &now))
			continue;
		s->best = best;
		s->now = now;
	}
	tidy(s);
}

void shrink(const struct options *o, u64 seed)
{
	struct shrink s = { .o = o, .seed = seed, .best = o->overrides };

	s.most = o->shrink * 1000000;
	s.sim = mmap(NULL, sizeof(*s.sim), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (s.sim == MAP_FAILED)
		return;
	s.first = attempt(&s, &s.best, NULL);
	if (!s.first.failed) {
		printf("# seed %" PRIu64 " does not fail by itself: nothing to make smaller\n",
		       seed);
		return;
	}
	descend_often(&s);
	printf("# seed %" PRIu64 " made smaller by %" PRIu64 " attempts, %.1f million events:\n",
	       seed, s.attempts, s.work / 1e6);
	print_size("before", &s.first);
	print_size("after", &s.now);
	print_trace(&s);
	print_replay(stdout, o, seed, &s.best);
	munmap(s.sim, sizeof(*s.sim));
}
