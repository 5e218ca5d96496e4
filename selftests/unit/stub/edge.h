/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Of Linux, core/netns.h, node/node.h, node/node_group.h and node/history.h what node/edge.c uses,
 * for test_edge.c.
 */
#ifndef INC_STUB_EDGE_H
#define INC_STUB_EDGE_H

#include <errno.h>
#include <stdlib.h>

#include <linux/list.h>
#include <linux/spinlock.h>
#include "engine/group.h"

#define kfree(p)		free(p)
#define list_del(entry)		list_del_init(entry)
#define atomic_read(v)		(*(v))
#define NETINC_MAX_GROUPS	65536

struct mutex {
	bool held;
};

struct work_struct {
	void (*run)(struct work_struct *work);
};

#define INIT_WORK(work, function)	((work)->run = (function))

struct netinc_user;
struct sock;
struct netinc_meeting;
struct netinc_node;

struct netinc_net {
	struct mutex mutex;	/* the edge's use of the namespace */
	struct netinc_node *edge;
	void *answers;		/* hooks have been registered */
};

struct netinc_node_cfg {
	struct netinc_settings settings;
	u32 max_groups;
};

struct netinc_node {
	struct netinc_net *nn;
	bool dead;
	spinlock_t lock;	/* what has been asked for */
	u32 npending;
	struct list_head tree_requests;
	u32 ntree_requests;
	struct work_struct work;
	u32 ngroups;
	bool in_use;
};

struct netinc_tree_request;

void sock_put(struct sock *sk);
void mutex_lock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);
void spin_lock_bh(spinlock_t *lock);
bool flush_work(struct work_struct *work);
void synchronize_net(void);

int netinc_net_use(struct netinc_net *nn);
void netinc_net_unuse(struct netinc_net *nn);
int netinc_history_init(struct netinc_net *nn);
void netinc_node_cfg_init(struct netinc_node_cfg *cfg);
struct netinc_node *netinc_node_alloc(struct netinc_net *nn, const struct netinc_node_cfg *cfg);
void netinc_node_paid(struct netinc_node *node);
void netinc_node_work(struct netinc_node *node);
void netinc_node_put(struct netinc_node *node);
void netinc_node_make_groups(struct netinc_node *node);
void netinc_node_end_groups(struct netinc_node *node);
int netinc_node_group_create_tree(struct netinc_node *edge,
				  const struct netinc_tree_request *request);
int netinc_edge_init(struct netinc_net *nn);
void netinc_edge_gone(struct netinc_net *nn);
void netinc_edge_fini(struct netinc_net *nn);

#endif
