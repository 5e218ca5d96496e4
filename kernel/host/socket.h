/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AF_INC sockets: socket.c is the family and its system calls, connect.c joining and leaving.
 */
#ifndef NETINC_HOST_SOCKET_H
#define NETINC_HOST_SOCKET_H

#include <linux/inc_socket.h>
#include <linux/poll.h>
#include <net/sock.h>
#include "engine/endpoint.h"

#include "host/registered.h"

struct netinc_op_request;
struct netinc_rank;

/* The rank that a socket was in a group that has failed, for INC_SA_SHRINK. */
struct netinc_prev_group {
	struct netinc_ep_prev_group cfg;	/* lineage 0: it was none */
	u64 job;
	u32 group;
	u8 stripe;			/* INC_STRIPE() */
	u32 rank;
	u32 size;
	/* where the group was last; ifindex: of a link-local address */
	struct netinc_peer place;
	u64 last_handle;		/* numbers of operations go on */
};

struct netinc_sock {
	struct sock sk;			/* first */
	/* NULL: never connected; changed under both the socket's lock and rank_lock */
	struct netinc_rank *rank;
	spinlock_t rank_lock;		/* changes of `rank` */
	struct netinc_user *user;	/* with a reference; charged for it and its operations */
	struct mem_cgroup *memcg;	/* of who made it, with a reference */
	struct sockaddr_inc addr;	/* of connect(); socket's lock */
	u8 key[INC_KEY_LEN];		/* INC_SO_KEY, zeros: none; socket's lock */
	struct netinc_kinds asks;	/* INC_SO_REDUCES; socket's lock */
	struct netinc_prev_group prev;		/* socket's lock */
	struct netinc_registry registry;	/* has its own lock */
};

static inline struct netinc_sock *netinc_sk(struct sock *sk)
{
	return container_of(sk, struct netinc_sock, sk);
}

extern int netinc_family;	/* AF_INC of this machine, once it is ready */

/*
 * Waits while the module is still being loaded, and its netlink family is there already. False: no
 * sockets can be made, or who waits is being killed.
 */
bool netinc_socket_ready(void);
int netinc_socket_init(void);
void netinc_socket_fini(void);

/* Returns with a reference, or NULL. */
struct netinc_rank *netinc_sock_rank(struct netinc_sock *nsk);

/* Milliseconds of struct inc_wait as jiffies. */
long netinc_wait_timeo(s64 ms);
/*
 * Hands a completion over, and frees the request. -EFAULT: it could not be written, and is still
 * to be collected.
 */
int netinc_put_completion(struct netinc_rank *rank, struct netinc_op_request *req,
			  struct inc_completion __user *to);

/* connect.c */
/* May a key be set? In no group, or in one that has failed. Under the socket's lock. */
bool netinc_is_free(struct netinc_sock *nsk);
int netinc_connect(struct socket *sock, struct sockaddr_unsized *uaddr, int len, int flags);
/* Leave, or abort what is under way, and wait for it a little; the socket has no user any more. */
void netinc_disconnect(struct sock *sk);

#endif
