// SPDX-License-Identifier: GPL-2.0-only
/*
 * How libinc ends a membership, without a kernel: the socket is one of a pair, and its peer sees
 * what the group would.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int fake_socket(int family, int type, int protocol);
static int fake_connect(int fd, const struct sockaddr *addr, socklen_t len);
static int fake_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
static int fake_getsockname(int fd, struct sockaddr *addr, socklen_t *len);

#define socket fake_socket
#define connect fake_connect
#define getsockopt fake_getsockopt
#define getsockname fake_getsockname
#include "../../userspace/libinc/text.c"
#include "../../userspace/libinc/launcher.c"
#include "../../userspace/libinc/format.c"
#include "../../userspace/libinc/key.c"
#include "../../userspace/libinc/opts.c"
#include "../../userspace/libinc/shape.c"
#include "../../userspace/libinc/join.c"
#include "../../userspace/libinc/stripe.c"
#include "../../userspace/libinc/split.c"
#undef socket
#undef connect
#undef getsockopt
#undef getsockname
#include "ktap.h"

static int peer;	/* of the last socket */

/* What connect() was asked, and the errno that it answers with; 0: it is under way. */
static struct sockaddr_inc asked[4];
static int answers[4];
static unsigned int nasked;

int inc_family(void)
{
	return AF_UNIX;
}

void inc_family_forget(void)
{
}

int inc_register(struct inc_group *group, const void *addr, uint64_t len, uint32_t flags,
		 uint32_t *id)
{
	(void)addr;
	(void)len;
	(void)flags;
	*id = 0;
	return inc_fail(group, -EOPNOTSUPP, "not in this test");
}

int inc_unregister(struct inc_group *group, uint32_t id)
{
	return inc_register(group, NULL, 0, 0, &id);
}

int inc_allgather(struct inc_group *group, const void *send, void *recv, uint64_t count,
		  enum inc_type type)
{
	(void)send;
	(void)recv;
	(void)type;
	return inc_fail(group, -EOPNOTSUPP, "an allgather of %llu: not in this test",
			(unsigned long long)count);
}

static bool has_parent;	/* the network namespace */

int inc_parent_get(struct inc_parent_addr *parent)
{
	*parent = (struct inc_parent_addr){ .family = AF_INET, .addr = { 192, 0, 2, 7 } };
	return has_parent ? 0 : -ENETUNREACH;
}

static int fake_socket(int family, int type, int protocol)
{
	int pair[2];

	if (family != AF_UNIX)
		return socket(family, type, protocol);
	if (socketpair(family, type, protocol, pair))
		return -1;
	peer = pair[1];
	return pair[0];
}

static int fake_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	(void)fd;
	(void)len;
	if (nasked < ARRAY_SIZE(asked))
		memcpy(&asked[nasked], addr, sizeof(asked[nasked]));
	errno = nasked < ARRAY_SIZE(answers) ? answers[nasked] : 0;
	nasked++;
	return errno ? -1 : 0;
}

/* What the kernel knows of the rank whose socket this is; of others it is not asked. */
static int known = -1;
static struct inc_info knows;

static int fake_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	if (level != SOL_INC || fd != known)
		return getsockopt(fd, level, name, value, len);
	memcpy(value, &knows, sizeof(knows));
	return 0;
}

/* Where it is joined. */
static int fake_getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	struct sockaddr_inc at = { .sinc_parent_family = knows.parent_family,
				   .sinc_parent_port = knows.parent_port, .sinc_scope_id = 3 };

	if (fd != known)
		return getsockname(fd, addr, len);
	memcpy(at.sinc_parent, knows.parent, sizeof(at.sinc_parent));
	memcpy(addr, &at, sizeof(at));
	return 0;
}

static struct inc_group *join(void)
{
	const struct inc_join_opts opts = { .group = 1, .size = 2 };
	struct inc_group *group = NULL;

	expect(!inc_join_start(&group, &opts), "%s", inc_errmsg(NULL));
	expect(!inc_join_poll(group, 0), "%s", inc_errmsg(group));
	return group;
}

/* Nobody can send on the group's socket any more. */
static bool has_ended(void)
{
	char byte;

	return !recv(peer, &byte, 1, MSG_DONTWAIT);
}

/* A process that has the sockets of this one, until child_ends(). */
static pid_t child_begins(void)
{
	pid_t pid = fork();

	if (!pid)
		pause();
	expect(pid > 0, "fork: %s", strerror(errno));
	return pid;
}

static void child_ends(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_abort(void)
{
	struct inc_group *group = join();
	pid_t pid;

	expect(!has_ended(), "it has ended by itself");
	inc_abort(group);
	expect(has_ended(), "it goes on");
	close(peer);
	pid = child_begins();
	group = join();
	inc_abort(group);
	expect(has_ended(), "it goes on: there was a child before");
	close(peer);
	child_ends(pid);
}

/* The other process has the socket, too: that it is closed here ends nothing. */
static void test_abort_after_fork(void)
{
	struct inc_group *group = join();
	pid_t pid = child_begins();

	inc_abort(group);
	expect(has_ended(), "it goes on as long as the child does");
	child_ends(pid);
	close(peer);
}

static void test_leave_after_fork(void)
{
	struct inc_group *group = join();
	pid_t pid = child_begins();

	expect(!inc_leave(group), "inc_leave");
	expect(!has_ended(), "the child has it no more");
	child_ends(pid);
	expect(has_ended(), "it outlives both");
	close(peer);
}

/* The membership is that of the process that has joined. */
static void test_abort_by_child(void)
{
	struct inc_group *group = join();
	pid_t pid = fork();

	if (!pid) {
		inc_abort(group);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	expect(!has_ended(), "a child that drops its copy ends the group");
	inc_abort(group);
	expect(has_ended(), "it goes on");
	close(peer);
}

/* A child may not have come so far. */
static bool ends_soon(void)
{
	struct pollfd pfd = { .fd = peer, .events = POLLIN };

	return poll(&pfd, 1, 5000) == 1 && has_ended();
}

/* Who has joined ends, and its child goes on. */
static void test_close_on_fork(void)
{
	struct inc_group *other = join(), *group;
	int other_peer = peer;
	pid_t pid;

	expect(!inc_close_on_fork(other) && !inc_close_on_fork(other), "%s", inc_errmsg(other));
	group = join();
	expect(!inc_close_on_fork(group), "%s", inc_errmsg(group));
	pid = child_begins();
	expect(!has_ended(), "a child's beginning has ended it");
	expect(!inc_leave(group), "inc_leave");
	expect(ends_soon(), "it goes on with the child");
	close(peer);
	child_ends(pid);
	peer = other_peer;
	pid = child_begins();
	expect(!inc_leave(other), "inc_leave");
	expect(ends_soon(), "the other goes on with the child");
	close(peer);
	child_ends(pid);
}

/* The number is another file's in the child, which nothing of the group may close. */
static void test_abort_without_socket(void)
{
	struct inc_group *group = join();
	int fd = inc_fd(group), status = -1;
	pid_t pid;

	inc_close_on_fork(group);
	pid = fork();
	if (!pid) {
		bool ok = fcntl(fd, F_GETFD) < 0 && inc_fd(group) == -1 && dup2(0, fd) == fd;

		ok = ok && inc_cancel(group) == -EBADF && inc_join_poll(group, 0) == -EBADF;
		inc_abort(group);
		_exit(!ok || fcntl(fd, F_GETFD) < 0);
	}
	waitpid(pid, &status, 0);
	expect(!status, "the child has found something else: %d", status);
	expect(!has_ended(), "the child has ended it");
	inc_abort(group);
	expect(has_ended(), "it goes on");
	close(peer);
}

static int patience(const struct inc_group *group)
{
	struct timeval tv = { .tv_sec = -1 };
	socklen_t len = sizeof(tv);

	getsockopt(group->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, &len);
	return (int)tv.tv_sec;
}

/* Joins at 192.0.2.1, .2 and .3, of which connect() says these errnos. */
static int join_places(struct inc_group **group, int first, int second, int third)
{
	struct inc_target to = { .addr = { .sinc_group = 1, .sinc_size = 2 }, .nplaces = 3 };
	const int errnos[4] = { first, second, third };
	int ret;

	for (uint8_t i = 0; i < 3; i++)
		to.places[i] = (struct inc_place){ .family = AF_INET,
						   .addr = { 192, 0, 2, 1 + i } };
	inc_set_place(&to.addr, &to.places[0]);
	memcpy(answers, errnos, sizeof(answers));
	nasked = 0;
	ret = inc_join_target(group, &to, false);
	memset(answers, 0, sizeof(answers));
	return ret;
}

/* The next address of a name is asked where there is no node, or one that lacks something. */
static void test_places(void)
{
	struct inc_group *group;

	expect(!join_places(&group, ENETUNREACH, EINPROGRESS, 0), "%s", inc_errmsg(NULL));
	expect(nasked == 2 && asked[0].sinc_parent[3] == 1 && asked[1].sinc_parent[3] == 2,
	       "asked %u times", nasked);
	expect(patience(group) == PLACE_SECONDS, "%d seconds at one of several", patience(group));
	expect(!inc_join_poll(group, 0) && !patience(group), "%d seconds when it has joined",
	       patience(group));
	inc_abort(group);
	close(peer);
	expect(!join_places(&group, ECONNREFUSED, EHOSTUNREACH, EINPROGRESS), "%s",
	       inc_errmsg(NULL));
	expect(nasked == 3 && asked[2].sinc_parent[3] == 3 && !patience(group),
	       "%d seconds at the last one", patience(group));
	inc_abort(group);
	close(peer);
	expect(join_places(&group, ECONNREFUSED, EHOSTUNREACH, ECONNREFUSED) == -ECONNREFUSED &&
	       strstr(inc_errmsg(NULL), ": 192.0.2.1, then 192.0.2.2, then 192.0.2.3: it is no"),
	       "%s", inc_errmsg(NULL));
	close(peer);
	expect(!join_places(&group, EPROTONOSUPPORT, EINPROGRESS, 0) && nasked == 2,
	       "asked %u times where nodes lack what is asked for", nasked);
	inc_abort(group);
	close(peer);
	expect(join_places(&group, EACCES, 0, 0) == -EACCES && nasked == 1 &&
	       strstr(inc_errmsg(NULL), ": 192.0.2.1: the key"), "asked %u times: %s", nasked,
	       inc_errmsg(NULL));
	close(peer);
}

/* At @parent (NULL: the netns' own) connect() says @answer to @rank: is the text this one? */
static void expect_text(const char *parent, uint32_t rank, int answer, const char *text)
{
	const struct inc_join_opts opts = { .group = 1, .rank = rank, .size = 2, .parent = parent };
	struct inc_group *group;

	nasked = 0;
	answers[0] = answer;
	expect(inc_join_start(&group, &opts) == -answer, "errno %d is another one", answer);
	expect(!!strstr(inc_errmsg(NULL), text), "expected \"%s\": %s", text, inc_errmsg(NULL));
	answers[0] = 0;
	close(peer);
}

/* What two things have in common is told apart. */
static void test_texts(void)
{
	static const char there[] = "rank 0 has not joined there", here[] = "it is not this host";

	expect_text(NULL, 0, ENETUNREACH, "no parent is named, and none is set");
	expect_text("192.0.2.1", 0, ENETUNREACH, "192.0.2.1: no route of this host leads there");
	has_parent = true;
	expect_text(NULL, 0, ENETUNREACH, "192.0.2.7: no route of this host leads there");
	has_parent = false;
	expect_text("192.0.2.1", 0, EADDRINUSE, "this rank is taken");
	expect_text("192.0.2.1", 0, ENOTUNIQ, "another program has INC's UDP port");
	expect_text("192.0.2.1", 0, ENOSPC, "(there: inc node show, inc limits show)");
	expect_text("192.0.2.255", 0, EADDRNOTAVAIL, "192.0.2.255: it is the address of no host");
	expect_text("192.0.2.1", 0, EHOSTUNREACH, "it does not answer, or is no node");
	expect_text("edge:192.0.2.1", 0, EHOSTUNREACH, here);
	expect_text("edge:192.0.2.1", 0, ETIMEDOUT, here);
	expect_text("edge:127.0.0.1", 0, ECONNREFUSED, here);
	expect_text("edge:127.0.0.1", 0, ETIMEDOUT, there);
	expect_text("edge:192.0.2.1", 1, EHOSTUNREACH, there);
	expect_text("edge:127.0.0.1", 1, ECONNREFUSED, there);
}

/* What is no limit, nor for ever, is refused before anything is asked of the kernel. */
static void test_bad_timeout(void)
{
	const char *text = "timeout -2: expected milliseconds, or -1 for no limit";
	struct inc_join_opts opts = { .group = 1, .size = 2, .timeout_ms = -2 };
	struct inc_group *group, *new;

	nasked = 0;
	expect(inc_join(&group, &opts) == -EINVAL && !group && !nasked &&
	       !strcmp(inc_errmsg(NULL), text), "asked %u times: %s", nasked, inc_errmsg(NULL));
	expect(!inc_join_start(&group, &opts), "it takes no limit: %s", inc_errmsg(NULL));
	expect(inc_join_poll(group, -2) == -EINVAL && !strcmp(inc_errmsg(group), text), "%s",
	       inc_errmsg(group));
	expect(!inc_join_poll(group, -1) && inc_join_poll(group, -2) == -EINVAL &&
	       inc_shrink(group, INT_MIN) == -EINVAL && strstr(inc_errmsg(group), "-2147483648"),
	       "%s", inc_errmsg(group));
	expect(inc_split(&new, group, 0, 0, -2) == -EINVAL && !new &&
	       inc_dup(&new, group, -2) == -EINVAL && !strcmp(inc_errmsg(group), text), "%s",
	       inc_errmsg(group));
	expect(nasked == 1, "asked %u times", nasked);
	inc_abort(group);
	close(peer);
}

/* Nothing can be written to it: its rank has not joined yet. */
static void fill_socket(int fd)
{
	char bytes[1024] = "";

	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	expect(errno == EAGAIN, "send: %s", strerror(errno));
}

/* One stripe has joined, and is over before the other one has: the join ends, as this says. */
static void expect_over(uint16_t code, uint32_t rank, int err, const char *text)
{
	const struct inc_join_opts opts = { .group = 1, .rank = 1, .size = 2, .stripes = 2 };
	struct inc_group *group;

	expect(!inc_join_start(&group, &opts), "%s", inc_errmsg(NULL));
	fill_socket(group->stripe[1]->fd);
	knows = (struct inc_info){ .state = INC_STATE_READY };
	known = group->stripe[0]->fd;
	expect(inc_join_poll(group, 0) == -EAGAIN && inc_join_poll(group, 20) == -ETIMEDOUT,
	       "one has not joined: %s", inc_errmsg(group));
	/* its descriptor keeps poll() from waiting */
	expect(!inc_cancel(group->stripe[0]) && inc_join_poll(group, 20) == -ETIMEDOUT,
	       "no limit: %s", inc_errmsg(group));
	knows.state = INC_STATE_FAILED;
	knows.error = (struct inc_error_info){ .code = code, .rank = { rank, ~0U } };
	expect(inc_join_poll(group, 20) == err && strstr(inc_errmsg(group), text) &&
	       strstr(inc_errmsg(group), "(stripe 0 of 2)"), "%s", inc_errmsg(group));
	known = -1;
	inc_abort(group);
	close(peer);
}

static void test_stripe_is_over(void)
{
	expect_over(INC_ERR_RANK_ABORT, 0, -ECONNRESET, "rank 1 of 2: rank 0 has ended");
	expect_over(INC_ERR_RANK_ABORT, 1, -ECANCELED, "rank 1 has ended");
	expect_over(INC_ERR_NODE_GONE, ~0U, -EHOSTDOWN, "the node was removed");
}

/* Joins at the default parent of the netns, which is this one, and is there, or has moved. */
static struct inc_group *join_default(enum inc_placement placement)
{
	const struct inc_join_opts opts = { .group = 1, .size = 2 };
	struct inc_group *group = NULL;

	expect(!inc_join_start(&group, &opts), "%s", inc_errmsg(NULL));
	knows = (struct inc_info){ .state = INC_STATE_READY, .parent_family = AF_INET,
				   .parent_port = htons(INC_PORT), .parent = { 192, 0, 2, 9 },
				   .placement = placement };
	known = group->fd;
	expect(!inc_join_poll(group, 0), "%s", inc_errmsg(group));
	return group;
}

/* A group that is made of one meets at its node, whatever the default of the netns is by then. */
static void test_default_parent(void)
{
	struct inc_group *group = join_default(INC_PLACEMENT_NODE), *new;
	struct inc_split_offer offers[2];
	struct sockaddr_inc *to = &asked[0];

	expect(!inc_split_offer(group, 0, 0, &offers[0]), "%s", inc_errmsg(group));
	offers[1] = offers[0];
	known = -1;
	nasked = 0;
	expect(!inc_split_start(&new, group, offers), "%s", inc_errmsg(group));
	expect(nasked == 1 && to->sinc_parent_family == AF_INET && to->sinc_parent[3] == 9 &&
	       to->sinc_parent_port == htons(INC_PORT) && to->sinc_scope_id == 3,
	       "it asks %u.%u.%u.%u", to->sinc_parent[0], to->sinc_parent[1], to->sinc_parent[2],
	       to->sinc_parent[3]);
	inc_abort(new);
	inc_abort(group);
	close(peer);
	group = join_default(INC_PLACEMENT_EDGE);
	expect(!group->addr.sinc_parent_family, "where it is for now is none");
	known = -1;
	inc_abort(group);
	close(peer);
}

static const struct ktap_test tests[] = {
	KTAP(test_abort), KTAP(test_abort_after_fork), KTAP(test_leave_after_fork),
	KTAP(test_abort_by_child), KTAP(test_close_on_fork), KTAP(test_abort_without_socket),
	KTAP(test_places), KTAP(test_texts), KTAP(test_bad_timeout),
	KTAP(test_stripe_is_over), KTAP(test_default_parent),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
