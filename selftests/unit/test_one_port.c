// SPDX-License-Identifier: GPL-2.0-only
/*
 * Results by IP multicast, in the kernel's glue at a node (kernel/node/one_port.c): which group of
 * addresses a group of ranks gets, by which port its ranks are reached, which hosts hear.
 */
#include "ktap.h"
#include "siphash.h"

/* instead of these */
#define NETINC_CORE_NF_HOOKS_H
#define NETINC_NODE_NODE_GROUP_H
#define INC_STUB_RANDOM_H
#include "stub/one_port.h"
#include "node/one_port.c"

#define MEMBERS	4u
#define PORT	3u	/* interface by which they come, and that of the bridge's port */
#define BR_PORT	7u

unsigned short netinc_port = 5227;

static struct {
	struct netinc_net nn;
	struct netinc_node_group g;
	struct netinc_member members[MEMBERS];
	struct netinc_link link[MEMBERS];
	u32 random;
	bool no_memory;
	u32 turned;		/* how often the way has been looked for and found */
} env;

/* An address that nobody follows. */
static struct net *const some_net = (struct net *)&env;

u32 get_random_u32(void)
{
	return env.random;
}

int netinc_path_init(struct netinc_path *path, struct net *net, const struct netinc_peer *peer,
		     __be16 sport, u32 oif, gfp_t gfp)
{
	(void)gfp;
	expect(sport == htons(netinc_port) && !oif, "port %u, interface %u", ntohs(sport), oif);
	/* as in the kernel, also where it has no memory for the rest */
	path->net = net;
	path->peer = *peer;
	path->multicast = false;
	return env.no_memory ? -ENOMEM : 0;
}

void netinc_path_turn(struct netinc_path *path, const struct netinc_peer *peer, u32 oif,
		      const u8 *local)
{
	env.turned++;
	path->peer = *peer;
	path->oif = oif;
	memcpy(path->local, local, sizeof(path->local));
}

/* All ranks come by one port, each from a host of its own. */
static void begin(void)
{
	u32 i;

	memset(&env, 0, sizeof(env));
	env.nn.net = some_net;
	env.g.nn = &env.nn;
	env.g.link = env.link;
	env.g.way = NETINC_NO_RANK;
	env.g.grp.members = env.members;
	env.g.grp.nmembers = MEMBERS;
	for (i = 0; i < MEMBERS; i++) {
		env.members[i].present = true;
		env.members[i].peer.ifindex = BR_PORT;
		env.link[i] = (struct netinc_link){ .host = i, .via = PORT };
		env.link[i].path.peer.family = AF_INET;
		memcpy(env.link[i].path.local, (u8[]){ 10, 7, 0, 5 }, 4);
	}
}

static int choose(u32 prefix, u8 len)
{
	struct netinc_node_cfg limits = { .multicast = htonl(prefix), .multicast_len = len };

	return netinc_node_group_choose(&env.g, &limits, &env.g.grp.cfg, 0);
}

/* The group that is chosen of prefix/len with these random bits. */
static u32 chosen(u32 prefix, u8 len, u32 random)
{
	const struct netinc_peer *group = &env.g.grp.cfg.multicast;
	u32 addr;

	begin();
	env.random = random;
	expect(!choose(prefix, len), "there is no memory");
	expect(group->family == AF_INET && group->udp_port == htons(netinc_port),
	       "family %u, port %u", group->family, ntohs(group->udp_port));
	expect(env.g.many.net == some_net && env.g.many.multicast, "there is no path to it");
	expect(netinc_peer_same(&env.g.many.peer, group), "the path leads elsewhere");
	memcpy(&addr, group->addr, sizeof(addr));
	return ntohl(addr);
}

static void expect_chosen(u32 prefix, u8 len, u32 random, u32 want)
{
	u32 got = chosen(prefix, len, random);

	expect(got == want, "%#x/%u: %#x, expected %#x", prefix, len, got, want);
}

static void test_choose(void)
{
	expect_chosen(0xef4d0000, 16, 0x12345678, 0xef4d5678);
	expect_chosen(0xef4d0000, 16, ~0u, 0xef4dffff);
	expect_chosen(0xef4d0102, 32, ~0u, 0xef4d0102);
	expect_chosen(0xef4d0102, 31, ~0u, 0xef4d0103);
	expect_chosen(0xe0000000, 4, 0x0fabcdef, 0xefabcdef);
}

/* Addresses whose frames look like those of 224.0.0.x are taken only where there is no other. */
static void test_choose_link(void)
{
	expect_chosen(0xef000000, 8, 0x42, 0xef000142);
	expect_chosen(0xef000000, 8, 0x800042, 0xef800142);
	expect_chosen(0xef000000, 8, 0x42 << 8, 0xef004200);
	expect_chosen(0xef000000, 24, 0x42, 0xef000042);
	expect_chosen(0xef000000, 23, 0x42, 0xef000142);
}

static void test_choose_not(void)
{
	begin();
	expect(!choose(0, 0) && !env.g.many.net && !env.g.grp.cfg.multicast.family, "it is on");
	expect(!netinc_node_group_may_hear(&env.g, 0) && !netinc_node_group_hearing(&env.g),
	       "somebody may hear");
	env.no_memory = true;
	expect(choose(0xef4d0000, 16) == -ENOMEM && !env.g.many.net, "a path that is none");
}

static void formed(void)
{
	begin();
	expect(!choose(0xef4d0000, 16), "there is no memory");
}

/* JOIN has come, or somebody has gone. */
static void joined(void)
{
	env.g.way_known = false;
	env.g.hearing_known = false;
}

static u32 may_hear(void)
{
	u32 i, bits = 0;

	for (i = 0; i < MEMBERS; i++)
		bits |= netinc_node_group_may_hear(&env.g, i) << i;
	return bits;
}

static void expect_may_hear(u32 want, const char *what)
{
	u32 got;

	joined();
	got = may_hear();
	expect(got == want, "%s: %#x may hear, expected %#x", what, got, want);
}

static void test_way(void)
{
	formed();
	expect_may_hear(0xf, "all by one port");
	expect(env.turned == 1 && env.g.way == 0, "it is looked for %u times, way %u", env.turned,
	       env.g.way);
	expect(env.g.many.oif == PORT && env.g.many.local[3] == 5, "by interface %u",
	       env.g.many.oif);
	may_hear();
	expect(env.turned == 1, "it is looked for again");
	/* who is in this machine, and who has not come, keep nobody from it */
	env.link[0].via = 0;
	expect_may_hear(0xe, "one in this machine");
	expect(env.g.way == 1, "way %u", env.g.way);
	env.members[1].present = false;
	env.link[1].via = PORT + 1;
	expect_may_hear(0xe, "one that is not there");
	expect(env.g.way == 2, "way %u", env.g.way);
	env.link[2].via = 0;
	env.link[3].via = 0;
	expect_may_hear(0, "all others in this machine");
	expect(env.g.way == NETINC_NO_RANK, "way %u", env.g.way);
}

/* One of them comes in another way than the first: nobody may. */
static void test_ways(void)
{
	u32 i;

	for (i = 1; i < MEMBERS; i++) {
		formed();
		env.link[i].via++;
		expect_may_hear(0, "another interface");
		expect(!env.turned && env.g.way == NETINC_NO_RANK, "there is a way");
		formed();
		env.members[i].peer.ifindex++;
		expect_may_hear(0, "another port");
		formed();
		env.link[i].path.oif = 9;
		expect_may_hear(0, "another VRF");
		formed();
		env.link[i].path.peer.family = AF_INET6;
		expect_may_hear(0, "IPv6");
		formed();
		env.link[i].path.local[3]++;
		expect_may_hear(0, "another address of the node");
		/* and then it comes as the others do */
		env.link[i].path.local[3]--;
		expect_may_hear(0xf, "one address");
	}
	formed();
	for (i = 0; i < MEMBERS; i++)
		env.link[i].path.peer.family = AF_INET6;
	expect_may_hear(0, "IPv6 all of them");
}

static void hear(u32 bits)
{
	u32 i;

	for (i = 0; i < MEMBERS; i++)
		env.members[i].hears = bits >> i & 1;
	env.g.grp.multicast.changes++;
}

/* @hosts: bit i: results that go to rank i, for all ranks of its host, go by multicast. */
static void expect_hearing(u32 n, u32 hosts, const char *what)
{
	u32 got = netinc_node_group_hearing(&env.g), i;

	expect(got == n, "%s: %u hosts hear, expected %u", what, got, n);
	for (i = 0; i < MEMBERS; i++)
		expect(env.link[i].hears == (hosts >> i & 1), "%s: host %u hears: %u", what, i,
		       env.link[i].hears);
}

static void test_hearing(void)
{
	formed();
	expect_hearing(0, 0, "nobody");
	hear(1);
	/* for one a copy of its own is no more */
	expect_hearing(0, 1, "one");
	hear(5);
	expect_hearing(2, 5, "two");
	hear(0xf);
	expect_hearing(4, 0xf, "all");
	/* it is not counted anew as long as nothing has changed */
	env.members[0].hears = false;
	expect_hearing(4, 0xf, "no change");
	env.g.grp.multicast.changes++;
	expect_hearing(3, 0xe, "a change");
	env.members[1].present = false;
	expect_hearing(3, 0xe, "no change");
	joined();
	expect_hearing(2, 0xc, "one has gone");
	env.link[3].via++;
	joined();
	expect_hearing(0, 0, "two ports");
}

/* Ranks that share a host share its copies: it hears if all of them do. */
static void test_hosts(void)
{
	formed();
	env.link[1].host = 0;
	env.link[3].host = 2;
	hear(0xf);
	expect_hearing(2, 5, "all");
	hear(0xd);
	expect_hearing(0, 4, "not the second of a host");
	hear(0xe);
	expect_hearing(0, 4, "not the first of a host");
	env.members[0].present = false;
	env.link[1].host = 1;
	joined();
	expect_hearing(2, 6, "the first has gone");
	/* who is not there keeps nobody from it */
	formed();
	env.link[1].host = 0;
	env.members[1].present = false;
	hear(0xd);
	expect_hearing(3, 0xd, "the second of a host has gone");
	/* ranks in this machine are reached by no port */
	formed();
	env.link[3].via = 0;
	hear(0xf);
	expect_hearing(3, 7, "one in this machine");
}

static const struct ktap_test tests[] = {
	KTAP(test_choose), KTAP(test_choose_link), KTAP(test_choose_not), KTAP(test_way),
	KTAP(test_ways),   KTAP(test_hearing),	   KTAP(test_hosts),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
