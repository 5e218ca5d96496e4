// SPDX-License-Identifier: GPL-2.0-only
/* Who lies in a run, when, and how often; and what lies of ranks and of nodes have in common. */
#include "sim.h"

#define MOST_LIES	400
#define LARGE_WINDOW	256

/* Numbers of which none is the network's. */
static u64 mixed(u64 x)
{
	u64 z = x + 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

u64 hostile_random(struct sim *sim)
{
	sim->hostile.random += 0x9e3779b97f4a7c15ull;
	return mixed(sim->hostile.random);
}

u64 hostile_below(struct sim *sim, u64 limit)
{
	return limit ? hostile_random(sim) % limit : 0;
}

static bool one_of(struct sim *sim, u32 n)
{
	return !hostile_below(sim, n);
}

static u64 between(struct sim *sim, u64 lo, u64 hi)
{
	return lo + hostile_below(sim, hi - lo + 1);
}

bool hostile_is_rank(const struct sim *sim, u32 rank)
{
	return (sim->plan.hostile.who & HOSTILE_RANK) && rank < SIM_MAX_HOSTS &&
	       (sim->plan.hostile.ranks >> rank & 1);
}

bool hostile_is_place(const struct sim *sim, u32 place)
{
	const struct plan_hostile *h = &sim->plan.hostile;

	if (place >= SIM_EDGE)
		return (h->who & HOSTILE_ROOT) && (h->roots >> (place - SIM_EDGE) & 1);
	return (h->who & HOSTILE_NODE) && (h->places >> place & 1);
}

bool hostile_members(const struct sim *sim)
{
	return sim->plan.hostile.who & (HOSTILE_RANK | HOSTILE_NODE | HOSTILE_ROOT);
}

bool hostile_nodes(const struct sim *sim)
{
	return sim->plan.hostile.who & (HOSTILE_NODE | HOSTILE_ROOT);
}

bool hostile_only_roots(const struct sim *sim)
{
	return (sim->plan.hostile.who & ~HOSTILE_STRANGER) == HOSTILE_ROOT;
}

bool hostile_can(const struct sim *sim, enum trick trick)
{
	return sim->plan.hostile.tricks >> trick & 1;
}

bool hostile_lies(struct sim *sim, u32 per_mille)
{
	if (sim->now >= sim->plan.calm || sim->hostile.lies >= sim->plan.hostile.lies ||
	    hostile_below(sim, 1000) >= per_mille)
		return false;
	sim->hostile.lies++;
	return true;
}

u32 hostile_near(struct sim *sim, u32 n)
{
	switch (hostile_below(sim, 8)) {
	case 0:
		return (u32)hostile_random(sim);
	case 1:
		return n + sim->plan.window * (u32)between(sim, 1, 3);
	case 2:
		return n - sim->plan.window * (u32)between(sim, 1, 3);
	case 3:
		return n + (u32)hostile_below(sim, sim->plan.window);
	case 4:
		return n - 1;
	case 5:
		return n + 1;
	default:
		return n + (u32)hostile_below(sim, 9) - 4;
	}
}

/* Blocks to which honest ranks contribute no elements: what becomes of those that another has? */
static void pick_barriers(struct sim *sim)
{
	struct plan_step *s;
	u32 r, i;

	for (r = 0; r < sim->plan.rounds; r++) {
		for (i = 0; i < sim->plan.round[r].nops; i++) {
			s = &sim->plan.round[r].step[i];
			if (s->disagree || one_of(sim, 2))
				continue;
			s->op = (struct plan_op) { .coll = INC_COLL_BARRIER };
			s->odd = s->op;
		}
	}
}

/* More blocks than a node repeats results of at once. */
static void pick_large(struct sim *sim)
{
	struct plan_step *s;
	u32 r, i;

	sim->plan.window = LARGE_WINDOW;
	for (r = 0; r < sim->plan.rounds; r++) {
		for (i = 0; i < sim->plan.round[r].nops; i++) {
			s = &sim->plan.round[r].step[i];
			if (s->disagree)
				continue;
			s->op.count *= 4;
			s->odd = s->op;
		}
	}
}

/* Nodes are often short of memory in these runs: contributions go, and come again changed. */
static void pick_pressure(struct sim *sim)
{
	struct plan *p = &sim->plan;

	if (one_of(sim, 6))
		pick_large(sim);
	if (one_of(sim, 2)) {
		p->fail_hold = between(sim, 0, 300);
		p->fail_fold = between(sim, 0, 300);
	}
	if (one_of(sim, 3))
		p->hold_limit = 2 * p->window * (p->block[0] + 48) +
				between(sim, 0, p->window * p->block[0]);
	if (!p->late_ms && one_of(sim, 3))
		pick_barriers(sim);
}

static u32 pick_ranks(struct sim *sim)
{
	u32 ranks = 1u << hostile_below(sim, sim->plan.hosts);

	while (one_of(sim, 3))
		ranks |= 1u << hostile_below(sim, sim->plan.hosts);
	return ranks;
}

/* The node is lost, and the group goes on at the edge: nothing else need befall it. */
static void pick_edge(struct sim *sim)
{
	static const u8 kinds[] = { TROUBLE_SILENT, TROUBLE_RESTART, TROUBLE_REMOVED, TROUBLE_NET };
	static const u8 when[] = { WHEN_FORMED, WHEN_DONE, WHEN_ROUND };
	struct plan *p = &sim->plan;
	struct plan_round *r;

	p->late_ms = 0;
	p->fallback = INC_FALLBACK_EDGE;
	p->standbys = one_of(sim, 8) ? p->standbys : 0;
	p->networks = true;
	for (r = p->round; r < p->round + p->rounds; r++) {
		if (one_of(sim, 4))
			continue;
		r->fault = one_of(sim, 4) ? r->fault : FAULT_NONE;
		memset(r->trouble, 0, sizeof(r->trouble));
		r->trouble[0].kind = kinds[hostile_below(sim, ARRAY_SIZE(kinds) - !!p->standbys)];
		r->trouble[0].when = when[hostile_below(sim, ARRAY_SIZE(when))];
		r->trouble[0].at = hostile_below(sim, one_of(sim, 2) ? 2000 : 100000);
	}
}

static u32 pick_tricks(struct sim *sim)
{
	u32 all = (1u << TRICK_COUNT) - 1, tricks;

	switch (hostile_below(sim, 4)) {
	case 0:
		return all;
	case 1:		/* only one way, and often */
		return 1u << hostile_below(sim, TRICK_COUNT);
	default:
		tricks = hostile_random(sim) & hostile_random(sim) & all;
		return tricks ? tricks : all;
	}
}

/* Bits of all nodes that may lie. */
static u32 all_places(const struct sim *sim)
{
	u32 nodes = sim->plan.tree.nodes ?: SIM_MAX_STANDBYS + 1;

	return (1u << nodes) - 1;
}

void hostile_pick(struct sim *sim, u32 who)
{
	struct plan_hostile *h = &sim->plan.hostile;
	u32 drawn;

	sim->hostile.random = mixed(sim->seed ^ 0xb1a5ed11e5ull);
	drawn = 0;
	if (one_of(sim, 4))
		drawn = one_of(sim, 2) ? HOSTILE_RANK : HOSTILE_NODE << hostile_below(sim, 3);
	if (drawn && one_of(sim, 8))
		drawn = between(sim, 1, HOSTILE_ALL);
	h->who = who == ~0u ? drawn : who & HOSTILE_ALL;
	h->ranks = pick_ranks(sim);
	h->places = one_of(sim, 2) ? 1 : (u32)between(sim, 1, all_places(sim));
	h->tricks = pick_tricks(sim);
	h->rate = one_of(sim, 2) ? between(sim, 1, 50) : between(sim, 1, 500);
	h->pause = between(sim, 1, one_of(sim, 2) ? 500 : 50000);
	h->lies = between(sim, 1, one_of(sim, 2) ? 20 : MOST_LIES);
	h->honest = one_of(sim, 2);
	sim->plan.others = hostile_below(sim, SIM_MAX_OTHERS + 1);
	h->roots = pick_ranks(sim);
	if (h->who & HOSTILE_RANK)
		pick_pressure(sim);
	if (h->who & HOSTILE_ROOT)
		pick_edge(sim);
	/* a second life of the group, for what was said in the first one */
	if ((h->who & HOSTILE_STRANGER) && sim->plan.rounds == 1 && !sim->plan.late_ms &&
	    one_of(sim, 2)) {
		sim->plan.round[1] = sim->plan.round[0];
		sim->plan.rounds = 2;
	}
	if (h->who)
		sim->plan.calm = min(sim->plan.calm, 3 * SIM_SEC);
	hostile_fit(sim);
}

void hostile_fit(struct sim *sim)
{
	struct plan_hostile *h = &sim->plan.hostile;
	u32 all = (1u << sim->plan.hosts) - 1;

	h->who &= HOSTILE_ALL;
	h->ranks &= all;
	h->places &= all_places(sim);
	h->tricks &= (1u << TRICK_COUNT) - 1;
	h->roots &= all;
	if (!h->roots || sim->plan.fallback != INC_FALLBACK_EDGE)
		h->who &= ~HOSTILE_ROOT;
	if (h->ranks == all)
		h->ranks &= all - 1;
	if (!h->ranks)
		h->who &= ~HOSTILE_RANK;
	if (!h->places)
		h->who &= ~HOSTILE_NODE;
	h->pause = max(h->pause, 1u);
}

void hostile_print(const struct sim *sim)
{
	const struct plan_hostile *h = &sim->plan.hostile;

	if (!h->who)
		return;
	printf("# hostile:");
	if (h->who & HOSTILE_RANK)
		printf(" ranks %#x, %s afterwards,", h->ranks, h->honest ? "honest" : "silent");
	if (h->who & HOSTILE_NODE)
		printf(" places %#x,", h->places);
	if (h->who & HOSTILE_ROOT)
		printf(" roots of trees %#x,", h->roots);
	if (h->who & HOSTILE_STRANGER)
		printf(" a stranger,");
	printf(" tricks %#x, %u of 1000 packets, every %u us, at most %u times\n", h->tricks,
	       h->rate, h->pause, h->lies);
}

static void again(struct sim *sim, u64 from, u32 who)
{
	sim_at(sim, from + 1 + hostile_below(sim, 2 * sim->plan.hostile.pause), EV_HOSTILE, who,
	       NULL);
}

/* What is heard in a round may be said again in the next one only where a stranger says it. */
void hostile_start(struct sim *sim)
{
	u32 i;

	sim->hostile.njoins = 0;
	sim->hostile_over = false;
	for (i = 0; i < sim->plan.hosts; i++)
		if (hostile_is_rank(sim, i))
			again(sim, sim->round_begin, i);
	for (i = 0; i < SIM_PLACES; i++)
		if (hostile_is_place(sim, i))
			again(sim, sim->round_begin, SIM_NODE + i);
	if (sim->plan.hostile.who & HOSTILE_STRANGER)
		again(sim, sim->round_begin, SIM_STRANGER);
}

/* Its whole box is gone. */
static void fall_silent(struct host *h)
{
	h->gone = true;
	h->frozen = true;
}

/* When all must go well again, who has lied is heard no more, or as an honest rank only. */
static void calm_down(struct sim *sim, u32 who)
{
	if (who < SIM_MAX_HOSTS && !sim->plan.hostile.honest) {
		sim_trace(sim, "rank %u lies no more, and is silent", who);
		fall_silent(&sim->host[who]);
	} else if (who >= SIM_NODE && who < SIM_NODE + SIM_PLACES) {
		sim_trace(sim, "node %u lies no more, and is silent", who - SIM_NODE);
		sim->node[who - SIM_NODE].silent = true;
	}
}

void hostile_event(struct sim *sim, u32 who)
{
	if (sim->now >= sim->plan.calm || sim->hostile.lies >= sim->plan.hostile.lies) {
		if (sim->now >= sim->plan.calm)
			calm_down(sim, who);
		else
			sim_at(sim, sim->plan.calm, EV_HOSTILE, who, NULL);
		return;
	}
	if (hostile_lies(sim, 1000)) {
		if (who == SIM_STRANGER)
			stranger_now(sim);
		else if (who >= SIM_NODE)
			hostile_node_now(&sim->node[who - SIM_NODE]);
		else
			hostile_rank_now(&sim->host[who]);
	}
	again(sim, sim->now, who);
}

void hostile_end(struct sim *sim)
{
	u32 i;

	sim->hostile_over = true;
	for (i = 0; i < sim->plan.hosts; i++) {
		if (hostile_is_rank(sim, i)) {
			fall_silent(&sim->host[i]);
			sim->host[i].finished = true;
		}
	}
}

void hostile_free(struct sim *sim)
{
	u32 kind, i;

	for (kind = 0; kind < HEARD_KINDS; kind++) {
		for (i = 0; i < sim->hostile.nheard[kind]; i++)
			dgram_put(sim, sim->hostile.heard[kind][i].d);
		sim->hostile.nheard[kind] = 0;
	}
}

/*
 * Lies end with plan.calm. From then on who is silent is found dead, as often as there are places
 * to go to; and what members say of the dead limit, as a node has told them, is a minute at most.
 */
u64 hostile_bound(const struct sim *sim)
{
	u64 dead = sim->plan.dead_ms * NETINC_MS, places = 1;

	if (!hostile_members(sim))
		return 0;
	if (sim->plan.fallback)
		places += sim->plan.standbys + 1;
	if (hostile_nodes(sim)) {
		dead = 60 * SIM_SEC;
		places = SIM_MAX_STANDBYS + 3;
	}
	return 8 * places * (dead + SIM_SEC);
}

/* JOIN with its proof. */
static bool is_proved(const struct dgram *d)
{
	const struct inc_hdr *hdr = (const struct inc_hdr *)d->data;
	const struct inc_join *join = (const struct inc_join *)(hdr + 1);

	return (hdr->vertype & 0xf) == INC_PKT_JOIN && d->len >= sizeof(*hdr) + sizeof(*join) &&
	       join->challenge;
}

static enum heard_kind kind_of(const struct dgram *d)
{
	switch (((const struct inc_hdr *)d->data)->vertype & 0xf) {
	case INC_PKT_JOIN:
		return is_proved(d) ? HEARD_PROOF : HEARD_OTHER;
	case INC_PKT_CHALLENGE:
		return HEARD_CHALLENGE;
	case INC_PKT_READY:
		return HEARD_READY;
	case INC_PKT_RESULT:
		return HEARD_RESULT;
	default:
		return HEARD_OTHER;
	}
}

/* The place at an address. */
static struct node *place_at(struct sim *sim, u32 addr)
{
	return &sim->node[addr >= SIM_NODE ? addr - SIM_NODE : SIM_EDGE + addr];
}

void hostile_hear(struct sim *sim, u32 from, u32 to, u32 net, struct dgram *d)
{
	struct hostile *h = &sim->hostile;
	enum heard_kind kind = kind_of(d);
	struct heard *heard;

	if (!sim->plan.hostile.who || (kind >= HEARD_RESULT && hostile_below(sim, 4)))
		return;
	heard = &h->heard[kind][h->nheard[kind] < HOSTILE_HEARD ?
					h->nheard[kind]++ :
					hostile_below(sim, HOSTILE_HEARD)];
	if (heard->d)
		dgram_put(sim, heard->d);
	*heard = (struct heard){
		.d = dgram_get(d), .from = from, .to = to, .net = net, .round = sim->round,
		.generation = place_at(sim, to)->generation,
	};
}

/*
 * JOIN with its proof, of a rank that is gone, makes it a member again as long as the challenge is
 * good: until the group has formed or gone. That is the one thing that it is known to be good for.
 */
static bool is_good(struct sim *sim, const struct heard *h)
{
	return is_proved(h->d) && place_at(sim, h->to)->generation == h->generation;
}

const struct heard *hostile_heard(struct sim *sim, u32 round)
{
	u32 kind = (u32)hostile_below(sim, HEARD_KINDS);
	u32 at = (u32)hostile_below(sim, sim->hostile.nheard[kind]);
	const struct heard *h = &sim->hostile.heard[kind][at];

	return h->d && h->round < round && !is_good(sim, h) ? h : NULL;
}

struct dgram *hostile_rebuild(struct sim *sim, const struct dgram *d, const struct netinc_pkt *pkt)
{
	u32 len = sizeof(struct inc_hdr) + netinc_body_len(pkt), i;
	struct dgram *copy = dgram_new(sim, len);

	for (i = sizeof(struct inc_hdr); i < len; i++)
		copy->data[i] = i < d->len ? d->data[i] : (u8)hostile_random(sim);
	netinc_build((struct inc_hdr *)copy->data, pkt);
	return copy;
}

/* With payload there is one block, and there are bytes. */
static void change_payload(struct sim *sim, struct netinc_pkt *pkt)
{
	if ((pkt->flags & INC_F_PAYLOAD) && one_of(sim, 2)) {
		pkt->flags &= ~(INC_F_PAYLOAD | INC_F_FINAL);
		pkt->len = 0;
		return;
	}
	pkt->flags |= INC_F_PAYLOAD | (one_of(sim, 4) ? INC_F_ZERO : 0);
	pkt->span = 1;
	if (pkt->flags & INC_F_ZERO)
		pkt->span = between(sim, 1, 2 * sim->plan.window);
	pkt->len = between(sim, 1, one_of(sim, 4) ? INC_MAX_BLOCK : sim->plan.block[0]);
	if (one_of(sim, 2))
		pkt->len = round_up(pkt->len, 16u);
	if (!pkt->dtype) {
		pkt->dtype = between(sim, 1, INC_TYPE_MAX);
		pkt->dop = hostile_below(sim, __INC_OP_MAX);
	}
}

static void change_flags(struct sim *sim, struct netinc_pkt *pkt)
{
	static const u16 flags[] = {
		INC_F_WANT, INC_F_FINAL, INC_F_RETRANS, INC_F_LEAVE, INC_F_CE, INC_F_ECE,
	};
	u32 n = (u32)between(sim, 1, 2);

	while (n--)
		pkt->flags ^= flags[hostile_below(sim, ARRAY_SIZE(flags))];
	if (!(pkt->flags & INC_F_PAYLOAD))
		pkt->flags &= ~INC_F_FINAL;
}

static bool change_one(struct sim *sim, struct netinc_pkt *pkt)
{
	const u32 tries = 8;
	u32 i;

	for (i = 0; i < tries; i++) {
		enum trick trick = hostile_below(sim, TRICK_ECE + 1);

		if (!hostile_can(sim, trick))
			continue;
		switch (trick) {
		case TRICK_FLAGS:
			change_flags(sim, pkt);
			return true;
		case TRICK_SPAN:
			pkt->flags &= ~(INC_F_PAYLOAD | INC_F_DESC | INC_F_FINAL);
			pkt->len = 0;
			pkt->span = one_of(sim, 4) ? (u16)(hostile_random(sim) | 1) :
						     between(sim, 1, 2 * sim->plan.window);
			return true;
		case TRICK_OPSEQ:
			pkt->opseq = one_of(sim, 2) ? pkt->opseq - 1 :
						      hostile_near(sim, pkt->opseq);
			return true;
		case TRICK_SIG:
			pkt->sig = one_of(sim, 2) ? 0 : (u32)hostile_random(sim);
			return true;
		case TRICK_TYPE:
			pkt->dtype = hostile_below(sim, INC_TYPE_MAX + 1);
			pkt->dop = hostile_below(sim, __INC_OP_MAX);
			pkt->mode = hostile_below(sim, 2) ? INC_MODE_SATURATE : 0;
			return true;
		case TRICK_PAYLOAD:
			change_payload(sim, pkt);
			return true;
		case TRICK_DESC:
			pkt->flags ^= INC_F_DESC;
			pkt->span = 1;
			return true;
		case TRICK_PSN:
			pkt->psn = hostile_near(sim, pkt->psn);
			return true;
		default:
			pkt->flags |= INC_F_ECE;
			return true;
		}
	}
	return false;
}

bool hostile_change(struct sim *sim, struct netinc_pkt *pkt)
{
	bool changed = change_one(sim, pkt);

	/* as the parser lets it pass */
	if (!(pkt->flags & INC_F_PAYLOAD) || (pkt->flags & (INC_F_FINAL | INC_F_DESC)))
		pkt->flags &= ~INC_F_ZERO;
	if ((pkt->flags & (INC_F_PAYLOAD | INC_F_ZERO)) == INC_F_PAYLOAD)
		pkt->span = 1;
	return changed;
}

void hostile_scribble(struct sim *sim, u8 *body, u32 len)
{
	u32 n = (u32)between(sim, 1, 3), words = len / 4, at;
	__be32 v;

	while (words && n--) {
		at = 4 * (u32)hostile_below(sim, words);
		memcpy(&v, body + at, sizeof(v));
		v = cpu_to_be32(one_of(sim, 4) ? 0 : hostile_near(sim, be32_to_cpu(v)));
		memcpy(body + at, &v, sizeof(v));
	}
}
