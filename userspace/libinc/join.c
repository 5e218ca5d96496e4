// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Joining and leaving. A join is a non-blocking connect(): inc_join() is inc_join_start() and
 * inc_join_poll() in one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define PLACE_SECONDS	1	/* for each of a parent's addresses but the last */

/* How often this process has forked: since then another one may hold its sockets. */
static atomic_uint forks;
/* How many forks this process comes from. */
static atomic_uint descent;

/* Groups of which a child has no socket; who forks has the lock, so a child finds them whole. */
static pthread_mutex_t closing_lock = PTHREAD_MUTEX_INITIALIZER;
static struct inc_group *closing;

static void before_fork(void)
{
	pthread_mutex_lock(&closing_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&closing_lock);
	atomic_fetch_add(&forks, 1);
}

/* Whose number is another file's in a moment must not be closed once more. */
static void begin_child(void)
{
	atomic_fetch_add(&descent, 1);
	for (struct inc_group *group = closing; group; group = group->next) {
		close(group->fd);
		group->fd = -1;
	}
	pthread_mutex_unlock(&closing_lock);
}

unsigned int inc_process(void)
{
	return atomic_load(&descent);
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, begin_child);
}

int inc_close_on_fork(struct inc_group *group)
{
	if (!group)
		return inc_null(NULL, "group");
	for (unsigned int i = 0; i < group->nstripes; i++)
		inc_close_on_fork(group->stripe[i]);
	pthread_mutex_lock(&closing_lock);
	if (!group->closes) {
		group->closes = true;
		group->next = closing;
		closing = group;
	}
	pthread_mutex_unlock(&closing_lock);
	return 0;
}

/*
 * A child that begins from here on knows nothing of it. Without the lock, since close() waits for
 * the other ranks: a child that begins just before it has a copy of the socket.
 */
static void close_group(struct inc_group *group)
{
	struct inc_group **at = &closing;

	pthread_mutex_lock(&closing_lock);
	while (*at && *at != group)
		at = &(*at)->next;
	if (*at)
		*at = group->next;
	pthread_mutex_unlock(&closing_lock);
	if (group->fd >= 0)
		close(group->fd);
}

int64_t inc_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* What is left of a limit, for poll(); a deadline < 0 is none. */
int inc_left_ms(int64_t deadline)
{
	int64_t left = deadline - inc_now_ms();

	if (deadline < 0)
		return -1;
	return left > 0 ? (int)left : 0;
}

int inc_ask_info(const struct inc_group *group, struct inc_info *info)
{
	socklen_t len = sizeof(*info);

	if (group->nstripes)
		return inc_stripes_info(group, info);
	memset(info, 0, sizeof(*info));
	return getsockopt(group->fd, SOL_INC, INC_SO_INFO, info, &len) < 0 ? -errno : 0;
}

int inc_info(struct inc_group *group, struct inc_info *info)
{
	int ret;

	if (!group || !info)
		return inc_null(group, group ? "info" : "group");
	ret = inc_ask_info(group, info);
	return ret ? inc_fail(group, ret, "group %u rank %u: %s", group->addr.sinc_group,
			      group->addr.sinc_rank, inc_strerror(ret)) : 0;
}

int inc_fd(const struct inc_group *group)
{
	return group ? group->fd : inc_null(NULL, "group");
}

uint32_t inc_rank(const struct inc_group *group)
{
	return group ? group->addr.sinc_rank : UINT32_MAX;
}

uint32_t inc_size(const struct inc_group *group)
{
	return group ? group->addr.sinc_size : 0;
}

uint32_t inc_group_id(const struct inc_group *group)
{
	return group ? group->addr.sinc_group : 0;
}

static int open_socket(void)
{
	int family, fd, type = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;

	for (int i = 0; i < 2; i++) {
		family = inc_family();
		if (family < 0)
			return family;
		fd = socket(family, type, 0);
		if (fd >= 0)
			return fd;
		if (errno != EAFNOSUPPORT)
			break;
		inc_family_forget();
	}
	return inc_fail(NULL, -errno, "socket(AF_INC = %d): %s", family, inc_strerror(errno));
}

/* Of several all that have been tried. */
static void parent_text(const struct inc_group *group, const struct inc_info *info, char *buf,
			size_t len)
{
	const struct sockaddr_inc *addr = &group->addr;
	struct inc_parent_addr parent;
	char one[INET6_ADDRSTRLEN];

	if (group->place) {
		buf[0] = 0;
		for (unsigned int i = 0; i <= group->place; i++)
			inc_append(buf, len, "%s%s", i ? ", then " : "",
				   inet_ntop(group->places[i].family, group->places[i].addr, one,
					     sizeof(one)));
	} else if (addr->sinc_parent_family && !group->by_default) {
		inc_format_parent(buf, len, addr->sinc_parent_family, addr->sinc_parent,
				  ntohs(addr->sinc_parent_port));
	} else if (!info->parent_family && !inc_parent_get(&parent)) {
		/* it was refused at once */
		inc_format_parent(buf, len, parent.family, parent.addr, parent.port);
	} else {
		inc_format_parent(buf, len, info->parent_family, info->parent,
				  ntohs(info->parent_port));
	}
}

/* What a refusal means; NULL for errors that say it themselves. */
static const char *refusal_text(int err)
{
	switch (err) {
	case -ECONNREFUSED:
		return "it is no node (there: inc node add dev all)";
	case -EHOSTUNREACH:
	case -ETIMEDOUT:
		return "it does not answer, or is no node (there: inc node add dev all)";
	case -ENETUNREACH:
		return "no route of this host leads there";
	case -EADDRNOTAVAIL:
		return "it is the address of no host";
	case -EADDRINUSE:
		return "this rank is taken";
	case -ENOTUNIQ:
		return "another program has INC's UDP port on this host (as root: ss -ulpn)";
	case -EINVAL:
		return "the group has another size";
	case -EACCES:
		return "the key is not the node's";
	case -ENOSPC:
		return "it takes no more groups or members (there: inc node show, inc limits show)";
	case -EPERM:
		return "no tenant takes ranks from here (there: inc tenant show)";
	case -EDQUOT:
		return "the tenant has all the groups or memory it may (there: inc tenant show)";
	case -EBUSY:
		return "an older run of the group has not ended, or the node is short of memory";
	case -ERANGE:
		return "its port is not INC's on this machine, which hears no other (inc caps)";
	case -EMSGSIZE:
		return "the path's MTU is too small";
	case -ESTALE:
		return "this rank is out: the group went on without it";
	case -EDOM:
		return "canonical order would take more than 256 parts of a block at some node";
	case -EOPNOTSUPP:
		return "other ranks come to other nodes, and the one above takes no nodes";
	case -EPROTONOSUPPORT:
		return "a node of the group does not reduce what a rank asks for (INC_REDUCES)";
	case -EPROTOTYPE:
		return "other ranks have joined with another number of stripes (INC_STRIPES)";
	default:
		return NULL;
	}
}

/* ENETUNREACH may also mean that there is a parent, and no way to it. */
static bool is_parentless(const struct sockaddr_inc *addr)
{
	struct inc_parent_addr parent;

	return !addr->sinc_parent_family && inc_parent_get(&parent) == -ENETUNREACH;
}

/* Can a socket of this network namespace have the parent's address? */
static bool is_own_place(const struct sockaddr_inc *addr)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_scope_id = addr->sinc_scope_id };
	struct sockaddr_in in = { .sin_family = AF_INET };
	bool v4 = addr->sinc_parent_family == AF_INET;
	int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	memcpy(&in.sin_addr, addr->sinc_parent, sizeof(in.sin_addr));
	memcpy(&in6.sin6_addr, addr->sinc_parent, sizeof(in6.sin6_addr));
	ret = v4 ? bind(fd, (struct sockaddr *)&in, sizeof(in)) :
		   bind(fd, (struct sockaddr *)&in6, sizeof(in6));
	ret = ret < 0 && errno == EADDRNOTAVAIL;
	if (fd >= 0)
		close(fd);
	return !ret;
}

/* Why ranks have not met at the host of rank 0; NULL: it is not that. */
static const char *meeting_text(const struct inc_group *group, int err)
{
	const struct sockaddr_inc *addr = &group->addr;

	if (!(addr->sinc_flags & INC_SA_EDGE) || group->shrinks ||
	    (err != -ECONNREFUSED && err != -ETIMEDOUT && err != -EHOSTUNREACH))
		return NULL;
	if (!addr->sinc_rank && (err == -ECONNREFUSED || !is_own_place(addr)))
		return "it is not this host, where rank 0 has to be";
	return "rank 0 has not joined there, or it does not answer";
}

/* A node, there or below or above, does not reduce what some rank asks for. */
static void lacking_text(const char *parent, const struct inc_info *info, char *text, size_t len)
{
	snprintf(text, len, "%s: a node of the group does not reduce ", parent);
	inc_format_reduces(text, len, &info->lacks);
	inc_append(text, len, ", which a rank asks for (INC_REDUCES)");
}

int inc_join_failed(struct inc_group *group, int err)
{
	const struct sockaddr_inc *addr = &group->addr;
	char parent[400], text[ERRMSG_LEN];
	struct inc_info info;

	if (inc_ask_info(group, &info))
		info = (struct inc_info){ .state = INC_STATE_CLOSED };
	parent_text(group, &info, parent, sizeof(parent));
	if (err == -ETIMEDOUT && info.state == INC_STATE_WAITING && info.missing != ~0U)
		snprintf(text, sizeof(text), "%u of %u ranks have joined, rank %u is missing",
			 info.joined, addr->sinc_size, info.missing);
	else if (err == -EPROTONOSUPPORT && (info.lacks.types || info.lacks.ops))
		lacking_text(parent, &info, text, sizeof(text));
	else if (err == -ENETUNREACH && is_parentless(addr))
		snprintf(text, sizeof(text),
			 "no parent is named, and none is set in this network namespace: %s",
			 "inc parent set ADDR, or without a node INC_PARENT=edge:ADDR, that of rank 0's host");
	else
		snprintf(text, sizeof(text), "%s: %s", parent,
			 meeting_text(group, err) ?: refusal_text(err) ?: inc_strerror(err));
	return inc_fail(group, err, "%s group %u as rank %u of %u: %s",
			group->shrinks ? "shrink" : "join", addr->sinc_group, addr->sinc_rank,
			addr->sinc_size, text);
}

struct inc_group *inc_group_alloc(const struct inc_target *to, int fd)
{
	struct inc_group *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->fd = fd;
	group->pid = getpid();
	group->forks = atomic_load(&forks);
	group->addr = to->addr;
	memcpy(group->key, to->key, sizeof(group->key));
	group->reduces = to->reduces;
	memcpy(group->places, to->places, sizeof(group->places));
	group->nplaces = to->nplaces;
	pthread_mutex_init(&group->lock, NULL);
	pthread_mutex_init(&group->memory, NULL);
	pthread_mutex_init(&group->order, NULL);
	return group;
}

void inc_group_free(struct inc_group *group)
{
	close_group(group);
	inc_stripes_free(group);
	pthread_mutex_destroy(&group->order);
	pthread_mutex_destroy(&group->lock);
	pthread_mutex_destroy(&group->memory);
	explicit_bzero(group->key, sizeof(group->key));
	free(group->regions);
	free(group);
}

/* The group goes, its text stays with the thread. */
static int give_up(struct inc_group **out, int err)
{
	inc_fail(NULL, err, "%s", (*out)->errmsg);
	inc_group_free(*out);
	*out = NULL;
	return err;
}

/* For how long connect() asks where nobody answers; 0: as long as it does by itself. */
static int set_patience(struct inc_group *group, int seconds)
{
	struct timeval tv = { .tv_sec = seconds };

	if (group->nplaces < 2)
		return 0;
	return setsockopt(group->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

/* 0: it is under way, or done. */
static int start_connect(struct inc_group *group)
{
	/* a node that is there answers by then */
	bool last = group->place + 1 >= group->nplaces;
	int ret;

	if (set_patience(group, last ? 0 : PLACE_SECONDS))
		return -errno;
	do
		ret = connect(group->fd, (struct sockaddr *)&group->addr, sizeof(group->addr));
	while (ret < 0 && errno == EINTR);
	if (!ret || errno == EINPROGRESS || errno == EALREADY || errno == EISCONN)
		return 0;
	return -errno;
}

/* Is it about the place, so that there may be a node at another address of the same name? */
static bool is_about_place(int err)
{
	switch (err) {
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -ENETDOWN:
	case -EADDRNOTAVAIL:
	case -EAFNOSUPPORT:
	case -EPROTONOSUPPORT:
		return true;
	default:
		return false;
	}
}

/* What connect() has said of one place: is there another to try? 0: it is under way there. */
static int try_others(struct inc_group *group, int err)
{
	while (is_about_place(err) && group->place + 1 < group->nplaces) {
		inc_set_place(&group->addr, &group->places[++group->place]);
		err = start_connect(group);
	}
	return err;
}

static int set_key(struct inc_group *group)
{
	int ret = 0;

	if (!inc_key_zero(group->key))
		ret = setsockopt(group->fd, SOL_INC, INC_SO_KEY, group->key, sizeof(group->key));
	return ret ? inc_fail(group, -errno, "key: %s", inc_strerror(errno)) : 0;
}

/* What INC_REDUCES says; 0: nothing is to be asked for, or it is. */
static int set_reduces(struct inc_group *group)
{
	const struct inc_reduces *r = &group->reduces;

	if ((!r->types && !r->ops) ||
	    !setsockopt(group->fd, SOL_INC, INC_SO_REDUCES, r, sizeof(*r)))
		return 0;
	return inc_fail(group, -errno, "INC_REDUCES: %s", inc_strerror(errno));
}

/* 0: it is under way, or done. */
static int start_group(struct inc_group *group, bool launched)
{
	int ret = set_key(group) ?: set_reduces(group);

	if (ret)
		return ret;
	ret = try_others(group, start_connect(group));
	if (ret == -ENETUNREACH && launched && is_parentless(&group->addr) &&
	    inc_meet_at_master(&group->addr))
		ret = start_connect(group);
	return ret ? inc_join_failed(group, ret) : 0;
}

int inc_join_target(struct inc_group **out, const struct inc_target *to, bool launched)
{
	int fd, ret;

	*out = NULL;
	fd = open_socket();
	if (fd < 0)
		return fd;
	ret = inc_family();
	if (ret < 0) {
		close(fd);
		return ret;
	}
	*out = inc_group_alloc(to, fd);
	if (!*out) {
		close(fd);
		return inc_fail(NULL, -ENOMEM, "out of memory");
	}
	(*out)->addr.sinc_family = (sa_family_t)ret;
	ret = start_group(*out, launched);
	return ret ? give_up(out, ret) : 0;
}

int inc_join_start(struct inc_group **out, const struct inc_join_opts *opts)
{
	struct inc_target to[INC_MAX_STRIPES];
	int ret;

	if (!out)
		return inc_null(NULL, "place for the group");
	*out = NULL;
	ret = inc_parse_stripes(to, opts);
	/* the launcher knows where its own ranks meet, not those of some other group */
	if (ret > 0)
		ret = inc_join_targets(out, to, (unsigned int)ret, !opts || !opts->size);
	explicit_bzero(to, sizeof(to));
	return ret;
}

static int set_blocking(struct inc_group *group, bool blocking)
{
	int flags = fcntl(group->fd, F_GETFL);

	if (flags < 0 ||
	    fcntl(group->fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) < 0)
		return inc_fail(group, -errno, "fcntl: %s", inc_strerror(errno));
	return 0;
}

/* Which one the default is: groups that are made of this one meet there, also if it changes. */
static void note_default(struct inc_group *group)
{
	struct sockaddr_inc *addr = &group->addr, at;
	socklen_t len = sizeof(at);
	struct inc_info info;

	if (addr->sinc_parent_family || inc_ask_info(group, &info) ||
	    info.placement != INC_PLACEMENT_NODE ||
	    getsockname(group->fd, (struct sockaddr *)&at, &len) < 0)
		return;
	addr->sinc_parent_family = at.sinc_parent_family;
	addr->sinc_parent_port = at.sinc_parent_port;
	addr->sinc_scope_id = at.sinc_scope_id;
	memcpy(addr->sinc_parent, at.sinc_parent, sizeof(addr->sinc_parent));
	group->by_default = true;
}

/*
 * How the join has ended, which poll() has seen. -EINPROGRESS: not at this place, and one at
 * another has begun.
 */
static int join_done(struct inc_group *group)
{
	socklen_t len = sizeof(int);
	int err = 0, ret;

	if (getsockopt(group->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (err && group->nplaces > 1 && !group->shrinks) {
		start_connect(group);	/* says the same once more, and leaves the socket free */
		err = -try_others(group, -err);
		if (!err)
			return -EINPROGRESS;
	}
	if (err)
		return inc_join_failed(group, -err);
	/* not for what inc_shrink() asks */
	set_patience(group, 0);
	note_default(group);
	ret = set_blocking(group, true);
	group->joined = !ret;
	return ret;
}

int inc_join_poll(struct inc_group *group, int timeout_ms)
{
	int64_t deadline = timeout_ms < 0 ? -1 : inc_now_ms() + timeout_ms;
	struct pollfd pfd = { .fd = inc_fd(group), .events = POLLOUT };
	int ret;

	if (!group)
		return inc_null(NULL, "group");
	if (inc_check_timeout(group, timeout_ms))
		return -EINVAL;
	if (group->fd < 0)
		return inc_fail(group, -EBADF, "the socket is the parent's, which has joined");
	if (group->joined)
		return 0;
	if (group->nstripes)
		return inc_stripes_join_poll(group, deadline, !timeout_ms);
	do {
		do
			ret = poll(&pfd, 1, inc_left_ms(deadline));
		while (ret < 0 && errno == EINTR);
		if (ret < 0)
			return inc_fail(group, -errno, "poll: %s", inc_strerror(errno));
		if (!ret)
			return timeout_ms ? inc_join_failed(group, -ETIMEDOUT) : -EAGAIN;
		ret = join_done(group);
	} while (ret == -EINPROGRESS);
	return ret;
}

int inc_join(struct inc_group **out, const struct inc_join_opts *opts)
{
	int timeout_ms = opts && opts->timeout_ms ? opts->timeout_ms : INC_DEFAULT_TIMEOUT_MS;
	int ret;

	if (!out)
		return inc_null(NULL, "place for the group");
	*out = NULL;
	ret = inc_check_timeout(NULL, timeout_ms) ?: inc_join_start(out, opts);
	if (ret)
		return ret;
	ret = inc_join_poll(*out, timeout_ms);
	return ret ? give_up(out, ret) : 0;
}

int inc_shrink_start(struct inc_group *group)
{
	struct sockaddr_inc addr = group->addr;
	int ret = set_blocking(group, false), err;

	if (ret)
		return ret;
	addr.sinc_flags |= INC_SA_SHRINK;
	addr.sinc_parent_family = 0;
	addr.sinc_parent_port = 0;
	addr.sinc_scope_id = 0;
	memset(addr.sinc_parent, 0, sizeof(addr.sinc_parent));
	do
		ret = connect(group->fd, (struct sockaddr *)&addr, sizeof(addr));
	while (ret < 0 && errno == EINTR);
	if (!ret || errno == EINPROGRESS || errno == EALREADY)
		return 0;
	err = -errno;
	if (err != -EISCONN)
		return inc_join_failed(group, err);
	set_blocking(group, true);
	return inc_fail(group, err, "shrink group %u as rank %u of %u: the group has not failed",
			addr.sinc_group, addr.sinc_rank, addr.sinc_size);
}

int inc_shrink(struct inc_group *group, int timeout_ms)
{
	struct inc_info info;
	int ret;

	if (!group)
		return inc_null(NULL, "group");
	if (inc_check_timeout(group, timeout_ms))
		return -EINVAL;
	if (!group->joined && !group->shrinks)
		return inc_fail(group, -ENOTCONN,
				"shrink group %u as rank %u of %u: it was never joined",
				group->addr.sinc_group, group->addr.sinc_rank,
				group->addr.sinc_size);
	if (group->nstripes)
		return inc_fail(group, -EOPNOTSUPP,
				"shrink group %u as rank %u of %u: it has %u stripes, expected one (INC_STRIPES=1)",
				group->addr.sinc_group, group->addr.sinc_rank,
				group->addr.sinc_size, group->nstripes);
	group->shrinks = true;
	ret = inc_shrink_start(group);
	if (ret)
		return ret;
	group->joined = false;
	ret = inc_join_poll(group, timeout_ms ? timeout_ms : INC_DEFAULT_TIMEOUT_MS);
	if (!ret)
		ret = inc_info(group, &info);
	if (ret)
		return ret;
	group->addr.sinc_rank = info.rank;
	group->addr.sinc_size = info.size;
	return 0;
}

int inc_leave(struct inc_group *group)
{
	struct inc_info info;

	if (!group)
		return 0;
	if (group->joined && !inc_info(group, &info) && info.submitted != info.completed &&
	    (info.state == INC_STATE_READY || info.state == INC_STATE_RESYNC))
		return inc_fail(group, -EBUSY, "group %u rank %u: %llu operations are under way",
				info.group, info.rank,
				(unsigned long long)(info.submitted - info.completed));
	inc_group_free(group);
	return 0;
}

int inc_cancel(struct inc_group *group)
{
	/* No text: a signal handler may be the caller. */
	if (!group)
		return -EINVAL;
	if (group->nstripes)
		return inc_stripes_cancel(group);
	return shutdown(group->fd, SHUT_RDWR) < 0 ? -errno : 0;
}

void inc_abort(struct inc_group *group)
{
	if (!group)
		return;
	/* a child may keep the socket; the membership is that of the process that has joined */
	if (group->pid == getpid() && group->forks != atomic_load(&forks))
		inc_cancel(group);
	inc_group_free(group);
}
