// SPDX-License-Identifier: GPL-2.0-only
/*
 * Joining a group by connect(), and leaving it by close().
 *
 *	SS_UNCONNECTED --connect--> SS_CONNECTING --READY, seen by connect--> SS_CONNECTED
 *	       ^ ^------refused, seen by connect---------/               |
 *	       \-------------INC_SA_SHRINK, the group has failed---------/
 *
 * As with TCP, the first connect() after a join in the background has ended says how, also after
 * SO_ERROR has.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>
#include <net/ipv6.h>
#include "core/nf_hooks.h"
#include "host/retain.h"
#include "host/rank.h"
#include "host/socket.h"

#define LINGER		HZ	/* how long close() waits for the node to let the rank go */
/* of a rank that nobody answers and whose socket has no timeout, as long as TCP asks */
#define JOIN_MS_MAX	(120 * MSEC_PER_SEC)

static const s8 refuse_errno[__INC_REFUSE_MAX] = {
	[INC_REFUSE_NO_NODE] = -ECONNREFUSED,
	[INC_REFUSE_UNKNOWN] = -ECONNREFUSED,
	[INC_REFUSE_RANK_TAKEN] = -EADDRINUSE,
	[INC_REFUSE_SIZE] = -EINVAL,
	[INC_REFUSE_KEY] = -EACCES,
	[INC_REFUSE_LIMIT] = -ENOSPC,
	[INC_REFUSE_BUSY] = -EBUSY,
	[INC_REFUSE_BLOCK] = -EMSGSIZE,
	[INC_REFUSE_MOVED] = -EBUSY,
	[INC_REFUSE_RANK_DEAD] = -ECONNRESET,
	[INC_REFUSE_OUT] = -ESTALE,
	[INC_REFUSE_TENANT] = -EPERM,
	[INC_REFUSE_QUOTA] = -EDQUOT,
	[INC_REFUSE_NEXT] = -EPROTO,
	/* a node passes on what its parent has said */
	[INC_REFUSE_TREE] = -EOPNOTSUPP,
	[INC_REFUSE_ORDER] = -EDOM,
	[INC_REFUSE_STRIPES] = -EPROTOTYPE,
	[INC_REFUSE_KINDS] = -EPROTONOSUPPORT,
};

static u8 stripe_of(const struct sockaddr_inc *a)
{
	return (a->sinc_flags & INC_SA_STRIPE) >> INC_SA_STRIPE_SHIFT;
}

/* Why the join has failed. */
static int join_errno(const struct netinc_ep *ep)
{
	int limit = container_of(ep, const struct netinc_rank, ep)->store.refused;

	if (limit)
		return limit;
	if (ep->refused && ep->refused < __INC_REFUSE_MAX)
		return refuse_errno[ep->refused] ?: -ECONNREFUSED;
	if (ep->error.code == INC_ERR_NODE_DEAD)
		return -EHOSTUNREACH;
	/* shutdown() */
	if (ep->error.code == INC_ERR_RANK_ABORT && ep->error.rank[0] == ep->cfg.rank)
		return -ECANCELED;
	return netinc_error_errno(ep->error.code) ?: -ECONNREFUSED;
}

/* Wakes those who wait for the socket; under rank->lock, from the engine's callbacks. */
static void wake_socket(struct netinc_rank *rank, __poll_t what)
{
	struct sock *sk = rank->sk;
	struct socket_wq *wq;

	if ((what & EPOLLERR) && !rank->joined)
		WRITE_ONCE(sk->sk_err, -join_errno(&rank->ep));
	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_poll(&wq->wait, what);
	sk_wake_async(sk, SOCK_WAKE_WAITD, what & EPOLLIN ? POLL_IN : POLL_OUT);
	rcu_read_unlock();
}

static int check_parent(const struct sockaddr_inc *a)
{
	const struct in6_addr *ip6 = (const void *)a->sinc_parent;
	__be32 ip;

	switch (a->sinc_parent_family) {
	case 0:
		return a->sinc_parent_port || a->sinc_scope_id || !ipv6_addr_any(ip6) ? -EINVAL : 0;
	case AF_INET:
		memcpy(&ip, a->sinc_parent, sizeof(ip));
		if (a->sinc_scope_id || memchr_inv(a->sinc_parent + 4, 0, 12))
			return -EINVAL;
		return ipv4_is_zeronet(ip) || ipv4_is_multicast(ip) || ipv4_is_lbcast(ip) ?
			       -EINVAL :
			       0;
	case AF_INET6:
		if (ipv6_addr_any(ip6) || ipv6_addr_is_multicast(ip6) || ipv6_addr_v4mapped(ip6))
			return -EINVAL;
		return __ipv6_addr_needs_scope_id(ipv6_addr_type(ip6)) == !a->sinc_scope_id ?
			       -EINVAL :
			       0;
	default: return -EAFNOSUPPORT;
	}
}

static int check_addr(const struct sockaddr_inc *a, int len)
{
	int err;

	if (len < (int)sizeof(*a))
		return -EINVAL;
	if (a->sinc_family != netinc_family)
		return -EAFNOSUPPORT;
	/* what a later version says there is not passed over */
	if (memchr_inv(a + 1, 0, len - sizeof(*a)))
		return -E2BIG;
	if (a->sinc_flags & ~(INC_SA_SHRINK | INC_SA_EDGE | INC_SA_CANONICAL | INC_SA_STRIPE))
		return -EINVAL;
	if (!netinc_stripe_ok(stripe_of(a)))
		return -EINVAL;
	if (!a->sinc_size || a->sinc_size > INC_MAX_RANKS || a->sinc_rank >= a->sinc_size)
		return -EINVAL;
	if ((a->sinc_flags & INC_SA_EDGE) && !(a->sinc_flags & INC_SA_SHRINK) &&
	    !a->sinc_parent_family)
		return -EINVAL;
	err = check_parent(a);
	/* nothing that comes from another port is heard here */
	if (!err && a->sinc_parent_port && a->sinc_parent_port != htons(netinc_port))
		err = -ERANGE;
	return err;
}

/* Whom to join: as named, or where the group was last, or the netns' default. */
static int find_parent(struct netinc_net *nn, const struct netinc_sock *nsk,
		       const struct sockaddr_inc *a, struct netinc_peer *peer)
{
	if (!a->sinc_parent_family && (a->sinc_flags & INC_SA_SHRINK)) {
		*peer = nsk->prev.place;
		return 0;
	}
	if (!a->sinc_parent_family) {
		spin_lock_bh(&nn->hash_lock);
		*peer = nn->parent;
		spin_unlock_bh(&nn->hash_lock);
		return peer->family ? 0 : -ENETUNREACH;
	}
	memset(peer, 0, sizeof(*peer));
	memcpy(peer->addr, a->sinc_parent, sizeof(peer->addr));
	peer->family = a->sinc_parent_family;
	peer->udp_port = a->sinc_parent_port ?: htons(netinc_port);
	peer->ifindex = a->sinc_scope_id;
	return 0;
}

static void set_rank(struct netinc_sock *nsk, struct netinc_rank *rank)
{
	struct netinc_rank *old;

	spin_lock(&nsk->rank_lock);
	old = nsk->rank;
	nsk->rank = rank;
	spin_unlock(&nsk->rank_lock);
	if (!old)
		return;
	netinc_rank_destroy(old);
	netinc_rank_put(old);
}

/*
 * The rank's group has failed: all that is needed to go on in another one, also after a first
 * attempt has failed.
 */
static void remember_group(struct netinc_prev_group *prev, struct netinc_rank *rank)
{
	const struct netinc_ep *ep = &rank->ep;
	bool lost = ep->error.code == INC_ERR_NODE_DEAD || ep->error.code == INC_ERR_NODE_GONE;

	lockdep_assert_held(&rank->lock);
	prev->cfg = (struct netinc_ep_prev_group){ .lineage = ep->lineage,
						   .move = ep->move,
						   .settings = ep->settings };
	prev->job = ep->cfg.job;
	prev->group = ep->cfg.group;
	prev->stripe = ep->cfg.stripe;
	prev->rank = ep->cfg.rank;
	prev->size = ep->cfg.size;
	/* where it failed, as we were told there; if nobody answered, where it was last */
	prev->place = lost ? ep->plan[netinc_ep_place(ep, ep->settled)] : rank->path.peer;
	prev->place.ifindex = netinc_rank_oif(rank, &prev->place);
	prev->last_handle = rank->last_handle;
}

bool netinc_is_free(struct netinc_sock *nsk)
{
	struct netinc_rank *rank = nsk->rank;
	bool free = true;

	if (rank) {
		spin_lock_bh(&rank->lock);
		free = rank->ep.state == INC_STATE_FAILED;
		spin_unlock_bh(&rank->lock);
	}
	return free;
}

/* May this socket go on as @a says? Under the socket's lock. */
static int check_shrink(struct netinc_sock *nsk, const struct sockaddr_inc *a)
{
	struct netinc_rank *rank = nsk->rank;

	/* a group that has failed stays so */
	if (!netinc_is_free(nsk))
		return -EISCONN;
	if (rank) {
		spin_lock_bh(&rank->lock);
		if (rank->ep.lineage)
			remember_group(&nsk->prev, rank);
		spin_unlock_bh(&rank->lock);
	}
	if (!nsk->prev.cfg.lineage)
		return -ENOTCONN;
	if (a->sinc_job != nsk->prev.job || a->sinc_group != nsk->prev.group ||
	    stripe_of(a) != nsk->prev.stripe || a->sinc_rank != nsk->prev.rank ||
	    a->sinc_size != nsk->prev.size)
		return -EINVAL;
	return 0;
}

/* How long to ask where nobody answers, ms: SO_SNDTIMEO may be set meanwhile, without the lock. */
static u32 join_ms(const struct sock *sk)
{
	long timeo = READ_ONCE(sk->sk_sndtimeo);

	return timeo < msecs_to_jiffies(JOIN_MS_MAX) ? jiffies_to_msecs(timeo) : JOIN_MS_MAX;
}

/* Send the first JOIN. Under the socket's lock. */
static int start_join(struct sock *sk, const struct sockaddr_inc *a)
{
	struct netinc_ep_cfg cfg = { .job = a->sinc_job,
				     .group = a->sinc_group,
				     .stripe = stripe_of(a),
				     .rank = a->sinc_rank,
				     .size = a->sinc_size,
				     .canonical = a->sinc_flags & INC_SA_CANONICAL,
				     .asks = netinc_sk(sk)->asks,
				     .at_edge = a->sinc_flags & INC_SA_EDGE };
	struct netinc_net *nn = netinc_net(sock_net(sk));
	bool shrink = a->sinc_flags & INC_SA_SHRINK;
	struct netinc_sock *nsk = netinc_sk(sk);
	struct netinc_rank *rank;
	struct netinc_peer peer;
	int err;

	err = shrink ? check_shrink(nsk, a) : 0;
	if (!err)
		err = find_parent(nn, nsk, a, &peer);
	if (err)
		return err;
	cfg.join_ms = join_ms(sk);
	set_rank(nsk, NULL);	/* of a join or a group that has failed */
	sk->sk_socket->state = SS_UNCONNECTED;
	if (!shrink)
		memset(&nsk->prev, 0, sizeof(nsk->prev));
	cfg.prev = nsk->prev.cfg;
	memcpy(cfg.key, nsk->key, sizeof(cfg.key));
	rank = netinc_rank_create(nn, &cfg, &peer, peer.ifindex, sk, wake_socket);
	memzero_explicit(cfg.key, sizeof(cfg.key));
	if (IS_ERR(rank))
		return PTR_ERR(rank);
	rank->last_handle = nsk->prev.last_handle;
	nsk->addr = *a;
	sock_error(sk);
	set_rank(nsk, rank);
	sk->sk_socket->state = SS_CONNECTING;
	netinc_rank_lock(rank);
	netinc_ep_connect(&rank->ep, rank->now);
	netinc_rank_unlock(rank);
	return 0;
}

static bool join_ended(struct netinc_rank *rank)
{
	bool ended;

	spin_lock_bh(&rank->lock);
	ended = READ_ONCE(rank->joined) || rank->ep.state == INC_STATE_FAILED;
	spin_unlock_bh(&rank->lock);
	return ended;
}

/* The result of a join that has ended, told once. Under the socket's lock. */
static int finish_join(struct sock *sk, struct netinc_rank *rank)
{
	/* another connect() may have told it too, and have begun anew: that is not ours to end */
	bool own = netinc_sk(sk)->rank == rank;
	struct socket *sock = sk->sk_socket;
	int err;

	if (sock->state == SS_CONNECTED)
		return -EISCONN;
	if (READ_ONCE(rank->joined)) {
		if (own)
			sock->state = SS_CONNECTED;
		return 0;
	}
	if (own) {
		sock->state = SS_UNCONNECTED;
		sock_error(sk);
	}
	spin_lock_bh(&rank->lock);
	err = join_errno(&rank->ep);
	spin_unlock_bh(&rank->lock);
	return err;
}

static bool same_addr(const struct sockaddr_inc *a, const struct sockaddr_inc *b)
{
	return a->sinc_job == b->sinc_job && a->sinc_group == b->sinc_group &&
	       a->sinc_rank == b->sinc_rank && a->sinc_size == b->sinc_size &&
	       stripe_of(a) == stripe_of(b) &&
	       a->sinc_parent_family == b->sinc_parent_family &&
	       !memcmp(a->sinc_parent, b->sinc_parent, sizeof(a->sinc_parent));
}

/* Without the socket's lock: for the end of the join, or of the caller's patience. */
static int await_join(struct sock *sk, struct netinc_rank *rank, long timeo)
{
	long left = wait_event_interruptible_timeout(*sk_sleep(sk), join_ended(rank), timeo);

	if (left < 0)
		return sock_intr_errno(timeo);
	return left ? 0 : -EINPROGRESS;
}

/*
 * A join has ended, which nobody has asked connect() about: is this call about what came after it?
 */
static bool goes_on(struct netinc_rank *rank, const struct sockaddr_inc *a)
{
	const struct netinc_ep *ep = &rank->ep;
	bool ret;

	if (!(a->sinc_flags & INC_SA_SHRINK) || !READ_ONCE(rank->joined))
		return false;
	spin_lock_bh(&rank->lock);
	ret = !ep->cfg.prev.lineage ||
	      (ep->state == INC_STATE_FAILED && a->sinc_rank == ep->cfg.rank &&
	       a->sinc_size == ep->cfg.size);
	spin_unlock_bh(&rank->lock);
	return ret;
}

/* Joins, or goes on with a join that is under way; 1: to be waited for. Under the socket's lock. */
static int begin_join(struct sock *sk, const struct sockaddr_inc *a, bool wait)
{
	struct netinc_sock *nsk = netinc_sk(sk);
	int err;

	switch (sk->sk_socket->state) {
	case SS_CONNECTED:
		if (!(a->sinc_flags & INC_SA_SHRINK))
			return -EISCONN;
		break;
	case SS_CONNECTING:
		if (!join_ended(nsk->rank))
			return wait && same_addr(a, &nsk->addr) ? 1 : -EALREADY;
		if (!goes_on(nsk->rank, a))
			return finish_join(sk, nsk->rank);
		sk->sk_socket->state = SS_CONNECTED;
		break;
	default:
		break;
	}
	err = start_join(sk, a);
	if (err)
		return err;
	return wait ? 1 : -EINPROGRESS;
}

int netinc_connect(struct socket *sock, struct sockaddr_unsized *uaddr, int len, int flags)
{
	const struct sockaddr_inc *a = (const struct sockaddr_inc *)uaddr;
	struct netinc_rank *rank;
	struct sock *sk = sock->sk;
	long timeo = sock_sndtimeo(sk, flags & O_NONBLOCK);
	int err;

	err = check_addr(a, len);
	if (err)
		return err;
	lock_sock(sk);
	err = begin_join(sk, a, timeo);
	rank = err > 0 ? netinc_sock_rank(netinc_sk(sk)) : NULL;
	release_sock(sk);
	if (!rank)
		return err;
	err = await_join(sk, rank, timeo);
	if (!err) {
		lock_sock(sk);
		err = finish_join(sk, rank);
		release_sock(sk);
	}
	netinc_rank_put(rank);
	return err;
}

/* Begins to leave as soon as that is possible; true: there is nothing to wait for (any more). */
static bool try_leave(struct netinc_rank *rank)
{
	struct netinc_ep *ep = &rank->ep;
	bool wait;

	netinc_rank_lock(rank);
	if (ep->state == INC_STATE_READY)
		netinc_ep_leave(ep, &rank->leave, rank->now);
	wait = ep->state == INC_STATE_LEAVING ||
	       (list_empty(&rank->pending) &&
		(ep->state == INC_STATE_READY || ep->state == INC_STATE_RESYNC));
	netinc_rank_unlock(rank);
	return !wait;
}

/*
 * A process that ends closes its sockets one after the other, and nothing can end it sooner; and
 * one that has not joined may have been sent many sockets that it never asked for. When one of them
 * has not left in time, they do not wait for the others.
 */
static bool can_give_up(const struct netinc_rank *rank)
{
	return (current->flags & PF_EXITING) || !netinc_rank_is_own(rank);
}

static bool has_given_up(const struct netinc_rank *rank)
{
	const struct netinc_user *user = rank->user;

	return can_give_up(rank) && READ_ONCE(user->gave_up_by) == task_tgid(current) &&
	       time_before(jiffies, READ_ONCE(user->gave_up_at) + LINGER);
}

static void give_up(const struct netinc_rank *rank)
{
	struct netinc_user *user = rank->user;

	if (!can_give_up(rank))
		return;
	WRITE_ONCE(user->gave_up_at, jiffies);
	WRITE_ONCE(user->gave_up_by, task_tgid(current));
}

/*
 * Waits until the rank has left, no longer than netinc_rank_patience(), or until the process is
 * killed.
 */
static void await_leave(struct sock *sk, struct netinc_rank *rank)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	long left = has_given_up(rank) ? 0 : netinc_rank_patience(rank, LINGER);

	add_wait_queue(sk_sleep(sk), &wait);
	while (!try_leave(rank) && left && !fatal_signal_pending(current)) {
		left = wait_woken(&wait, TASK_KILLABLE, left);
		if (!left)
			give_up(rank);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
}

void netinc_disconnect(struct sock *sk)
{
	struct netinc_sock *nsk = netinc_sk(sk);

	if (!nsk->rank)
		return;
	await_leave(sk, nsk->rank);
	set_rank(nsk, NULL);
}
