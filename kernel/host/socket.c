// SPDX-License-Identifier: GPL-2.0-only
/*
 * AF_INC: the family, and the system calls on its sockets. A socket is one rank of one group;
 * joining and leaving are in connect.c, operations in op.c.
 */
#include <linux/compat.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/init.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/stringify.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>
#include <net/sock.h>
#include "host/many.h"
#include "host/rank.h"
#include "host/socket.h"

/* What programs pass: the same for 32-bit programs, and for ever. */
static_assert(sizeof(struct sockaddr_inc) == 48);
static_assert(sizeof(struct inc_submit) == 104);
static_assert(sizeof(struct inc_completion) == 88);
static_assert(sizeof(struct inc_wait) == 104);
static_assert(sizeof(struct inc_submit_wait) == 208);
static_assert(sizeof(struct inc_contributed) == 32);
static_assert(sizeof(struct inc_register) == 32);

/*
 * AF_INC has no number of its own: Linux gives them to what is in its tree, and takes none beyond
 * NPROTO. These are of protocols that it does not have: no program opens sockets of theirs. Whoever
 * wants one asks the netlink family for it, so that it may be another one on each machine.
 */
static const struct {
	u8 number;
	const char *of;
} candidates[] = {
	{ 19, "AF_ECONET" }, { 18, "AF_ASH" }, { 22, "AF_SNA" }, { 25, "AF_WANPIPE" },
};

/* make INC_FAMILY=N: of who builds the module */
#ifndef NETINC_FAMILY
#define NETINC_FAMILY	0
#endif
#define FAMILY_DEFAULT	"which no protocol of Linux has; default " __stringify(NETINC_FAMILY)

int netinc_family = NETINC_FAMILY;
module_param_named(family, netinc_family, int, 0444);
MODULE_PARM_DESC(family, "Number of AF_INC: 1..45; 0: the first free one of 19, 18, 22 and 25, "
		 FAMILY_DEFAULT);

static struct proto proto = {
	.name = "INC",
	.owner = THIS_MODULE,
	.obj_size = sizeof(struct netinc_sock),
};

struct netinc_rank *netinc_sock_rank(struct netinc_sock *nsk)
{
	struct netinc_rank *rank;

	spin_lock(&nsk->rank_lock);
	rank = nsk->rank;
	if (rank)
		netinc_rank_get(rank);
	spin_unlock(&nsk->rank_lock);
	return rank;
}

static int inc_release(struct socket *sock)
{
	struct sock *sk = sock->sk;

	if (!sk)
		return 0;
	netinc_disconnect(sk);
	netinc_registry_clear(&netinc_sk(sk)->registry);
	sock_orphan(sk);
	sock->sk = NULL;
	sock_put(sk);
	return 0;
}

/* Of a link-local address; the oif of another one is the VRF. */
static u32 scope_of(const struct netinc_path *path)
{
	const struct in6_addr *addr = (const void *)path->peer.addr;

	return path->peer.family == AF_INET6 &&
	       __ipv6_addr_needs_scope_id(ipv6_addr_type(addr)) ? path->oif : 0;
}

static int inc_getname(struct socket *sock, struct sockaddr *uaddr, int peer)
{
	struct sockaddr_inc *a = (struct sockaddr_inc *)uaddr;
	struct netinc_sock *nsk = netinc_sk(sock->sk);
	struct netinc_rank *rank = netinc_sock_rank(nsk);

	if (!rank && peer)
		return -ENOTCONN;
	lock_sock(sock->sk);
	*a = nsk->addr;
	release_sock(sock->sk);
	a->sinc_family = netinc_family;
	if (!rank)
		return sizeof(*a);
	/* a move changes where the parent is, shrinking the numbers */
	spin_lock_bh(&rank->lock);
	a->sinc_parent_family = rank->path.peer.family;
	a->sinc_parent_port = rank->path.peer.udp_port;
	a->sinc_scope_id = scope_of(&rank->path);
	memcpy(a->sinc_parent, rank->path.peer.addr, sizeof(a->sinc_parent));
	a->sinc_rank = peer ? NETINC_NO_RANK : rank->ep.cfg.rank;	/* a node is none */
	a->sinc_size = rank->ep.cfg.size;
	spin_unlock_bh(&rank->lock);
	netinc_rank_put(rank);
	return sizeof(*a);
}

static __poll_t rank_poll(struct netinc_rank *rank)
{
	__poll_t mask = 0;

	spin_lock_bh(&rank->lock);
	if (netinc_op_request_readable(rank))
		mask |= EPOLLIN | EPOLLRDNORM;
	switch (rank->ep.state) {
	case INC_STATE_READY:
	case INC_STATE_RESYNC:
		mask |= EPOLLOUT | EPOLLWRNORM;
		break;
	case INC_STATE_FAILED:
		mask |= EPOLLERR | EPOLLHUP;
		break;
	default:
		break;
	}
	spin_unlock_bh(&rank->lock);
	return mask;
}

static __poll_t inc_poll(struct file *file, struct socket *sock, poll_table *wait)
{
	__poll_t mask = EPOLLHUP;
	struct netinc_rank *rank;

	sock_poll_wait(file, sock, wait);
	/* one that comes after this look wakes who waits */
	rank = netinc_sock_rank(netinc_sk(sock->sk));
	if (rank) {
		mask = rank_poll(rank);
		netinc_rank_put(rank);
	}
	return mask;
}

long netinc_wait_timeo(s64 ms)
{
	if (ms < 0 || ms > INT_MAX)
		return MAX_SCHEDULE_TIMEOUT;
	return msecs_to_jiffies(ms);
}

int netinc_put_completion(struct netinc_rank *rank, struct netinc_op_request *req,
			  struct inc_completion __user *to)
{
	struct inc_completion c;

	netinc_op_request_completion(req, &c);
	netinc_contributed_note(rank, req);
	if (copy_to_user(to, &c, sizeof(c))) {
		netinc_op_request_back(rank, req);
		return -EFAULT;
	}
	netinc_op_request_free(rank, req);
	return 0;
}

static int ioc_submit(struct netinc_rank *rank, struct inc_submit __user *u)
{
	struct inc_submit sub;
	u64 handle;
	int err;

	if (copy_from_user(&sub, u, sizeof(sub)) || put_user(0ULL, &u->handle))
		return -EFAULT;
	err = netinc_op_request_submit(rank, &sub, NETINC_SUBMIT_PINNED, &handle);
	return err ?: put_user(handle, &u->handle);
}

static int ioc_wait(struct netinc_rank *rank, struct inc_wait __user *u)
{
	struct netinc_op_request *req;
	struct inc_wait w;

	if (copy_from_user(&w, u, sizeof(w)))
		return -EFAULT;
	if (w.timeout_ms < -1)
		return -EINVAL;
	req = netinc_op_request_wait(rank, w.handle, false, netinc_wait_timeo(w.timeout_ms));
	if (!IS_ERR(req))
		return netinc_put_completion(rank, req, &u->completion);
	/* started again it would wait for the whole time again */
	if (PTR_ERR(req) == -ERESTARTSYS && w.timeout_ms >= 0)
		return -EINTR;
	return PTR_ERR(req);
}

static int ioc_submit_wait(struct netinc_rank *rank, struct inc_submit_wait __user *u)
{
	struct inc_submit_wait sw;
	struct netinc_op_request *req;
	u64 handle;
	int err;

	if (copy_from_user(&sw, u, sizeof(sw)) || put_user(0ULL, &u->submit.handle))
		return -EFAULT;
	if (sw.wait.timeout_ms < -1)
		return -EINVAL;
	err = netinc_op_request_submit(rank, &sw.submit, NETINC_SUBMIT_AWAITED, &handle);
	if (err)
		return err;
	err = put_user(handle, &u->submit.handle) || put_user(handle, &u->wait.handle) ? -EFAULT :
											 0;
	req = netinc_op_request_wait(rank, handle, true,
				     err ? 0 : netinc_wait_timeo(sw.wait.timeout_ms));
	if (!IS_ERR(req))
		return netinc_put_completion(rank, req, &u->wait.completion);
	if (err)
		return err;
	switch (PTR_ERR(req)) {
	case -ERESTARTSYS:
		return -EINTR;		/* not to be submitted again */
	case -EAGAIN:
		return -ETIMEDOUT;
	default:
		return PTR_ERR(req);
	}
}

static void fill_info(struct netinc_rank *rank, struct inc_info *info)
{
	const struct netinc_ep *ep = &rank->ep;

	info->group = ep->cfg.group;
	info->rank = ep->cfg.rank;
	info->size = ep->cfg.size;
	info->state = ep->state;
	info->epoch = ep->epoch;
	info->window = ep->settings.window;
	info->block = ep->block;
	info->joined = ep->joined;
	if (ep->state == INC_STATE_WAITING || (ep->state == INC_STATE_READY && ep->head))
		info->missing = ep->waiting;
	info->srtt_us = ep->cc.srtt;
	info->submitted = ep->submitted;
	info->completed = ep->counters[INC_C_OPS] + ep->counters[INC_C_OPS_FAILED];
	info->blocks_sent = ep->counters[INC_C_CONTRIBS_SENT];
	info->blocks_resent = ep->counters[INC_C_CONTRIBS_RESENT];
	netinc_error_info(&ep->error, &info->error);
	info->parent_family = rank->path.peer.family;
	info->parent_port = rank->path.peer.udp_port;
	memcpy(info->parent, rank->path.peer.addr, sizeof(info->parent));
	info->moves = ep->move;
	info->placement = netinc_ep_placement(ep);
	info->order = ep->tree_order ? INC_ORDER_TREE : INC_ORDER_CANONICAL;
	info->fallback = ep->settings.fallback;
	info->stripe = ep->cfg.stripe;
	info->lacks.types = ep->settings.lacks.types;
	info->lacks.ops = ep->settings.lacks.ops;
	if (ep->refused == INC_REFUSE_KINDS) {
		info->lacks.types = (u32)ep->refuse_detail;
		info->lacks.ops = (u32)(ep->refuse_detail >> 32);
	}
}

static int put_contributors(struct inc_contributed __user *u, struct inc_contributed *asked,
			    const struct netinc_contributors *c)
{
	u32 words = min_t(u32, asked->words, DIV_ROUND_UP(c->size, 32));

	if (copy_to_user(u64_to_user_ptr(asked->ranks), c->ranks, words * sizeof(c->ranks[0])))
		return -EFAULT;
	asked->handle = c->handle;
	asked->size = c->size;
	asked->missing = c->missing;
	return copy_to_user(u, asked, sizeof(*asked)) ? -EFAULT : 0;
}

static int ioc_contributed(struct netinc_rank *rank, struct inc_contributed __user *u)
{
	struct netinc_contributors *c;
	struct inc_contributed asked;
	int err;

	if (copy_from_user(&asked, u, sizeof(asked)))
		return -EFAULT;
	if (asked.resv)
		return -EINVAL;
	c = kmalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	err = netinc_contributed_get(rank, asked.handle, c);
	if (!err)
		err = put_contributors(u, &asked, c);
	kfree(c);
	return err;
}

static int ioc_register(struct netinc_sock *nsk, struct inc_register __user *u)
{
	struct inc_register reg;
	int err;

	if (copy_from_user(&reg, u, sizeof(reg)))
		return -EFAULT;
	err = netinc_register(nsk, &reg);
	if (err)
		return err;
	if (!put_user(reg.id, &u->id))
		return 0;
	netinc_unregister(nsk, reg.id);
	return -EFAULT;
}

static int ioc_unregister(struct netinc_sock *nsk, const u32 __user *u)
{
	u32 id;

	return get_user(id, u) ? -EFAULT : netinc_unregister(nsk, id);
}

static int rank_ioctl(struct netinc_rank *rank, unsigned int cmd, void __user *arg)
{
	switch (cmd) {
	case INC_IOC_SUBMIT:
		return rank ? ioc_submit(rank, arg) : -ENOTCONN;
	case INC_IOC_WAIT:
		return rank ? ioc_wait(rank, arg) : -ENOTCONN;
	case INC_IOC_SUBMIT_AND_WAIT:
		return rank ? ioc_submit_wait(rank, arg) : -ENOTCONN;
	case INC_IOC_SUBMIT_MANY:
		return rank ? netinc_submit_many(rank, arg) : -ENOTCONN;
	case INC_IOC_WAIT_MANY:
		return rank ? netinc_wait_many(rank, arg) : -ENOTCONN;
	case INC_IOC_CONTRIBUTED:
		return rank ? ioc_contributed(rank, arg) : -ENOTCONN;
	default:
		return -ENOIOCTLCMD;
	}
}

static int inc_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct netinc_sock *nsk = netinc_sk(sock->sk);
	void __user *to = (void __user *)arg;
	struct netinc_rank *rank;
	int ret;

	if (cmd == INC_IOC_REGISTER)
		return ioc_register(nsk, to);
	if (cmd == INC_IOC_UNREGISTER)
		return ioc_unregister(nsk, to);
	rank = netinc_sock_rank(nsk);
	ret = rank_ioctl(rank, cmd, to);
	if (rank)
		netinc_rank_put(rank);
	return ret;
}

#ifdef CONFIG_COMPAT
static int compat_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	return inc_ioctl(sock, cmd, (unsigned long)compat_ptr(arg));
}
#endif

static int set_key(struct netinc_sock *nsk, sockptr_t from, unsigned int len)
{
	u8 key[INC_KEY_LEN];
	int err = 0;

	if (len != sizeof(key))
		return -EINVAL;
	if (copy_from_sockptr(key, from, sizeof(key)))
		return -EFAULT;
	lock_sock(&nsk->sk);
	if (netinc_is_free(nsk))
		memcpy(nsk->key, key, sizeof(key));
	else
		err = -EISCONN;
	release_sock(&nsk->sk);
	memzero_explicit(key, sizeof(key));
	return err;
}

/* What nodes are asked to reduce; they know weighted sums as sums. */
static int set_reduces(struct netinc_sock *nsk, sockptr_t from, unsigned int len)
{
	struct inc_reduces asked;
	int err = 0;

	if (len != sizeof(asked))
		return -EINVAL;
	if (copy_from_sockptr(&asked, from, sizeof(asked)))
		return -EFAULT;
	if (asked.ops & 1u << INC_OP_WSUM)
		asked.ops = (asked.ops & ~(1u << INC_OP_WSUM)) | 1u << INC_OP_SUM;
	if ((asked.types & ~NETINC_ALL_TYPES) || (asked.ops & ~NETINC_ALL_OPS))
		return -EINVAL;
	lock_sock(&nsk->sk);
	if (netinc_is_free(nsk))
		nsk->asks = (struct netinc_kinds){ asked.types, asked.ops };
	else
		err = -EISCONN;
	release_sock(&nsk->sk);
	return err;
}

static int inc_setsockopt(struct socket *sock, int level, int name, sockptr_t from,
			  unsigned int len)
{
	if (level == SOL_INC && name == INC_SO_KEY)
		return set_key(netinc_sk(sock->sk), from, len);
	if (level == SOL_INC && name == INC_SO_REDUCES)
		return set_reduces(netinc_sk(sock->sk), from, len);
	return -ENOPROTOOPT;
}

static void get_info(struct netinc_sock *nsk, struct inc_info *info)
{
	struct netinc_rank *rank = netinc_sock_rank(nsk);

	if (!rank)
		return;
	spin_lock_bh(&rank->lock);
	fill_info(rank, info);
	spin_unlock_bh(&rank->lock);
	netinc_rank_put(rank);
}

/* As much as the caller knows of it, and zeros for what only the caller knows. */
static int inc_getsockopt(struct socket *sock, int level, int name, char __user *to,
			  int __user *ulen)
{
	struct inc_info info = { .state = INC_STATE_CLOSED, .missing = NETINC_NO_RANK };
	int len, known;

	if (level != SOL_INC || name != INC_SO_INFO)
		return -ENOPROTOOPT;
	if (get_user(len, ulen))
		return -EFAULT;
	if (len < 0 || len > INC_SO_MAX_LEN)
		return -EINVAL;
	get_info(netinc_sk(sock->sk), &info);
	known = min_t(int, len, sizeof(info));
	if (copy_to_user(to, &info, known) || clear_user(to + known, len - known))
		return -EFAULT;
	return put_user(known, ulen);
}

/* Ends the group for all ranks; connect() in another thread, too. The socket stays to be read. */
static int inc_shutdown(struct socket *sock, int how)
{
	struct netinc_rank *rank;

	if (how != SHUT_RDWR)
		return -EOPNOTSUPP;
	rank = netinc_sock_rank(netinc_sk(sock->sk));
	if (!rank)
		return -ENOTCONN;
	netinc_rank_lock(rank);
	netinc_ep_cancel(&rank->ep, rank->now);
	netinc_rank_unlock(rank);
	netinc_rank_put(rank);
	return 0;
}

static int receive_completion(struct netinc_rank *rank, struct msghdr *msg, long timeo)
{
	struct netinc_op_request *req = netinc_op_request_recv(rank, timeo);
	struct inc_completion c;

	if (IS_ERR(req)) {
		if (PTR_ERR(req) == -ERESTARTSYS)
			return sock_intr_errno(timeo);
		return PTR_ERR(req) == -ETIMEDOUT ? -EAGAIN : PTR_ERR(req);
	}
	netinc_op_request_completion(req, &c);
	netinc_contributed_note(rank, req);
	if (copy_to_iter(&c, sizeof(c), &msg->msg_iter) != sizeof(c)) {
		netinc_op_request_back(rank, req);
		return -EFAULT;
	}
	netinc_op_request_free(rank, req);
	return sizeof(c);
}

static int inc_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	struct netinc_rank *rank;
	int ret;

	if (flags & (MSG_OOB | MSG_PEEK | MSG_ERRQUEUE))
		return -EOPNOTSUPP;
	if (len < sizeof(struct inc_completion))
		return -EMSGSIZE;
	rank = netinc_sock_rank(netinc_sk(sock->sk));
	if (!rank || !READ_ONCE(rank->joined))
		ret = -ENOTCONN;
	else
		ret = receive_completion(rank, msg, sock_rcvtimeo(sock->sk, flags & MSG_DONTWAIT));
	if (rank)
		netinc_rank_put(rank);
	msg->msg_namelen = 0;
	return ret;
}

/* .family is known when the module is loaded, and nobody asks: sk_family is what counts */
static const struct proto_ops ops = {
	.owner = THIS_MODULE,
	.release = inc_release,
	.bind = sock_no_bind,
	.connect = netinc_connect,
	.socketpair = sock_no_socketpair,
	.accept = sock_no_accept,
	.getname = inc_getname,
	.poll = inc_poll,
	.ioctl = inc_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = compat_ioctl,
#endif
	.listen = sock_no_listen,
	.shutdown = inc_shutdown,
	.setsockopt = inc_setsockopt,
	.getsockopt = inc_getsockopt,
	/* what names memory is a command of who knows the socket, not any bytes */
	.sendmsg = sock_no_sendmsg,
	.recvmsg = inc_recvmsg,
	.mmap = sock_no_mmap,
};

/* Called with the last reference: also ranks and operations are gone. */
static void inc_destruct(struct sock *sk)
{
	struct netinc_sock *nsk = netinc_sk(sk);

	netinc_uncharge(netinc_net(sock_net(sk)), nsk->user, INC_LIMIT_SOCKETS, 1);
	netinc_user_put(nsk->user);
	mem_cgroup_put(nsk->memcg);
	memzero_explicit(nsk->key, sizeof(nsk->key));
}

static int inc_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct netinc_net *nn = netinc_net(net);
	struct netinc_user *user;
	struct netinc_sock *nsk;
	struct sock *sk;
	int err;

	if (sock->type != SOCK_SEQPACKET)
		return -ESOCKTNOSUPPORT;
	if (protocol)
		return -EPROTONOSUPPORT;
	user = netinc_user_get(current_user_ns(), current_uid());
	if (!user)
		return -ENOMEM;
	err = netinc_charge(nn, user, INC_LIMIT_SOCKETS, 1);
	if (err)
		goto err_user;
	err = -ENOMEM;
	sk = sk_alloc(net, netinc_family, GFP_KERNEL, &proto, kern);
	if (!sk)
		goto err_charge;
	sock->ops = &ops;
	sock->state = SS_UNCONNECTED;
	sock_init_data(sock, sk);
	nsk = netinc_sk(sk);
	spin_lock_init(&nsk->rank_lock);
	nsk->rank = NULL;
	nsk->user = user;
	nsk->memcg = get_mem_cgroup_from_mm(current->mm);
	memset(&nsk->addr, 0, sizeof(nsk->addr));
	memset(nsk->key, 0, sizeof(nsk->key));
	sk->sk_destruct = inc_destruct;
	memset(&nsk->prev, 0, sizeof(nsk->prev));
	netinc_registry_init(&nsk->registry);
	return 0;

err_charge:
	netinc_uncharge(nn, user, INC_LIMIT_SOCKETS, 1);
err_user:
	netinc_user_put(user);
	return err;
}

/* Whether netinc_family is a family of sockets is settled; then `ready` says so. */
static DECLARE_COMPLETION(settled);
static bool ready;

static struct net_proto_family family = {
	.owner = THIS_MODULE,
	.create = inc_create,
};

static int register_as(int number)
{
	netinc_family = number;
	family.family = number;
	return sock_register(&family);
}

/* To modprobe(8) EEXIST means that the module is there already, and all is well. */
static int number_errno(int err)
{
	return err == -EEXIST ? -EBUSY : err;
}

static int register_family(void)
{
	int err = -EEXIST, i, wanted = netinc_family;

	if (wanted < 0 || wanted >= NPROTO) {
		pr_err("inc: parameter family=%d: expected 1..%d, or 0\n", wanted, NPROTO - 1);
		return -EINVAL;
	}
	if (wanted) {
		err = register_as(wanted);
		if (err == -EEXIST)
			pr_err("inc: parameter family=%d: %s\n", wanted,
			       "another protocol has that number: expected a free one, or 0");
		return number_errno(err);
	}
	for (i = 0; i < ARRAY_SIZE(candidates) && err == -EEXIST; i++)
		err = register_as(candidates[i].number);
	if (err)
		pr_err("inc: no socket family number is free: %s\n",
		       "19, 18, 22 and 25 are taken: expected parameter family=N");
	else
		pr_info("inc: AF_INC is %d, the number of %s, which Linux does not have: %s\n",
			netinc_family, candidates[i - 1].of, "parameter family=N sets another");
	return number_errno(err);
}

bool netinc_socket_ready(void)
{
	return !wait_for_completion_killable(&settled) && ready;
}

int netinc_socket_init(void)
{
	int err;

	err = proto_register(&proto, 1);
	if (!err) {
		err = register_family();
		if (err)
			proto_unregister(&proto);
	}
	ready = !err;
	complete_all(&settled);
	return err;
}

void netinc_socket_fini(void)
{
	sock_unregister(netinc_family);
	proto_unregister(&proto);
}
