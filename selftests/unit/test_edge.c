// SPDX-License-Identifier: GPL-2.0-only
/*
 * The edge's port and hooks (kernel/node/edge.c): they are open as long as it has groups, whenever
 * these come and go, and nothing is left to be done when its network namespace goes.
 */
#include "ktap.h"
#include "siphash.h"

/* instead of these */
#define NETINC_CORE_NETNS_H
#define NETINC_NODE_NODE_H
#define NETINC_NODE_NODE_GROUP_H
#define NETINC_NODE_HISTORY_H
#include "stub/edge.h"
#include "node/edge.c"

static struct {
	struct netinc_net net;
	struct netinc_node edge;
	u32 uses;		/* of the namespace, by the edge */
	bool refused;		/* the port is another program's */
	bool queued;		/* the worker */
	u32 refs;		/* of the edge */
	/* JOINs that come, each for a group, right when the worker looks for what to make */
	u32 come;
	u32 closed;		/* trees that were made while the hooks were not open */
	u32 trees;
	s32 payers;		/* references to who pays for trees */
	/* a group that has expired: its timer has taken it out of the hash, and is not done */
	bool expiring;
} env;

void mutex_lock(struct mutex *mutex)
{
	expect(!mutex->held, "the mutex is taken twice");
	mutex->held = true;
}

void mutex_unlock(struct mutex *mutex)
{
	expect(mutex->held, "the mutex is given back twice");
	mutex->held = false;
}

void spin_lock_bh(spinlock_t *lock)
{
	expect(!lock->held, "the lock is taken twice");
	lock->held = true;
}

void spin_unlock_bh(spinlock_t *lock)
{
	expect(lock->held, "the lock is given back twice");
	lock->held = false;
}

static void run_worker(void)
{
	while (env.queued) {
		env.queued = false;
		env.edge.work.run(&env.edge.work);
	}
}

bool flush_work(struct work_struct *work)
{
	bool queued = env.queued;

	(void)work;
	run_worker();
	return queued;
}

/* The end of the timer's function. */
static void expire(void)
{
	if (!env.expiring)
		return;
	env.expiring = false;
	if (!--env.edge.ngroups)
		netinc_edge_gone(&env.net);
}

void synchronize_net(void)
{
	expire();
}

int netinc_net_use(struct netinc_net *nn)
{
	expect(nn->mutex.held, "the mutex is not held");
	if (env.refused)
		return -EADDRINUSE;
	nn->answers = nn;
	env.uses++;
	return 0;
}

void netinc_net_unuse(struct netinc_net *nn)
{
	expect(nn->mutex.held, "the mutex is not held");
	expect(env.uses--, "it was not open");
}

int netinc_history_init(struct netinc_net *nn)
{
	(void)nn;
	return 0;
}

void netinc_node_cfg_init(struct netinc_node_cfg *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
}

struct netinc_node *netinc_node_alloc(struct netinc_net *nn, const struct netinc_node_cfg *cfg)
{
	(void)cfg;
	env.edge.nn = nn;
	INIT_LIST_HEAD(&env.edge.tree_requests);
	env.refs = 1;
	return &env.edge;
}

void netinc_node_paid(struct netinc_node *node)
{
	(void)node;
}

void netinc_node_work(struct netinc_node *node)
{
	(void)node;
	if (!env.queued)
		env.refs++;
	env.queued = true;
}

void netinc_node_put(struct netinc_node *node)
{
	(void)node;
	expect(env.refs--, "one reference too many is given back");
}

void sock_put(struct sock *sk)
{
	expect((void *)sk == &env, "somebody else has paid");
	env.payers--;
}

static void join(void)
{
	env.edge.npending++;
	netinc_node_work(&env.edge);
}

void netinc_node_make_groups(struct netinc_node *node)
{
	for (; env.come; env.come--)
		join();
	for (; node->npending; node->npending--)
		node->ngroups += !node->dead;
}

void netinc_node_end_groups(struct netinc_node *node)
{
	/* what the timer has taken is not found any more */
	while (node->ngroups > env.expiring)
		if (!--node->ngroups)
			netinc_edge_gone(node->nn);
}

int netinc_node_group_create_tree(struct netinc_node *edge,
				  const struct netinc_tree_request *request)
{
	expect((void *)request->payer == &env && env.payers > 0, "nobody pays");
	env.closed += !env.uses;
	env.trees++;
	edge->ngroups++;
	return 0;
}

static void begin(void)
{
	memset(&env, 0, sizeof(env));
	expect(!netinc_edge_init(&env.net), "no memory");
}

static void end(void)
{
	netinc_edge_fini(&env.net);
	expect(!env.expiring && !env.edge.ngroups, "there are %u groups", env.edge.ngroups);
	expect(!env.uses, "the hooks are open");
	expect(!env.queued && !env.refs, "%u references", env.refs);
}

/* The last group goes, in its timer. */
static void lose_group(void)
{
	env.expiring = true;
	expire();
}

static void test_use(void)
{
	begin();
	join();
	run_worker();
	expect(env.edge.ngroups == 1 && env.uses == 1, "%u uses for a group", env.uses);
	join();
	run_worker();
	expect(env.edge.ngroups == 2 && env.uses == 1, "%u uses for two", env.uses);
	lose_group();
	run_worker();
	expect(env.uses == 1, "%u uses for one again", env.uses);
	lose_group();
	run_worker();
	expect(!env.uses, "%u uses for none", env.uses);
	end();
}

static bool ask_for_tree(void)
{
	struct netinc_tree_request *request = calloc(1, sizeof(*request));

	request->payer = (void *)&env;
	env.payers++;
	return netinc_edge_request_tree(&env.net, request);
}

/* The hooks are there before a tree is whose packets may be under way; who asks pays. */
static void test_tree(void)
{
	u32 i;

	begin();
	expect(ask_for_tree(), "it is not taken");
	run_worker();
	expect(!env.closed && env.uses == 1, "%u uses for a tree", env.uses);
	expect(!env.payers, "%d references", env.payers);
	for (i = 0; i < MAX_TREE_REQUESTS; i++)
		expect(ask_for_tree(), "request %u is not taken", i);
	expect(!ask_for_tree(), "a request too many is taken");
	expect(env.payers == MAX_TREE_REQUESTS, "%d references", env.payers);
	run_worker();
	expect(env.trees == 1 + MAX_TREE_REQUESTS, "%u trees", env.trees);
	/* and what has not been made when the namespace goes */
	expect(ask_for_tree(), "it is not taken");
	end();
	expect(!env.payers, "%d references", env.payers);
	expect(!ask_for_tree() && !env.payers, "%d references at the end", env.payers);
}

/* The worker runs because a group has gone, and has looked whether another one is to come. */
static void test_join_beside(void)
{
	begin();
	join();
	run_worker();
	lose_group();
	env.come = 1;
	run_worker();
	expect(env.edge.ngroups == 1 && env.uses == 1, "%u uses", env.uses);
	lose_group();
	run_worker();
	expect(!env.uses, "%u uses for none", env.uses);
	/* and so while it had closed them before */
	netinc_node_work(&env.edge);
	env.come = 1;
	run_worker();
	expect(env.edge.ngroups == 1 && env.uses == 1, "%u uses", env.uses);
	end();
}

/* What a group needs may be another program's: it is tried again with the next one. */
static void test_refused(void)
{
	begin();
	env.refused = true;
	join();
	run_worker();
	expect(!env.uses, "%u uses", env.uses);
	env.refused = false;
	join();
	run_worker();
	expect(env.uses == 1, "%u uses", env.uses);
	end();
}

/* The namespace goes while the timer of its last group is not done with it. */
static void test_end_beside(void)
{
	begin();
	join();
	run_worker();
	env.expiring = true;
	end();
	begin();
	join();
	join();
	run_worker();
	env.expiring = true;
	end();
}

static const struct ktap_test tests[] = {
	KTAP(test_use), KTAP(test_tree), KTAP(test_join_beside), KTAP(test_refused),
	KTAP(test_end_beside),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
