// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank's membership of an IP multicast group (kernel/host/membership.c): it is in the one that
 * its node has told it, on the device of its path, and in none when it has left that run.
 */
#include "ktap.h"
#include "siphash.h"

/* instead of this */
#define NETINC_HOST_RANK_H
#include "stub/membership.h"
#include "host/membership.c"

#define RUN	5u	/* of the group */
#define IFINDEX	3u

static struct {
	struct netinc_net nn;
	struct netinc_rank rank;
	u32 sockets, released;	/* that there are, and were */
	u32 joins;
	__be32 joined;		/* the group that the socket is in */
	int joined_by;
	bool no_socket, refused;
	u32 tried;		/* how often the engine was told, and what */
	bool ok;
	bool queued, cancelled;
	void (*meanwhile)(void);	/* what happens while the rank's lock is not held */
} env;

static int join_env(struct socket *sock, int level, int name, const void *value, unsigned int len)
{
	const struct ip_mreqn *req = value;

	expect(!env.rank.lock, "IP may sleep, with the rank's lock");
	expect(sock && level == SOL_IP && name == IP_ADD_MEMBERSHIP && len == sizeof(*req),
	       "option %d", name);
	env.joins++;
	env.joined = req->imr_multiaddr.s_addr;
	env.joined_by = req->imr_ifindex;
	if (env.meanwhile)
		env.meanwhile();
	env.meanwhile = NULL;
	return env.refused ? -ENOBUFS : 0;
}

int sock_create_kern(struct net *net, int family, int type, int protocol, struct socket **sock)
{
	static const struct proto_ops ops = { .setsockopt = join_env };

	expect(!env.rank.lock, "a socket is made with the rank's lock");
	expect(net == env.nn.net && family == AF_INET && type == SOCK_DGRAM &&
	       protocol == IPPROTO_UDP, "a socket of another kind");
	if (env.no_socket)
		return -ENOMEM;
	*sock = calloc(1, sizeof(**sock));
	(*sock)->ops = &ops;
	env.sockets++;
	return 0;
}

void sock_release(struct socket *sock)
{
	expect(!env.rank.lock, "a socket goes with the rank's lock");
	env.sockets--;
	env.released++;
	free(sock);
}

/* One rank at most waits for rtnl. */
struct workqueue_struct *alloc_workqueue(const char *name, unsigned int flags, int most)
{
	(void)name;
	(void)flags;
	expect(most == 1, "%d at a time", most);
	return (struct workqueue_struct *)&env;
}

void destroy_workqueue(struct workqueue_struct *wq)
{
	expect(wq && env.cancelled, "the queue goes before its work");
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	expect(wq && work == &env.rank.membership.work, "another one's work");
	env.queued = true;
	return true;
}

bool cancel_work_sync(struct work_struct *work)
{
	(void)work;
	env.cancelled = true;
	return false;
}

void netinc_rank_lock(struct netinc_rank *rank)
{
	expect(!rank->lock, "the lock is taken twice");
	rank->lock = true;
}

void netinc_rank_unlock(struct netinc_rank *rank)
{
	expect(rank->lock, "the lock is given back twice");
	rank->lock = false;
}

u32 netinc_path_ifindex(struct netinc_path *path)
{
	expect(env.rank.lock, "the path is looked at without the lock");
	return path->ifindex;
}

void netinc_ep_multicast_tried(struct netinc_ep *ep, bool joined, u64 now)
{
	expect(env.rank.lock, "the engine is told without the lock");
	expect(netinc_ep_multicast_group(ep), "and there is nothing to be told of");
	expect(now == env.rank.now, "another time");
	env.tried++;
	env.ok = joined;
	ep->multicast.tried = true;
	ep->multicast.joined = joined;
}

static void begin(void)
{
	memset(&env, 0, sizeof(env));
	env.nn.net = (struct net *)&env;
	env.rank.nn = &env.nn;
	env.rank.now = 1234;
	env.rank.path.ifindex = IFINDEX;
	env.rank.ep.state = INC_STATE_READY;
	env.rank.ep.incarnation = RUN;
	expect(!netinc_membership_init(), "no queue");
	netinc_membership_init_rank(&env.rank);
}

/* The node says that results go to 239.1.2.@last. */
static void tell(u8 last)
{
	memset(&env.rank.ep.multicast, 0, sizeof(env.rank.ep.multicast));
	env.rank.ep.multicast.incarnation = env.rank.ep.incarnation;
	env.rank.ep.multicast.group = (struct netinc_peer){ .family = NETINC_AF_INET,
							    .addr = { 239, 1, 2, last } };
}

static bool changed(void)
{
	bool yes;

	netinc_rank_lock(&env.rank);
	yes = netinc_membership_changed(&env.rank);
	netinc_rank_unlock(&env.rank);
	return yes;
}

/* As at the end of all that the rank does: the work runs if there is any. */
static u32 run(void)
{
	u32 n = 0;

	while (changed() && n++ < 5) {
		env.queued = false;
		netinc_membership_update(&env.rank);
		if (expect(env.queued, "nothing is queued"))
			env.rank.membership.work.run(&env.rank.membership.work);
	}
	return n;
}

static bool has_addr(const u8 *addr)
{
	bool yes;

	netinc_rank_lock(&env.rank);
	yes = netinc_membership_has(&env.rank, addr);
	netinc_rank_unlock(&env.rank);
	return yes;
}

static bool has(u8 last)
{
	const u8 addr[4] = { 239, 1, 2, last };

	return has_addr(addr);
}

/* Is it in 0.0.0.0? */
static bool has_none(void)
{
	const u8 addr[4] = { 0 };

	return has_addr(addr);
}

/* It is in 239.1.2.@last, or with 0 in none. */
static void expect_in(u8 last)
{
	expect(env.sockets == !!last, "%u sockets", env.sockets);
	if (last)
		expect(env.joined == cpu_to_be32(0xef010200 | last) && has(last),
		       "it is in another one");
}

static void end(void)
{
	netinc_membership_fini_rank(&env.rank);
	netinc_membership_fini();
	expect(env.cancelled, "the work may still run");
	expect(!env.sockets, "%u sockets stay", env.sockets);
}

static void test_none(void)
{
	begin();
	expect(!run(), "there is something to do");
	expect(!has(3) && !has_none(), "it is in one");
	end();
}

static void test_join(void)
{
	begin();
	tell(3);
	expect(!has(3), "it is in one that it has not joined");
	expect(run() == 1, "once");
	expect_in(3);
	expect(env.joined_by == (int)IFINDEX, "by interface %d", env.joined_by);
	expect(env.tried == 1 && env.ok, "told %u times", env.tried);
	expect(!has(4), "it is in any group");
	/* it runs again for nothing */
	env.rank.membership.work.run(&env.rank.membership.work);
	expect(env.tried == 1 && env.joins == 1 && !env.released, "it joins again");
	end();
}

/* Its host cannot be in it: that is said, once. */
static void test_not(void)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		begin();
		env.no_socket = i == 0;
		env.refused = i == 1;
		env.rank.path.ifindex = i == 2 ? 0 : IFINDEX;
		tell(3);
		expect(run() == 1, "case %u: it is tried over and over", i);
		expect(env.tried == 1 && !env.ok && !env.sockets, "case %u: told %u times", i,
		       env.tried);
		expect(!has(3), "case %u: it is in it", i);
		end();
	}
}

/* It fails, closes, or the group moves: it leaves. Where it begins anew it stays. */
static void test_leave(void)
{
	static const u8 states[] = { INC_STATE_FAILED, INC_STATE_CLOSED, INC_STATE_JOINING };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		begin();
		tell(3);
		run();
		env.rank.ep.state = INC_STATE_RESYNC;
		expect(!run() && has(3), "it leaves for a moment");
		env.rank.ep.state = states[i];
		expect(!has(3), "what is sent there is its still");
		expect(!has_none(), "it is in 0.0.0.0");
		expect(run() == 1, "state %u", states[i]);
		expect_in(0);
		expect(env.released == 1 && env.tried == 1, "%u released", env.released);
		end();
	}
	begin();
	tell(3);
	run();
	env.rank.ep.incarnation++;
	expect(!has(3) && run() == 1, "another run");
	expect_in(0);
	end();
	begin();
	tell(3);
	run();
	/* a life later the engine knows nothing of that */
	memset(&env.rank.ep.multicast, 0, sizeof(env.rank.ep.multicast));
	expect(run() == 1, "nothing is known of it");
	expect_in(0);
	end();
}

/* In another run it may be another group, or the same one. */
static void test_next_run(void)
{
	begin();
	tell(3);
	run();
	env.rank.ep.incarnation++;
	tell(4);
	expect(!has(4), "it is in one that it has not joined");
	expect(run() == 1, "once");
	expect_in(4);
	expect(env.tried == 2 && env.released == 1, "told %u times", env.tried);
	env.rank.ep.incarnation++;
	tell(4);
	expect(!has(4), "it is in one that the engine knows nothing of");
	expect(run() == 1, "once");
	expect_in(4);
	expect(env.tried == 3 && env.released == 2, "told %u times", env.tried);
	end();
}

static void next_run(void)
{
	env.rank.ep.incarnation++;
	tell(9);
}

static void fails(void)
{
	env.rank.ep.state = INC_STATE_FAILED;
}

static void dies(void)
{
	env.rank.dead = true;
}

/* What was joined is no more what is wanted: the engine is not told that it is. */
static void test_meanwhile(void)
{
	begin();
	tell(3);
	env.meanwhile = next_run;
	expect(run() == 2, "it runs for the next one, too");
	expect_in(9);
	expect(env.tried == 1 && env.joins == 2, "told %u times", env.tried);
	end();
	begin();
	tell(3);
	env.meanwhile = fails;
	expect(run() == 2, "it leaves again");
	expect_in(0);
	expect(!env.tried, "told");
	end();
	begin();
	tell(3);
	env.meanwhile = dies;
	env.rank.membership.work.run(&env.rank.membership.work);
	expect(!env.tried, "who is dead is told");
	end();
}

static const struct ktap_test tests[] = {
	KTAP(test_none),  KTAP(test_join),     KTAP(test_not),
	KTAP(test_leave), KTAP(test_next_run), KTAP(test_meanwhile),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
