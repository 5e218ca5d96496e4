/* SPDX-License-Identifier: GPL-2.0-only */
/* Of Linux and host/rank.h what host/membership.c uses, for test_membership.c. */
#ifndef INC_STUB_MEMBERSHIP_H
#define INC_STUB_MEMBERSHIP_H

#include <errno.h>

#include "engine/endpoint.h"
#include "host/membership.h"

#define AF_INET			NETINC_AF_INET
#define SOCK_DGRAM		2
#define SOL_IP			0
#define KERNEL_SOCKPTR(p)	(p)
#define lockdep_assert_held(lock)	expect(*(lock), "the rank's lock is not held")

struct net;

struct netinc_net {
	struct net *net;
};

struct netinc_path {
	u32 ifindex;
};

struct netinc_rank {
	struct netinc_net *nn;
	bool lock;	/* it is held */
	bool dead;
	u64 now;
	struct netinc_path path;
	struct netinc_membership membership;
	struct netinc_ep ep;
};

struct proto_ops {
	int (*setsockopt)(struct socket *sock, int level, int name, const void *value,
			  unsigned int len);
};

struct socket {
	const struct proto_ops *ops;
};

int sock_create_kern(struct net *net, int family, int type, int protocol, struct socket **sock);
void sock_release(struct socket *sock);
bool cancel_work_sync(struct work_struct *work);
void netinc_rank_lock(struct netinc_rank *rank);
void netinc_rank_unlock(struct netinc_rank *rank);
u32 netinc_path_ifindex(struct netinc_path *path);

#endif
