// SPDX-License-Identifier: GPL-2.0-only
/* Virtual time and links, and how much they carry. */
#include <stdarg.h>

#include "large.h"

/* What Ethernet, IP and UDP put around a packet: preamble, header, checksum, gap; 20; 8. */
#define AROUND	(8 + 14 + 4 + 12 + 20 + 8)

void die(const struct large *sys, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "inc-large: %u ranks, %llu ns: ", sys->cfg.ranks,
		(unsigned long long)sys->now);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(1);
}

struct load *load_new(struct large *sys, u64 value)
{
	struct load *l = calloc(1, sizeof(*l));

	if (!l)
		die(sys, "the machine has no memory for a block");
	l->refs = 1;
	l->value = value;
	sys->loads++;
	return l;
}

void load_put(struct large *sys, struct load *l)
{
	if (!l || --l->refs)
		return;
	sys->loads--;
	free(l);
}

struct netinc_peer peer_of(u32 addr)
{
	return (struct netinc_peer){ .addr = { 10, 1 + (addr >> 16), addr >> 8, addr },
				     .family = NETINC_AF_INET, .udp_port = cpu_to_be16(INC_PORT),
				     .ifindex = 1 };
}

u32 addr_of(const struct netinc_peer *peer)
{
	return (peer->addr[1] - 1u) << 16 | peer->addr[2] << 8 | peer->addr[3];
}

static bool before(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->serial < b->serial);
}

static void push(struct large *sys, u64 at, u32 who, struct frame *frame)
{
	struct event e = { .at = max(at, sys->now), .serial = sys->serial++, .who = who,
			   .frame = frame };
	u32 i = sys->events++;

	if (i == sys->heap_cap) {
		sys->heap_cap = max(2 * sys->heap_cap, 1024u);
		sys->heap = realloc(sys->heap, sys->heap_cap * sizeof(*sys->heap));
		if (!sys->heap)
			die(sys, "the machine has no memory for %u events", sys->heap_cap);
	}
	for (; i && before(&e, &sys->heap[(i - 1) / 2]); i = (i - 1) / 2)
		sys->heap[i] = sys->heap[(i - 1) / 2];
	sys->heap[i] = e;
}

/* The hole that the first one leaves sinks to where the last one fits. */
static struct event pop(struct large *sys)
{
	struct event first = sys->heap[0], last = sys->heap[--sys->events];
	u32 i = 0, child;

	while ((child = 2 * i + 1) < sys->events) {
		if (child + 1 < sys->events && before(&sys->heap[child + 1], &sys->heap[child]))
			child++;
		if (!before(&sys->heap[child], &last))
			break;
		sys->heap[i] = sys->heap[child];
		i = child;
	}
	sys->heap[i] = last;
	return first;
}

u64 link_time(const struct large *sys, u64 bytes)
{
	return bytes * 8000 / sys->cfg.mbit;
}

u32 packet_bytes(u32 body)
{
	return AROUND + (u32)sizeof(struct inc_hdr) + body;
}

/* The direction of the link by which a packet leaves, between a node or a host and its parent. */
static struct link *link_of(struct large *sys, u32 from, u32 to)
{
	if (from >= sys->nodes)
		return &sys->rank[from - sys->nodes].up;
	if (to >= sys->nodes)
		return &sys->rank[to - sys->nodes].down;
	return sys->node[from].parent == to ? &sys->node[from].up : &sys->node[to].down;
}

static void count(struct large *sys, u32 who, u32 bytes)
{
	if (who >= sys->nodes)
		return;
	sys->node[who].seen.packets++;
	sys->node[who].seen.bytes += bytes;
}

static void frame_free(struct large *sys, struct frame *f)
{
	load_put(sys, f->load);
	free(f);
}

static u64 far_time(const struct large *sys, u64 bytes)
{
	return bytes * 8000 / sys->cfg.far_mbit;
}

/* Marsaglia, "Xorshift RNGs", 2003: enough for what is lost. */
static u32 far_dice(struct large *sys)
{
	sys->random ^= sys->random << 13;
	sys->random ^= sys->random >> 7;
	sys->random ^= sys->random << 17;
	return (u32)(sys->random >> 16) % 10000;
}

/* False: the packet is lost, on the link or in front of it. */
static bool far_takes(struct large *sys, struct link *link, u32 bytes)
{
	u64 wait = max(link->free, sys->now) - sys->now;
	struct far *far = link->far;

	far->packets++;
	far->bytes += bytes;
	far->longest = max(far->longest, wait);
	if (wait > sys->cfg.far_queue_us * 1000ull) {
		far->overflows++;
		return false;
	}
	if (far_dice(sys) >= sys->cfg.far_loss)
		return true;
	/* it has taken its time on the link */
	link->free = max(link->free, sys->now) + far_time(sys, bytes);
	far->lost++;
	return false;
}

void net_send(struct large *sys, u32 from, u32 to, const struct netinc_pkt *pkt, const void *body,
	      u32 len, struct load *load)
{
	struct link *link = link_of(sys, from, to);
	struct frame *f = calloc(1, sizeof(*f) + len);
	u32 bytes;

	if (!f)
		die(sys, "the machine has no memory for a packet");
	f->from = from;
	f->to = to;
	f->pkt = *pkt;
	f->load = load;
	f->len = len;
	if (load)
		load->refs++;
	if (len) {
		memcpy(f->body, body, len);
		f->pkt.len = len;
	}
	bytes = packet_bytes(netinc_body_len(&f->pkt));
	sys->types[pkt->type]++;
	count(sys, from, bytes);
	count(sys, to, bytes);
	if (link->far && !far_takes(sys, link, bytes)) {
		frame_free(sys, f);
		return;
	}
	link->free = max(link->free, sys->now) +
		     (link->far ? far_time(sys, bytes) : link_time(sys, bytes));
	push(sys, link->free + (link->far ? sys->cfg.far_delay_us * 1000ull : sys->cfg.delay_ns),
	     to, f);
}

void net_timer(struct large *sys, u64 at, u32 who)
{
	push(sys, at, who, NULL);
}

static void step(struct large *sys)
{
	struct event e = pop(sys);

	sys->now = e.at;
	sys->steps++;
	if (e.who >= sys->nodes && e.frame)
		rank_rx(sys, e.who - sys->nodes, e.frame);
	else if (e.who >= sys->nodes)
		rank_timer(sys, e.who - sys->nodes);
	else if (e.frame)
		node_rx(sys, e.who, e.frame);
	else
		node_tick(sys, e.who);
	if (e.frame)
		frame_free(sys, e.frame);
}

void net_await(struct large *sys, enum await what)
{
	sys->await = what;
	sys->waiting = sys->cfg.ranks;
}

void net_came(struct large *sys, enum await what)
{
	sys->waiting -= what == sys->await;
}

void net_run(struct large *sys, u64 limit_ms, const char *what)
{
	u64 limit = sys->now + limit_ms * 1000000;

	while (sys->waiting && sys->events && sys->heap[0].at <= limit)
		step(sys);
	if (sys->waiting)
		die(sys, "%s: %u ranks have not come so far in %llu ms", what, sys->waiting,
		    (unsigned long long)limit_ms);
}

void net_run_until(struct large *sys, u64 at)
{
	while (sys->events && sys->heap[0].at <= at)
		step(sys);
}

void net_drop(struct large *sys)
{
	struct event e;

	while (sys->events) {
		e = pop(sys);
		if (e.frame)
			frame_free(sys, e.frame);
	}
}

void count_begin(struct large *sys)
{
	u32 i;

	memset(sys->types, 0, sizeof(sys->types));
	memset(sys->far, 0, sizeof(sys->far));
	for (i = 0; i < sys->nodes; i++)
		sys->node[i].seen = (struct traffic){ 0 };
}
