// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets of a group to and from the parent of its node (kernel/node/uplink_io.c): what one
 * received buffer may cost, which group it is for, and partials that leave together.
 */
#include "ktap.h"
#include "siphash.h"

/* instead of these */
#define NETINC_CORE_NF_HOOKS_H
#define NETINC_NODE_NODE_GROUP_H
#define NETINC_NODE_TENANT_H
#define INC_STUB_RANDOM_H
#include "stub/uplink_io.h"
#include "node/uplink_io.c"

#define GROUP	7u
#define RUN	5u	/* of the group at the parent */
#define NONCE	77u
#define SEGMENT	100u
#define GROUPS	3u

unsigned short netinc_port = 5227;

/* What becomes of one segment, and what it costs. */
struct segment {
	u8 type;
	u32 group, incarnation;
	u32 cost;
	int err;
};

static struct {
	struct netinc_net nn;
	struct netinc_node_group g[GROUPS];
	struct rhlist_head chain[GROUPS];
	u32 of_nonce, of_run;	/* groups that are found by nonce, by incarnation */
	const struct segment *segment;	/* of the buffer, which ends with type 0 */
	u32 at;			/* the one at hand */
	bool broken;		/* what follows the last one is malformed */
	bool long_body;
	u32 mtu;
	u32 work;		/* that a buffer may cost; 0: what it may for the engine */
	u32 results, controls, congested, dropped;
	enum inc_counter why;
	u32 offers, hands;	/* that are left */
	u64 now, last, held, worked;
	struct sk_buff *sent[16];
	u32 nsent;
	struct netinc_gso_buf buf;
	bool no_memory;
} env;

u32 get_random_u32(void)
{
	return 0;
}

u64 ktime_get_ns(void)
{
	return env.now * 1000;
}

u64 netinc_now(void)
{
	return env.now;
}

int netinc_path_init(struct netinc_path *path, struct net *net, const struct netinc_peer *peer,
		     __be16 sport, u32 oif, gfp_t gfp)
{
	(void)net;
	(void)sport;
	(void)oif;
	(void)gfp;
	path->peer = *peer;
	return env.no_memory ? -ENOMEM : 0;
}

int netinc_path_mtu(struct netinc_path *path)
{
	(void)path;
	return env.mtu;
}

int netinc_txq_add(int *txq, struct netinc_path *path, struct sk_buff *skb)
{
	(void)txq;
	(void)path;
	if (expect(env.nsent < ARRAY_SIZE(env.sent), "more packets than there should be"))
		env.sent[env.nsent++] = skb;
	else
		free(skb);
	return 0;
}

u32 netinc_skb_packets(const struct sk_buff *skb)
{
	return DIV_ROUND_UP(skb->len, SEGMENT);
}

u32 netinc_skb_ip_bytes(const struct sk_buff *skb, u32 headers)
{
	return skb->len + headers;
}

static struct sk_buff *skb_of(const void *data, u32 len)
{
	struct sk_buff *skb = calloc(1, sizeof(*skb));

	skb->len = len;
	memcpy(skb->data, data, len);
	return skb;
}

struct sk_buff *netinc_control_skb(const struct netinc_pkt *pkt, const void *body, u32 len)
{
	(void)pkt;
	return skb_of(body, len);
}

struct sk_buff *netinc_header_skb(const struct netinc_pkt *pkt)
{
	return skb_of(pkt, sizeof(*pkt));
}

struct sk_buff *netinc_gso_buf_skb(struct netinc_gso_buf *s, u32 first, u32 n)
{
	return skb_of(s->segment[first], n * sizeof(s->segment[0]));
}

const void *netinc_gso_buf_segment(const struct netinc_gso_buf *s, u32 at)
{
	return s->segment[at];
}

void netinc_gso_buf_get(struct netinc_gso_buf *s)
{
	s->refs++;
}

struct sk_buff *alloc_skb(u32 len, gfp_t gfp)
{
	struct sk_buff *skb = calloc(1, sizeof(*skb));

	(void)gfp;
	skb->room = len;
	return skb;
}

void skb_reserve(struct sk_buff *skb, u32 len)
{
	skb->room -= len;
}

void *skb_put_data(struct sk_buff *skb, const void *data, u32 len)
{
	expect(len <= skb->room - skb->len, "%u bytes where %u have room", len, skb->room);
	memcpy(skb->data + skb->len, data, len);
	skb->len += len;
	return skb->data + skb->len - len;
}

void netinc_fold_put(struct netinc_node_group *g, struct netinc_gso_buf *s)
{
	(void)g;
	s->refs--;
}

void netinc_fold_begin(struct netinc_node_group *g)
{
	(void)g;
}

void netinc_fold_end(struct netinc_node_group *g)
{
	(void)g;
}

void netinc_fpu_section_outside(void)
{
}

void netinc_node_group_lock(struct netinc_node_group *g)
{
	(void)g;
	env.now += env.held;
	env.last = env.now;
}

void netinc_node_group_unlock(struct netinc_node_group *g)
{
	(void)g;
}

bool netinc_node_group_in_vrf(const struct netinc_node_group *g, u32 vrf)
{
	return g->creator.vrf == vrf;
}

void netinc_tenant_worked(struct netinc_tenant *tenant, u64 nsec)
{
	(void)tenant;
	env.worked += nsec;
}

struct rhlist_head *netinc_demux_find(struct netinc_net *nn, const struct netinc_demux_key *key)
{
	u32 n = key->kind == NETINC_DEMUX_UPLINK ? env.of_run : env.of_nonce;

	(void)nn;
	return key->group == GROUP && n ? &env.chain[GROUPS - n] : NULL;
}

u32 netinc_rx_packets(const struct netinc_rx *rx)
{
	return DIV_ROUND_UP(rx->skb->len, rx->seg_size);
}

u32 netinc_rx_bytes(const struct netinc_rx *rx)
{
	return rx->skb->len;
}

static void look_at(struct netinc_rx *rx)
{
	const struct segment *s = &env.segment[env.at];

	rx->pkt = (struct netinc_pkt){ .type = s->type, .group = s->group, .span = 1,
				       .incarnation = s->incarnation, .ce = rx->ce };
}

int netinc_rx_next(struct netinc_rx *rx)
{
	if (!env.segment[env.at + 1].type)
		return env.broken ? -INC_C_DROP_MALFORMED : 0;
	env.at++;
	rx->left -= SEGMENT;
	look_at(rx);
	return 1;
}

const void *netinc_rx_body(const struct netinc_rx *rx, void *buf)
{
	(void)rx;
	return env.long_body ? NULL : buf;
}

bool netinc_rx_nonce(const struct netinc_rx *rx, u32 *nonce)
{
	(void)rx;
	*nonce = NONCE;
	return true;
}

bool netinc_rx_may_offer(struct netinc_rx *rx)
{
	(void)rx;
	return env.offers && env.offers--;
}

bool netinc_rx_may_hand(struct netinc_rx *rx)
{
	(void)rx;
	return env.hands && env.hands--;
}

void netinc_rx_dropped(struct netinc_rx *rx, u32 group, enum inc_counter reason)
{
	expect(group == GROUP, "a packet of group %u is dropped", group);
	rx->drop = reason;
	env.dropped++;
	env.why = reason;
}

void netinc_group_buffer_begin(struct netinc_group *g)
{
	netinc_agg_buffer_begin(&g->agg);
	if (env.work)
		g->agg.work_left = env.work;
}

/* The segment at hand, and those behind it. */
static u32 to_come(void)
{
	u32 n = 1;

	while (env.segment[env.at + n].type)
		n++;
	return n;
}

static int taken(struct netinc_group *g, const struct netinc_pkt *pkt, u64 now)
{
	const struct segment *s = &env.segment[env.at];
	struct netinc_node_group *ng = container_of(g, struct netinc_node_group, grp);

	expect(ng->rx_left == to_come(), "%u are still to come", ng->rx_left);
	expect(now == env.last, "the time is not that of the lock");
	expect(pkt->type == s->type, "type %u", pkt->type);
	if (s->cost)
		expect(netinc_agg_take_work(&g->agg, s->cost), "there is no work left");
	return s->err;
}

int netinc_group_result(struct netinc_group *g, const struct netinc_pkt *pkt,
			const struct netinc_pay *pay, u64 now)
{
	(void)pay;
	env.results++;
	env.congested += pkt->ce;
	return taken(g, pkt, now);
}

int netinc_group_from_parent(struct netinc_group *g, const struct netinc_pkt *pkt,
			     const void *body, u64 now)
{
	(void)body;
	env.controls++;
	return taken(g, pkt, now);
}

struct netinc_pay netinc_agg_partial(const struct netinc_slot *slot, u32 part)
{
	(void)part;
	return slot->result;
}

void netinc_agg_up_header(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 part,
			  struct netinc_pkt *pkt)
{
	(void)agg;
	*pkt = (struct netinc_pkt){ .type = INC_PKT_CONTRIB, .psn = (u32)slot->q, .span = 1,
				    .opseq = slot->opseq, .sig = slot->sig, .len = slot->len,
				    .flags = slot->flags | (part ? INC_F_PART : 0) };
}

static struct netinc_peer parent_at(u8 host)
{
	return (struct netinc_peer){ .addr = { 10, 0, 0, host }, .family = NETINC_AF_INET,
				     .udp_port = htons(netinc_port) };
}

static void begin(void)
{
	u32 i;

	memset(&env, 0, sizeof(env));
	env.offers = 100;
	env.hands = 100;
	env.now = 1000;
	env.of_run = 1;
	for (i = 0; i < GROUPS; i++) {
		struct netinc_node_group *g = &env.g[i];

		g->nn = &env.nn;
		g->grp.cfg.id = GROUP;
		g->grp.cfg.has_parent = true;
		g->grp.cfg.up_nonce = NONCE;
		g->grp.up.incarnation = RUN;
		g->grp.up.up_cookie = 0x1234;
		g->grp.agg.window = 16;
		g->up_path.peer = parent_at(1);
		/* the last one alone, or the last two, ... */
		env.chain[i].g = g;
		env.chain[i].next = i + 1 < GROUPS ? &env.chain[i + 1] : NULL;
	}
}

static struct netinc_node_group *last_group(void)
{
	return &env.g[GROUPS - 1];
}

static u64 counted(enum inc_counter c)
{
	return last_group()->grp.counters[c];
}

static struct netinc_rx buffer_of(const struct segment *segment, struct sk_buff *skb)
{
	struct netinc_rx rx = { .nn = &env.nn, .skb = skb, .peer = parent_at(1),
				.seg_size = SEGMENT, .work = 1u << 20 };
	u32 n = 0;

	while (segment[n].type)
		n++;
	skb->len = n * SEGMENT;
	/* of the first one the header has been taken */
	rx.left = (n - 1) * SEGMENT;
	env.segment = segment;
	env.at = 0;
	look_at(&rx);
	return rx;
}

static struct netinc_rx receive(const struct segment *segment)
{
	static struct sk_buff skb;
	struct netinc_rx rx = buffer_of(segment, &skb);

	expect(netinc_uplink_rx_skb(&rx), "it is for nobody");
	return rx;
}

static void test_segments(void)
{
	static const struct segment s[] = {
		{ INC_PKT_RESULT, GROUP, RUN, 1, 0 }, { INC_PKT_STATUS, GROUP, RUN, 3, 0 },
		{ INC_PKT_RESULT, GROUP, RUN, 1, 0 }, {},
	};
	struct netinc_rx rx;

	begin();
	env.held = 30;
	rx = receive(s);
	expect(env.results == 2 && env.controls == 1 && !env.dropped, "%u results, %u, dropped %u",
	       env.results, env.controls, env.dropped);
	expect(rx.used && rx.work == (1u << 20) - 5, "work %u", rx.work);
	expect(counted(INC_C_RX_PACKETS) == 3 && counted(INC_C_RX_BYTES) == 3 * SEGMENT &&
	       counted(INC_C_RX_SKBS) == 1, "%llu packets",
	       (unsigned long long)counted(INC_C_RX_PACKETS));
	/* the wait for the lock is the group's */
	expect(env.worked == 30000 && last_group()->unbooked == 30000, "%llu ns",
	       (unsigned long long)env.worked);
}

/* Others' segments in one buffer with the parent's are dropped, and do not end it. */
static void test_others(void)
{
	static const struct segment s[] = {
		{ INC_PKT_RESULT, GROUP, RUN, 1, 0 }, { INC_PKT_RESULT, GROUP + 1, RUN, 1, 0 },
		{ INC_PKT_RESULT, GROUP, RUN + 1, 1, 0 },
		{ INC_PKT_STATUS, GROUP, RUN, 1, -INC_C_DROP_COOKIE },
		{ INC_PKT_RESULT, GROUP, RUN, 1, 0 }, {},
	};
	static const struct segment useless[] = {
		{ INC_PKT_STATUS, GROUP, RUN, 1, -INC_C_DROP_EPOCH }, {},
	};
	struct netinc_rx rx;

	begin();
	rx = receive(s);
	expect(env.results == 2 && env.controls == 1 && env.dropped == 3, "%u results, dropped %u",
	       env.results, env.dropped);
	expect(rx.used && rx.drop == INC_C_DROP_COOKIE, "reason %u", rx.drop);
	/* a look each, also at what is not for the group */
	expect(rx.work == (1u << 20) - 5, "work %u", rx.work);
	/* nothing of it is of use */
	begin();
	rx = receive(useless);
	expect(!rx.used && rx.drop == INC_C_DROP_EPOCH, "it is used");
}

/* What a buffer may cost ends it: what follows is dropped unseen, and counted once. */
static void test_work(void)
{
	static const struct segment s[] = {
		{ INC_PKT_RESULT, GROUP, RUN, 4, 0 }, { INC_PKT_RESULT, GROUP, RUN, 4, 0 },
		{ INC_PKT_RESULT, GROUP, RUN, 1, 0 }, { INC_PKT_RESULT, GROUP, RUN, 1, 0 }, {},
	};
	static const struct segment no_looks[] = {
		{ INC_PKT_STATUS, GROUP, RUN, 0, 0 }, { INC_PKT_STATUS, GROUP, RUN, 0, 0 },
		{ INC_PKT_STATUS, GROUP, RUN, 0, 0 }, {},
	};
	static struct sk_buff skb;
	struct netinc_rx rx;

	begin();
	env.work = 8;
	rx = receive(s);
	expect(env.results == 2 && counted(INC_C_DROP_WORK) == 1, "%u results, %llu dropped",
	       env.results, (unsigned long long)counted(INC_C_DROP_WORK));
	expect(env.dropped == 1 && env.why == INC_C_DROP_WORK, "reason %u", env.why);
	expect(rx.work == (1u << 20) - 8, "work %u", rx.work);
	/* there are just enough for all */
	begin();
	env.work = 10;
	receive(s);
	expect(env.results == 4 && !env.dropped, "%u results", env.results);
	/* what others have used of the buffer's */
	begin();
	rx = buffer_of(s, &skb);
	rx.work = 4;
	expect(netinc_uplink_rx_skb(&rx), "it is for nobody");
	expect(env.results == 1 && !rx.work && counted(INC_C_DROP_WORK) == 1, "%u results",
	       env.results);
	/* for which nothing is looked at costs a look */
	begin();
	env.work = 2;
	receive(no_looks);
	expect(env.controls == 2 && counted(INC_C_DROP_WORK) == 1, "%u of three", env.controls);
}

static void test_malformed(void)
{
	static const struct segment s[] = { { INC_PKT_RESULT, GROUP, RUN, 1, 0 }, {} };
	static const struct segment control[] = { { INC_PKT_STATUS, GROUP, RUN, 0, 0 }, {} };
	struct netinc_rx rx;

	begin();
	env.broken = true;
	rx = receive(s);
	expect(env.results == 1 && rx.used && counted(INC_C_DROP_MALFORMED) == 1, "%u results",
	       env.results);
	expect(env.why == INC_C_DROP_MALFORMED, "reason %u", env.why);
	begin();
	env.long_body = true;
	rx = receive(control);
	expect(!env.controls && !rx.used && counted(INC_C_DROP_MALFORMED) == 1, "a long body");
}

/* Congestion that the buffer has met is that of each result in it. */
static void test_congestion(void)
{
	static const struct segment s[] = { { INC_PKT_RESULT, GROUP, RUN, 1, 0 },
					    { INC_PKT_RESULT, GROUP, RUN, 1, 0 }, {} };
	static struct sk_buff skb;
	struct netinc_rx rx;

	begin();
	rx = buffer_of(s, &skb);
	rx.ce = true;
	expect(netinc_uplink_rx_skb(&rx), "it is for nobody");
	expect(env.congested == 2 && counted(INC_C_CONGESTED) == 1, "%u results, %llu buffers",
	       env.congested, (unsigned long long)counted(INC_C_CONGESTED));
}

static bool is_taken(struct netinc_rx *rx)
{
	u32 before = env.results + env.controls;

	env.at = 0;
	netinc_uplink_rx_skb(rx);
	return env.results + env.controls > before;
}

/* From the parent's address, in its VRF, to the run that it has told, or to the nonce of a JOIN. */
static void test_whose(void)
{
	static const struct segment s[] = { { INC_PKT_RESULT, GROUP, RUN, 1, 0 }, {} };
	static const struct segment of_join[] = { { INC_PKT_READY, GROUP, 1, 1, 0 }, {} };
	static const struct segment refused[] = { { INC_PKT_REFUSE, GROUP, RUN, 1, 0 }, {} };
	static struct sk_buff skb;
	struct netinc_rx rx;

	begin();
	rx = buffer_of(s, &skb);
	expect(is_taken(&rx), "the parent's");
	rx.peer.udp_port = 0;
	expect(is_taken(&rx), "from another port");
	rx.peer = parent_at(2);
	expect(!is_taken(&rx), "from somebody else");
	rx.peer = parent_at(1);
	rx.vrf = 1;
	expect(!is_taken(&rx), "of another VRF");
	rx.vrf = 0;
	last_group()->grp.cfg.has_parent = false;
	expect(!is_taken(&rx), "it has no parent");
	last_group()->grp.cfg.has_parent = true;
	last_group()->dead = true;
	expect(!is_taken(&rx), "it is dead");
	expect(!counted(INC_C_DROP_NO_GROUP), "it counts");
	begin();
	env.of_nonce = 1;
	env.of_run = 0;
	rx = buffer_of(of_join, &skb);
	expect(is_taken(&rx), "an answer to JOIN");
	last_group()->grp.cfg.up_nonce++;
	expect(!is_taken(&rx), "an answer to another JOIN");
	/* a parent that has forgotten the group knows the cookie of what it refuses only */
	begin();
	last_group()->grp.cfg.up_nonce++;
	rx = buffer_of(refused, &skb);
	expect(!is_taken(&rx), "refused without cookie");
	rx.pkt.cookie = 0x1234;
	expect(is_taken(&rx), "refused with the cookie");
	rx.pkt.cookie++;
	expect(!is_taken(&rx), "refused with another cookie");
	rx.pkt.cookie--;
	rx.pkt.type = INC_PKT_WAIT;
	expect(!is_taken(&rx), "WAIT with the cookie");
}

/* Groups that one packet may be for: a look each at most, and a copy of it for some. */
static void test_many(void)
{
	static const struct segment s[] = { { INC_PKT_RESULT, GROUP, RUN, 1, 0 }, {} };
	static struct sk_buff skb;
	struct netinc_rx rx;

	begin();
	env.of_run = 3;
	rx = buffer_of(s, &skb);
	expect(netinc_uplink_rx_skb(&rx) && env.results == 3, "%u groups", env.results);
	expect(env.offers == 97 && env.hands == 97 && rx.work == (1u << 20) - 3, "work %u",
	       rx.work);
	/* it is not for the first one */
	env.g[0].grp.up.incarnation++;
	env.results = 0;
	rx = buffer_of(s, &skb);
	expect(netinc_uplink_rx_skb(&rx) && env.results == 2 && rx.used, "%u groups",
	       env.results);
	expect(env.offers == 94 && env.hands == 95, "%u offers, %u copies", env.offers, env.hands);
	env.offers = 2;
	env.results = 0;
	rx = buffer_of(s, &skb);
	expect(netinc_uplink_rx_skb(&rx) && env.results == 1, "%u of two offers", env.results);
	env.offers = 3;
	env.hands = 1;
	env.results = 0;
	rx = buffer_of(s, &skb);
	expect(netinc_uplink_rx_skb(&rx) && env.results == 1, "%u of one copy", env.results);
	/* nobody has it */
	rx = buffer_of(s, &skb);
	rx.pkt.group++;
	expect(!netinc_uplink_rx_skb(&rx), "it is somebody's");
}

static struct netinc_slot partial_at(u64 q, u32 at)
{
	return (struct netinc_slot){
		.q = q, .opseq = 3, .sig = 9, .len = 64, .flags = INC_F_PAYLOAD,
		.result = { .obj = &env.buf, .off = at, .len = 80, .kind = NETINC_PAY_RESULT },
	};
}

static void send_partial(const struct netinc_slot *slot, u32 part, bool again)
{
	netinc_uplink_send_partial(&last_group()->grp.agg, slot, part, again);
}

static void expect_sent(u32 n, const char *what)
{
	expect(env.nsent == n, "%s: %u packets, expected %u", what, env.nsent, n);
}

static void free_sent(void)
{
	while (env.nsent)
		free(env.sent[--env.nsent]);
}

/* Those that lie side by side in one buffer leave together; one sent again alone, and says so. */
static void test_partials(void)
{
	struct netinc_slot slot;
	u32 i;

	begin();
	for (i = 0; i < 4; i++)
		((struct inc_hdr *)env.buf.segment[i])->psn = cpu_to_be32(100 + i);
	for (i = 0; i < 2; i++) {
		slot = partial_at(i, i);
		send_partial(&slot, 0, false);
	}
	expect_sent(0, "they wait");
	expect(env.buf.refs == 1, "%u references", env.buf.refs);
	slot = partial_at(3, 3);
	send_partial(&slot, 0, false);
	expect_sent(1, "a gap");
	netinc_uplink_flush(last_group());
	expect_sent(2, "flushed");
	expect(env.sent[0]->len == 512 && env.sent[1]->len == 256, "lengths %u and %u",
	       env.sent[0]->len, env.sent[1]->len);
	expect(!env.buf.refs, "%u references", env.buf.refs);
	netinc_uplink_flush(last_group());
	expect_sent(2, "nothing waits");
	send_partial(&slot, 0, true);
	expect_sent(3, "again");
	expect(env.sent[2]->len == 80, "%u bytes", env.sent[2]->len);
	expect(((struct inc_hdr *)env.sent[2]->data)->flags == cpu_to_be16(INC_F_RETRANS) &&
	       ((struct inc_hdr *)env.sent[2]->data)->psn == cpu_to_be32(103), "its header");
	expect(!((struct inc_hdr *)env.buf.segment[3])->flags, "the one that is kept says so, too");
	free_sent();
}

static void expect_header(u32 i, u32 psn, u32 span, u16 flags)
{
	const struct netinc_pkt *pkt;

	if (!expect(i < env.nsent, "header %u is missing", i))
		return;
	pkt = (const void *)env.sent[i]->data;
	expect(pkt->psn == psn && pkt->span == span && pkt->flags == flags,
	       "header %u: %u + %u, flags %#x", i, pkt->psn, pkt->span, pkt->flags);
}

/* Without elements: those in a row that look alike are one header. */
static void test_empty(void)
{
	struct netinc_slot slot = { .opseq = 3, .sig = 9 };

	begin();
	for (slot.q = 10; slot.q < 13; slot.q++)
		send_partial(&slot, 0, false);
	slot.q++;
	send_partial(&slot, 0, false);	/* 14 */
	slot.q++;
	slot.opseq++;
	send_partial(&slot, 0, false);
	slot.q++;
	slot.sig++;
	send_partial(&slot, 0, false);
	slot.q++;
	slot.flags = INC_F_PAYLOAD | INC_F_ZERO;
	send_partial(&slot, 0, false);
	slot.q++;
	slot.len = 8;
	send_partial(&slot, 0, false);
	slot.q++;
	send_partial(&slot, 0, true);
	slot.q++;
	send_partial(&slot, 0, true);
	slot.q++;
	/* of a part each is alone */
	send_partial(&slot, 1, false);
	slot.q++;
	send_partial(&slot, 1, false);
	expect_sent(8, "before the end");
	netinc_uplink_flush(last_group());
	expect_sent(9, "at the end");
	expect_header(0, 10, 3, 0);
	expect_header(1, 14, 1, 0);
	expect_header(2, 15, 1, 0);
	expect_header(3, 16, 1, 0);
	expect_header(4, 17, 1, INC_F_PAYLOAD | INC_F_ZERO);
	expect_header(5, 18, 1, INC_F_PAYLOAD | INC_F_ZERO);
	expect_header(6, 19, 2, INC_F_PAYLOAD | INC_F_ZERO | INC_F_RETRANS);
	expect_header(7, 21, 1, INC_F_PAYLOAD | INC_F_ZERO | INC_F_PART);
	expect_header(8, 22, 1, INC_F_PAYLOAD | INC_F_ZERO | INC_F_PART);
	free_sent();
}

/* A header says 65535 blocks at most. */
static void test_long_empty(void)
{
	struct netinc_slot slot = { .opseq = 3 };

	begin();
	for (slot.q = 0; slot.q <= U16_MAX; slot.q++)
		send_partial(&slot, 0, false);
	netinc_uplink_flush(last_group());
	expect_sent(2, "headers");
	expect_header(0, 0, U16_MAX, 0);
	expect_header(1, U16_MAX, 1, 0);
	free_sent();
}

/* What the way to the parent carries is what partials have at most. */
static void test_init(void)
{
	static const struct { u32 mtu, block; } cases[] = {
		{ 1472, 1472 - sizeof(struct inc_hdr) }, { 1479, 1472 - sizeof(struct inc_hdr) },
		{ 1, INC_MIN_BLOCK }, { 65507, INC_MAX_BLOCK }, { -101, INC_MAX_BLOCK -
			sizeof(struct inc_hdr) },
	};
	struct netinc_peer parent = parent_at(1);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct netinc_group_cfg cfg = {};

		begin();
		env.mtu = cases[i].mtu;
		expect(!netinc_uplink_init(last_group(), &parent, &cfg, 0), "it fails");
		expect(cfg.has_parent && cfg.up_nonce, "no parent, or a nonce that is none");
		expect(cfg.up_block == cases[i].block / INC_BLOCK_ALIGN * INC_BLOCK_ALIGN,
		       "MTU %d: blocks of %u", (int)cases[i].mtu, cfg.up_block);
	}
	begin();
	env.no_memory = true;
	expect(netinc_uplink_init(last_group(), &parent, &(struct netinc_group_cfg){}, 0) ==
	       -ENOMEM, "there is memory");
}

static const struct ktap_test tests[] = {
	KTAP(test_segments), KTAP(test_others),	    KTAP(test_work),	 KTAP(test_malformed),
	KTAP(test_congestion), KTAP(test_whose),    KTAP(test_many),	 KTAP(test_partials),
	KTAP(test_empty),    KTAP(test_long_empty), KTAP(test_init),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
