// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc ping: is there a node, how far away is it, and how long may packets to it be?
 *
 * It asks as a rank does that wants to join: with JOIN, from a UDP socket. A node answers with
 * CHALLENGE and keeps nothing (protocol.rst, Joining); a host that has INC, but no node there, with
 * REFUSE. Needs neither the module on this host, unless no address is given, nor any privilege.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <linux/errqueue.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/inc_wire.h>
#include <linux/inc_netlink.h>

#include "ask.h"
#include "print.h"
#include "tool.h"

#ifndef IP_MTU
#define IP_MTU 14	/* linux/in.h, which netinet/in.h excludes */
#endif

static const char usage[] =
	"Usage: inc ping [ADDR] [port PORT] [dev DEV] [count N] [interval MS] [timeout MS]\n"
	"Asks a node whether it is there, as a rank does that wants to join.\n"
	"ADDR: its IPv4 or IPv6 address or its name, by default this network namespace's parent; a link-local one needs dev,\n"
	"      or is fe80::...%DEV\n"
	"PORT: its UDP port, default the module's here, or 5227\n"
	"DEV:  ask by this device, or in this VRF\n"
	"N:    questions, 1..1000000, default 4\n"
	"MS:   from one to the next, and until an answer counts as lost; both 10..60000, default 1000\n"
	"Exit status 0: a node has answered, 2: none has.\n";

/* Until an answer counts as lost, where nobody has said how long that is. */
#define ANSWER_MS	500

enum answer {
	ANSWER_NONE, ANSWER_NODE, ANSWER_NO_NODE, ANSWER_NO_INC, ANSWER_UNREACHABLE,
	ANSWER_PROHIBITED, ANSWER_NOT_SENT
};

struct tally {
	uint64_t sent, nodes, least, most, sum;	/* microseconds */
	enum answer last;
};

/* Its header has been checked by nobody yet. */
struct reply {
	struct inc_hdr hdr;
	union {
		struct inc_challenge challenge;
		struct inc_refuse refuse;
	};
};

/* Waiting has been interrupted by Ctrl-C: what has been found out is told even so. */
static bool interrupted;

static void on_interrupt(int signal)
{
	(void)signal;
}

/* Of the way to it, as far as it is known here, bytes; 0: it is not. */
static uint32_t path_mtu(int fd, const struct ask_target *to)
{
	bool v4 = to->addr.len == 4;
	socklen_t len = sizeof(int);
	int mtu = 0;

	if (getsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU : IPV6_MTU, &mtu, &len))
		return 0;
	return mtu > 0 ? (uint32_t)mtu : 0;
}

/* ---- Questions and answers ----------------------------------------------- */

static enum answer judge_reply(const struct reply *r, ssize_t len, uint32_t group, uint32_t nonce)
{
	ssize_t body = len - (ssize_t)sizeof(r->hdr);

	if (body < (ssize_t)sizeof(r->challenge) || r->hdr.group != htonl(group) ||
	    r->hdr.vertype >> 4 != INC_WIRE_VERSION)
		return ANSWER_NONE;
	if ((r->hdr.vertype & 15) == INC_PKT_CHALLENGE && r->challenge.nonce == htonl(nonce))
		return ANSWER_NODE;
	if ((r->hdr.vertype & 15) == INC_PKT_REFUSE && r->refuse.nonce == htonl(nonce) &&
	    r->refuse.code == htons(INC_REFUSE_NO_NODE))
		return ANSWER_NO_NODE;
	return ANSWER_NONE;
}

/* What it means that a packet could not be sent, or that its sender was told this. */
static enum answer answer_of(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return ANSWER_NO_INC;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case ENETDOWN:
		return ANSWER_UNREACHABLE;
	case EACCES:
	case EPERM:
		return ANSWER_PROHIBITED;
	default:
		return ANSWER_NONE;
	}
}

/* Of what ICMP says of a packet. IPv4 has one number for what is shut and for what is not there. */
static enum answer judge_error(const struct sock_extended_err *e)
{
	if (e->ee_origin == SO_EE_ORIGIN_ICMP && e->ee_type == ICMP_DEST_UNREACH &&
	    (e->ee_code == ICMP_NET_ANO || e->ee_code == ICMP_HOST_ANO ||
	     e->ee_code == ICMP_PKT_FILTERED))
		return ANSWER_PROHIBITED;
	return answer_of((int)e->ee_errno);
}

/* What has become of the question @nonce, of all that is told of questions. */
static enum answer read_errors(int fd, uint32_t nonce)
{
	char control[256] __attribute__((aligned(8)));
	enum answer answer = ANSWER_NONE;
	struct sock_extended_err e;
	struct ask_question q;
	struct iovec iov = { &q, sizeof(q) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control };
	struct cmsghdr *c;
	ssize_t len;

	while (m.msg_controllen = sizeof(control),
	       (len = recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT)) >= 0) {
		/* who says it need not give back all of the packet */
		if (len >= (ssize_t)(offsetof(struct ask_question, join.nonce) + sizeof(nonce)) &&
		    q.join.nonce != htonl(nonce))
			continue;
		for (c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
			if (c->cmsg_len < CMSG_LEN(sizeof(e)))
				continue;
			memcpy(&e, CMSG_DATA(c), sizeof(e));
			answer = judge_error(&e) ?: answer;
		}
	}
	return answer;
}

/* The answer to this question, until the time @end (microseconds). */
static enum answer await_answer(int fd, uint32_t group, uint32_t nonce, uint64_t end)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	enum answer answer;
	struct reply r;
	uint64_t now;
	ssize_t len;
	int n;

	for (now = ask_now(); now < end && !interrupted; now = ask_now()) {
		n = poll(&p, 1, (int)((end - now + 999) / 1000));
		interrupted = n < 0 && errno == EINTR;
		if (n <= 0)
			continue;
		len = recv(fd, &r, sizeof(r), MSG_DONTWAIT);
		answer = len < 0 ? read_errors(fd, nonce) : judge_reply(&r, len, group, nonce);
		if (answer)
			return answer;
	}
	return ANSWER_NONE;
}

static const struct {
	const char *code, *text;
} answers[] = {
	[ANSWER_NONE] = { "none", "no answer" },
	[ANSWER_NODE] = { "node", "node" },
	[ANSWER_NO_NODE] = { "no-node", "has INC, but is no node for packets that come in there" },
	[ANSWER_NO_INC] = { "refused", "no node there (inc node add dev all), or no INC" },
	[ANSWER_UNREACHABLE] = { "unreachable", "unreachable: no way leads there" },
	[ANSWER_PROHIBITED] = { "prohibited", "prohibited: a firewall or route refuses it" },
	[ANSWER_NOT_SENT] = { "not-sent", "the question could not be sent" },
};

static void show_answer(const struct ask_target *to, uint64_t number, enum answer answer,
			uint64_t us)
{
	if (answer == ANSWER_NODE) {
		out_text("%s: node, question %llu", ask_place(to), (unsigned long long)number);
		out_num(NULL, ", %s\n", us, UNIT_US);
	} else {
		out_text("%s: %s, question %llu\n", ask_place(to), answers[answer].text,
			 (unsigned long long)number);
	}
	fflush(stdout);
}

/* 0, or why the question has not been sent. */
static enum answer send_question(int fd, const struct ask_question *q)
{
	if (send(fd, q, sizeof(*q), 0) >= 0)
		return ANSWER_NONE;
	/* what an earlier question has met is told to the next system call */
	read_errors(fd, ntohl(q->join.nonce));
	if (send(fd, q, sizeof(*q), 0) >= 0)
		return ANSWER_NONE;
	return answer_of(errno) ?: ANSWER_NOT_SENT;
}

/* Of a question, within @timeout ms. */
static enum answer ask_once(int fd, uint32_t group, uint32_t nonce, uint64_t timeout)
{
	uint64_t start = ask_now();
	enum answer answer;
	struct ask_question q;

	ask_make_question(&q, group, nonce);
	answer = send_question(fd, &q);
	return answer ? answer : await_answer(fd, group, nonce, start + timeout * 1000);
}

static int send_and_wait(int fd, const struct ask_target *to, struct tally *t, uint32_t group,
			 uint64_t timeout)
{
	uint64_t start, us;
	uint32_t nonce;

	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		return refused("getrandom: %s", strerror(errno));
	start = ask_now();
	t->sent++;
	t->last = ask_once(fd, group, nonce, timeout);
	us = ask_now() - start;
	show_answer(to, t->sent, t->last, us);
	if (t->last != ANSWER_NODE)
		return 0;
	t->least = t->nodes && t->least < us ? t->least : us;
	t->most = t->most > us ? t->most : us;
	t->sum += us;
	t->nodes++;
	return 0;
}

static void pause_until(uint64_t end)
{
	uint64_t now = ask_now();
	struct timespec t;

	if (now >= end || interrupted)
		return;
	t.tv_sec = (time_t)((end - now) / 1000000);
	t.tv_nsec = (long)((end - now) % 1000000 * 1000);
	interrupted = nanosleep(&t, NULL) && errno == EINTR;
}

static void print_summary(const struct ask_target *to, const struct tally *t, uint32_t mtu)
{
	out_open(NULL);
	out_str("addr", NULL, ask_text(to));
	out_num("port", NULL, to->port, UNIT_NONE);
	out_num("sent", "%s sent", t->sent, UNIT_NONE);
	out_num("answered", ", %s answered by a node", t->nodes, UNIT_NONE);
	out_str("last", NULL, answers[t->last].code);
	if (t->nodes) {
		out_num("rtt_min_us", ", round trip %s", t->least, UNIT_US);
		out_num("rtt_avg_us", " / %s", t->sum / t->nodes, UNIT_US);
		out_num("rtt_max_us", " / %s (least / mean / most)", t->most, UNIT_US);
	}
	if (mtu)
		out_num("mtu", ", path MTU %s", mtu, UNIT_BYTES);
	out_text("\n");
	out_close();
	out_end();
}

static int run_ping(const struct ask_target *to, uint64_t count, uint64_t interval,
		    uint64_t timeout)
{
	struct sigaction stop = { .sa_handler = on_interrupt }, before;	/* no SA_RESTART */
	struct tally t = { 0 };
	uint64_t begin;
	uint32_t group, mtu;
	int fd, err = 0;

	if (getrandom(&group, sizeof(group), 0) != sizeof(group))
		return refused("getrandom: %s", strerror(errno));
	fd = ask_open(to);
	if (fd < 0)
		return EXIT_REFUSED;
	interrupted = false;
	sigaction(SIGINT, &stop, &before);
	while (!err && t.sent < count && !interrupted) {
		begin = ask_now();
		err = send_and_wait(fd, to, &t, group, timeout);
		if (!err && t.sent < count)
			pause_until(begin + interval * 1000);
	}
	sigaction(SIGINT, &before, NULL);
	mtu = path_mtu(fd, to);
	close(fd);
	if (err)
		return err;
	print_summary(to, &t, mtu);
	return t.nodes ? 0 : EXIT_REFUSED;
}

bool node_answers(const struct addr *addr, uint16_t port, uint32_t ifindex)
{
	struct ask_target to = { .addr = *addr, .port = port, .ifindex = ifindex };
	enum answer answer;
	uint32_t random[2];
	int fd;

	fd = getrandom(random, sizeof(random), 0) == sizeof(random) ? ask_connect(&to) : -1;
	if (fd < 0)
		return false;
	interrupted = false;
	answer = ask_once(fd, random[0], random[1], ANSWER_MS);
	close(fd);
	return answer == ANSWER_NODE;
}

static int ping_target(int argc, char **argv)
{
	struct arg args[] = {
		{ .key = "port", .kind = ARG_NUM, .min = 1, .max = 65535 },
		{ .key = "dev", .kind = ARG_DEV },
		{ .key = "count", .kind = ARG_NUM, .min = 1, .max = 1000000, .num = 4 },
		{ .key = "interval", .kind = ARG_NUM, .min = 10, .max = 60000, .num = 1000 },
		{ .key = "timeout", .kind = ARG_NUM, .min = 10, .max = 60000, .num = 1000 },
		{ .key = NULL }
	};
	bool named = argc && !arg_find(args, argv[0]);
	struct ask_target to = { .port = ask_own_port() };
	int err;

	err = args_parse(args, argc - named, argv + named);
	if (!err && !named && args[1].given)
		err = usage_error("dev %s: expected with an address", args[1].text);
	if (!err)
		err = named ? ask_given(&to, argv[0], &args[1]) : ask_parent(&to);
	if (err)
		return err;
	if (args[0].given)
		to.port = (uint16_t)args[0].num;
	return run_ping(&to, args[2].num, args[3].num, args[4].num);
}

const struct object object_ping = { .name = "ping", .run = ping_target, .usage = usage };
