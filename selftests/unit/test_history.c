// SPDX-License-Identifier: GPL-2.0-only
/* What nodes remember of groups that have failed: nobody pushes out what is known of others'. */
#include <errno.h>

#include "ktap.h"

/* instead of these two */
#define NETINC_CORE_NETNS_H
#define NETINC_NODE_NODE_H
#include "stub/history.h"
#include "node/history.c"

#define SIZE		4u
#define PORTS		3u

static struct netinc_net net;

static struct netinc_creator creator_of(u32 host, u32 ifindex)
{
	return (struct netinc_creator){
		.peer = { .addr = { 10, 0, (u8)(host >> 8), (u8)host }, .family = NETINC_AF_INET },
		.ifindex = ifindex,
	};
}

/* A group fails that @host, at that port, has had made. */
static void fail_group(u32 id, u32 host, u32 ifindex)
{
	struct netinc_creator by = creator_of(host, ifindex);
	struct netinc_member members[SIZE] = { [1] = { .gone = true } };
	struct netinc_group g = { .cfg = { .id = id, .size = SIZE, .lineage = id + 1ull },
				  .members = members, .nmembers = SIZE };

	netinc_history_failed(&net, &g, &by);
}

static bool is_known(u32 id)
{
	struct netinc_group_history entry;

	return netinc_history_find(&net, id, id + 1ull, &entry) && entry.failed;
}

static u32 known(u32 first, u32 n)
{
	u32 i, count = 0;

	for (i = first; i < first + n; i++)
		count += is_known(i);
	return count;
}

static void begin_history(void)
{
	netinc_history_fini(&net);
	net.history = NULL;
	expect(!netinc_history_init(&net), "no memory");
}

static void test_oldest(void)
{
	u32 i;

	begin_history();
	/* of hosts and ports of which none has much */
	for (i = 0; i < NETINC_HISTORY + 10; i++)
		fail_group(i, i, i % PORTS);
	expect(!known(0, 10) && known(10, NETINC_HISTORY) == NETINC_HISTORY,
	       "%u and %u are known", known(0, 10), known(10, NETINC_HISTORY));
}

static void test_one_host(void)
{
	u32 i;

	begin_history();
	for (i = 0; i < 20; i++)
		fail_group(i, i, 1);
	for (i = 0; i < 4 * NETINC_HISTORY; i++)
		fail_group(1000 + i, 99, 2);
	expect(known(0, 20) == 20, "of others' groups %u are known", known(0, 20));
	expect(known(1000, 4 * NETINC_HISTORY) == NETINC_HISTORY / 4, "of its own %u are",
	       known(1000, 4 * NETINC_HISTORY));
	expect(is_known(1000 + 4 * NETINC_HISTORY - 1), "its last one is not");
}

/* With as many addresses as it likes: they are all behind one port. */
static void test_one_port(void)
{
	u32 i;

	begin_history();
	for (i = 0; i < 20; i++)
		fail_group(i, i, 1);
	for (i = 0; i < 4 * NETINC_HISTORY; i++)
		fail_group(1000 + i, 100 + i, 2);
	expect(known(0, 20) == 20, "of others' groups %u are known", known(0, 20));
	expect(known(1000, 4 * NETINC_HISTORY) == NETINC_HISTORY / 2, "of its own %u are",
	       known(1000, 4 * NETINC_HISTORY));
}

/* The same group again is the same entry. */
static void test_again(void)
{
	struct netinc_group_history entry = { 0 };
	u32 i;

	begin_history();
	fail_group(7, 1, 1);
	for (i = 0; i < NETINC_HISTORY - 1; i++)
		fail_group(100 + i, 2 + i, i % PORTS);
	fail_group(7, 1, 1);
	expect(known(100, NETINC_HISTORY - 1) == NETINC_HISTORY - 1, "an entry was lost");
	expect(netinc_history_find(&net, 7, 8, &entry) && entry.ngone == 1 && entry.gone[0] == 1,
	       "%u are gone", entry.ngone);
	netinc_history_fini(&net);
	net.history = NULL;
}

static const struct ktap_test tests[] = {
	KTAP(test_oldest),
	KTAP(test_one_host),
	KTAP(test_one_port),
	KTAP(test_again),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
