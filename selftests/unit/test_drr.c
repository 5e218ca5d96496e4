// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups' contributions in the queueing discipline (kernel/sched/sch_drr.c): in proportion to their
 * weights, on links of any MTU.
 */
#include "ktap.h"
#include "siphash.h"

#include "sched/sch_drr.c"

#define GROUPS	3u
#define PACKETS	4096u

static struct sched_flows flows;
static struct sk_buff skbs[GROUPS][PACKETS];
static u32 freed;

void kfree_skb(struct sk_buff *skb)
{
	(void)skb;
	freed++;
}

/* All groups have as many packets, of different lengths. */
static void fill(u32 longest)
{
	u32 i, group;

	for (i = 0; i < PACKETS; i++)
		for (group = 0; group < GROUPS; group++) {
			skbs[group][i] = (struct sk_buff){ .len = 76 + ktap_below(longest - 75) };
			netinc_sched_flows_add(&flows, group, &skbs[group][i]);
		}
}

/* Group 2 weighs twice what the others do. */
static void share_link(u32 mtu, u32 longest)
{
	const struct tc_inc_weight weight = { .group = 2, .weight = 2 };
	u64 sent[GROUPS] = {}, all = 0, third;
	struct sk_buff *skb;
	u32 i;

	freed = 0;
	expect(!netinc_sched_flows_init(&flows, mtu), "there is memory");
	netinc_sched_flows_set_weights(&flows, &weight, 1);
	fill(longest);
	/* while all of them have something waiting */
	for (i = 0; i < PACKETS; i++) {
		skb = netinc_sched_flows_first(&flows);
		sent[(skb - skbs[0]) / PACKETS] += skb->len;
		all += skb->len;
		netinc_sched_flows_take(&flows, 0);
	}
	third = sent[0] + sent[1] - sent[2];
	for (i = 0; i < GROUPS; i++)
		expect(sent[i] > all / 5, "MTU %u: group %u has had %llu bytes of %llu", mtu, i,
		       (unsigned long long)sent[i], (unsigned long long)all);
	expect((s64)third < 8 * (s64)longest && -(s64)third < 8 * (s64)longest,
	       "MTU %u: %lld bytes off", mtu, (long long)third);
	netinc_sched_flows_reset(&flows);
	expect(freed == (GROUPS - 1) * PACKETS && !flows.qlen, "%u freed", freed);
	netinc_sched_flows_destroy(&flows);
}

static void test_shares(void)
{
	share_link(1514, 1514);
	share_link(9014, 65000);
	share_link(82, 1514);
}

#define PLAIN_GROUPS	6u
#define PLAIN_PACKETS	64u

/* The same in the plainest way: credit for one round after the other. */
static struct {
	u32 order[PLAIN_GROUPS];	/* groups that have packets */
	u32 n;
	struct {
		s64 credit;
		u32 first, end;		/* of its packets */
		u32 len[PLAIN_PACKETS];
	} group[PLAIN_GROUPS];
} plain;

static void plain_remove_first(void)
{
	plain.n--;
	memmove(plain.order, plain.order + 1, plain.n * sizeof(plain.order[0]));
}

static void plain_next(void)
{
	u32 first;

	while (plain.n && plain.group[plain.order[0]].credit <= 0) {
		first = plain.order[0];
		plain.group[first].credit += MIN_QUANTUM;
		plain_remove_first();
		plain.order[plain.n++] = first;
	}
}

static void plain_add(u32 group, u32 len)
{
	bool active = plain.group[group].first != plain.group[group].end;

	plain.group[group].len[plain.group[group].end++] = len;
	if (active)
		return;
	plain.group[group].credit = min_t(s64, plain.group[group].credit, 0);
	plain.order[plain.n++] = group;
	plain_next();
}

/* The group whose packet goes. */
static u32 plain_take(void)
{
	u32 group = plain.order[0];

	plain.group[group].credit -= plain.group[group].len[plain.group[group].first++];
	if (plain.group[group].first == plain.group[group].end)
		plain_remove_first();
	plain_next();
	return group;
}

static u32 some_length(void)
{
	return 76 + ktap_below(ktap_below(2) ? 3000000 : 40000);
}

/* Packets come and go; now and then a group joins those that are in debt. */
static void compare_orders(void)
{
	static struct sk_buff packet[PLAIN_GROUPS][PLAIN_PACKETS];
	u32 i, group, len, sent = 0, added = 0;
	struct sk_buff *skb;

	memset(&plain, 0, sizeof(plain));
	expect(!netinc_sched_flows_init(&flows, 0), "there is memory");
	flows.nweights = 0;
	for (i = 0; i < PLAIN_GROUPS * PLAIN_PACKETS; i++) {
		group = ktap_below(PLAIN_GROUPS);
		if (plain.group[group].end < PLAIN_PACKETS) {
			len = some_length();
			skb = &packet[group][plain.group[group].end];
			*skb = (struct sk_buff){ .len = len };
			plain_add(group, len);
			netinc_sched_flows_add(&flows, group, skb);
			added++;
		}
		if (ktap_below(3) || sent == added)
			continue;
		skb = netinc_sched_flows_first(&flows);
		group = plain_take();
		if (!expect((u32)((skb - packet[0]) / PLAIN_PACKETS) == group,
			    "packet %u is one of another group than %u", sent, group))
			break;
		netinc_sched_flows_take(&flows, 0);
		sent++;
	}
	netinc_sched_flows_reset(&flows);
	netinc_sched_flows_destroy(&flows);
}

static void test_same_order(void)
{
	u32 i;

	for (i = 0; i < 300; i++)
		compare_orders();
}

static void test_many_debts(void)
{
	struct sk_buff *skb;
	u32 i, group;

	alarm(10);
	expect(!netinc_sched_flows_init(&flows, 0), "there is memory");
	for (i = 0; i < 8; i++)
		for (group = 0; group < 128; group++) {
			skbs[0][i * 128 + group] = (struct sk_buff){ .len = ~0u };
			netinc_sched_flows_add(&flows, group, &skbs[0][i * 128 + group]);
		}
	for (i = 0; i < 8 * 128; i++) {
		skb = netinc_sched_flows_first(&flows);
		expect(skb, "packet %u", i);
		netinc_sched_flows_take(&flows, 0);
	}
	expect(!flows.qlen, "%u are left", flows.qlen);
	alarm(0);
	netinc_sched_flows_destroy(&flows);
}

/* A size table makes of packets what it likes: the debts are paid in the same order, but soon. */
static void test_long_debts(void)
{
	struct sk_buff *skb;
	u32 i;

	alarm(30);
	expect(!netinc_sched_flows_init(&flows, 0), "there is memory");
	/* 1 to 3 times as long: the shorter they are, the more of them go before the next is due */
	for (i = 0; i < 4; i++) {
		skbs[0][i] = (struct sk_buff){ .len = 1u << 30 };
		skbs[1][i] = (struct sk_buff){ .len = 3u << 30 };
		netinc_sched_flows_add(&flows, 0, &skbs[0][i]);
		netinc_sched_flows_add(&flows, 1, &skbs[1][i]);
	}
	for (i = 0; i < 8; i++) {
		static const u32 group[8] = { 0, 1, 0, 0, 0, 1, 1, 1 };

		skb = netinc_sched_flows_first(&flows);
		expect((skb - skbs[0]) / PACKETS == group[i], "packet %u is group %u's", i,
		       (u32)((skb - skbs[0]) / PACKETS));
		netinc_sched_flows_take(&flows, 0);
	}
	alarm(0);
	netinc_sched_flows_destroy(&flows);
}

/* A device may have an MTU of 0, and get another one later. */
static void test_no_mtu(void)
{
	alarm(30);
	share_link(0, 1514);
	share_link(1, 65000);
	alarm(0);
}

static const struct ktap_test tests[] = {
	KTAP(test_shares),
	KTAP(test_no_mtu),
	KTAP(test_long_debts),
	KTAP(test_same_order),
	KTAP(test_many_debts),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
