// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets of a group at a node (kernel/node/group_io.c), which several processors receive: who has
 * to wait for the group's lock takes the time after the one who has had it.
 */
#include "ktap.h"
#include "siphash.h"

/* instead of these */
#define NETINC_NODE_NODE_GROUP_H
#define NETINC_NODE_HISTORY_H
#define NETINC_NODE_TENANT_H
#define INC_STUB_JHASH_H
#include "stub/group_io.h"
#include "node/group_io.c"

#define MEMBERS	2u

static struct {
	struct netinc_node_group g;
	struct netinc_member members[MEMBERS];
	struct netinc_link link[MEMBERS];
	struct netinc_child child[MEMBERS];
	u64 now;		/* nanoseconds */
	u64 held;		/* for so long another processor still has the lock */
	u64 locked;		/* time since which this one has it */
	u64 last;		/* the latest time that the engine has been told, microseconds */
	u64 worked;		/* nanoseconds that the tenant pays for */
	u32 contributions;
} env;

u64 ktime_get_ns(void)
{
	return env.now;
}

void netinc_node_group_lock(struct netinc_node_group *g)
{
	(void)g;
	env.now += env.held;
	env.locked = env.now;
}

void netinc_node_group_unlock(struct netinc_node_group *g)
{
	(void)g;
}

static void look_at(u64 now)
{
	expect(now >= env.last, "time goes back by %llu us", (unsigned long long)(env.last - now));
	expect(now >= env.locked / NSEC_PER_USEC, "it is the time before the lock was taken");
	env.last = max(env.last, now);
}

int netinc_group_check(struct netinc_group *g, struct netinc_pkt *pkt,
		       const struct netinc_peer *peer, u64 now)
{
	(void)g;
	(void)pkt;
	(void)peer;
	look_at(now);
	return 0;
}

int netinc_group_contrib(struct netinc_group *g, const struct netinc_pkt *pkt,
			 const struct netinc_pay *pay, u64 now)
{
	(void)g;
	(void)pkt;
	(void)pay;
	look_at(now);
	env.contributions++;
	env.now += 500;
	return 0;
}

int netinc_group_control(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body,
			 u64 now)
{
	(void)g;
	(void)pkt;
	(void)body;
	look_at(now);
	return 0;
}

void netinc_agg_packet_end(struct netinc_agg *agg, u32 child, u64 now)
{
	(void)agg;
	(void)child;
	look_at(now);
}

void netinc_group_ignored(struct netinc_group *g, const struct netinc_pkt *pkt)
{
	(void)g;
	(void)pkt;
}

bool netinc_group_rare_probe(struct netinc_group *g, u32 child, u64 now)
{
	(void)g;
	(void)child;
	look_at(now);
	return true;
}

void netinc_group_buffer_begin(struct netinc_group *g)
{
	(void)g;
}

u32 netinc_group_child(const struct netinc_group *g, u32 number)
{
	return number < g->nmembers ? number : NETINC_NO_RANK;
}

int netinc_rx_next(struct netinc_rx *rx)
{
	(void)rx;
	return 0;
}

const void *netinc_rx_body(const struct netinc_rx *rx, void *buf)
{
	(void)rx;
	return buf;
}

void netinc_rx_dropped(struct netinc_rx *rx, u32 group, enum inc_counter reason)
{
	(void)rx;
	expect(false, "a packet of group %u is dropped: %u", group, reason);
}

void netinc_net_count(struct netinc_net *nn, enum inc_counter c, u64 n)
{
	(void)nn;
	expect(false, "a packet is dropped: %u, %llu", c, (unsigned long long)n);
}

void netinc_fold_begin(struct netinc_node_group *g)
{
	(void)g;
}

void netinc_fold_end(struct netinc_node_group *g)
{
	(void)g;
}

u32 netinc_node_group_hearing(struct netinc_node_group *g)
{
	(void)g;
	return 0;
}

void netinc_history_ended(struct netinc_net *nn, const struct netinc_group *g)
{
	(void)nn;
	(void)g;
}

int netinc_tenant_may_work(struct netinc_tenant *tenant, u32 bytes, u64 now, bool *congested)
{
	(void)tenant;
	(void)bytes;
	look_at(now / NSEC_PER_USEC);
	*congested = false;
	return 0;
}

int netinc_tenant_in_debt(struct netinc_tenant *tenant, u64 now)
{
	(void)tenant;
	look_at(now / NSEC_PER_USEC);
	return INC_C_DROP_CPU;
}

void netinc_tenant_worked(struct netinc_tenant *tenant, u64 nsec)
{
	(void)tenant;
	env.worked += nsec;
}

static void begin(bool tenant)
{
	memset(&env, 0, sizeof(env));
	env.now = 1000000000;
	env.g.tenant = tenant ? (void *)&env : NULL;
	env.g.link = env.link;
	env.g.grp.members = env.members;
	env.g.grp.nmembers = MEMBERS;
	env.g.grp.cfg.size = MEMBERS;
	env.g.grp.cfg.id = 7;
	env.g.grp.cfg.incarnation = 5;
	env.g.grp.running = true;
	env.g.grp.agg.child = env.child;
}

static void receive(u32 child, u8 type)
{
	static struct net_device dev;
	struct sk_buff skb = { .len = 100 };
	struct netinc_rx rx = { .skb = &skb, .dev = &dev, .seg_size = 100,
				.pkt = { .type = type, .child = child, .group = 7, .incarnation = 5,
					 .span = 1 } };

	netinc_node_group_rx(&env.g, &rx);
	expect(rx.used, "it was of no use");
}

/* A packet, and one on another processor, which has to wait for the lock. */
static void receive_beside(u8 type)
{
	env.held = 0;
	receive(0, type);
	env.held = 30 * NSEC_PER_USEC;
	receive(1, type);
}

static void test_time(void)
{
	begin(false);
	receive_beside(INC_PKT_CONTRIB);
	expect(env.contributions == 2, "%u contributions", env.contributions);
	receive_beside(INC_PKT_PROBE);
	begin(true);
	receive_beside(INC_PKT_CONTRIB);
	receive_beside(INC_PKT_PROBE);
}

/* The wait for the lock, which keeps a processor busy, is the group's. */
static void test_work(void)
{
	begin(true);
	receive_beside(INC_PKT_CONTRIB);
	expect(env.worked == 30 * NSEC_PER_USEC + 1000, "%llu ns",
	       (unsigned long long)env.worked);
	expect(env.g.unbooked == env.worked, "%llu ns are booked",
	       (unsigned long long)env.g.unbooked);
}

static const struct ktap_test tests[] = { KTAP(test_time), KTAP(test_work) };

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
