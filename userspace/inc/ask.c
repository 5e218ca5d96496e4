// SPDX-License-Identifier: GPL-2.0-only
/* Nodes that are asked something: which, and by what socket. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/inc_wire.h>
#include <linux/inc_netlink.h>

#include "ask.h"
#include "names.h"
#include "nl.h"
#include "print.h"

#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62
#endif

uint64_t ask_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void ask_make_question(struct ask_question *q, uint32_t group, uint32_t nonce)
{
	memset(q, 0, sizeof(*q));
	q->hdr.vertype = INC_WIRE_VERSION << 4 | INC_PKT_JOIN;
	q->hdr.group = htonl(group);
	q->hdr.span = htons(1);
	q->hdr.len = htons(sizeof(q->join));
	q->join.size = htonl(1);
	q->join.nonce = htonl(nonce);
	q->join.block = htons(64);
}

static struct ask_target parent;

static void note_parent(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_PARENT_MAX + 1];

	parse_nest(nest, tb, INC_A_PARENT_MAX);
	if (!tb[INC_A_PARENT_ADDR] ||
	    nla_len(tb[INC_A_PARENT_ADDR]) > (int)sizeof(parent.addr.bytes))
		return;
	parent.addr.len = nla_len(tb[INC_A_PARENT_ADDR]);
	memcpy(parent.addr.bytes, nla_data(tb[INC_A_PARENT_ADDR]), (size_t)parent.addr.len);
	get_port(tb[INC_A_PARENT_PORT], &parent.port);
	get_u32(tb[INC_A_PARENT_IFINDEX], &parent.ifindex);
}

uint16_t ask_own_port(void)
{
	FILE *file = fopen("/sys/module/inc/parameters/port", "re");
	unsigned int port = INC_PORT;

	if (file) {
		if (fscanf(file, "%5u", &port) != 1)
			port = INC_PORT;
		fclose(file);
	}
	return (uint16_t)port;
}

int ask_parent(struct ask_target *to)
{
	struct nl_msg *msg = inc_request(INC_CMD_PARENT_GET, 0);
	int err;

	if (!msg)
		return EXIT_REFUSED;
	memset(&parent, 0, sizeof(parent));
	err = inc_talk(msg, INC_A_PARENT, note_parent);
	if (err)
		return err;
	if (!parent.addr.len)
		return refused("no parent is set in this network namespace; expected an address");
	*to = parent;
	return 0;
}

int ask_given(struct ask_target *to, const char *text, const struct arg *dev)
{
	size_t n;
	int err = addrs_find(text, &to->addr, 1, &n);

	if (err)
		return err;
	to->ifindex = to->addr.ifindex;
	if (!addr_unicast(&to->addr))
		return usage_error("%s: expected a unicast address", text);
	if (addr_link_local(&to->addr) && !dev->given && !to->ifindex)
		return usage_error("%s: a link-local address needs dev DEV", text);
	if (!dev->given)
		return 0;
	to->ifindex = if_nametoindex(dev->text);
	if (!to->ifindex)
		return refused("dev %s: no such interface in this network namespace", dev->text);
	to->bound = true;
	return 0;
}

bool ask_same(const struct ask_target *a, const struct ask_target *b)
{
	return a->addr.len == b->addr.len && a->port == b->port && a->ifindex == b->ifindex &&
	       !memcmp(a->addr.bytes, b->addr.bytes, (size_t)a->addr.len);
}

const char *ask_text(const struct ask_target *to)
{
	static char text[INET6_ADDRSTRLEN];

	return inet_ntop(to->addr.len == 4 ? AF_INET : AF_INET6, to->addr.bytes, text,
			 sizeof(text));
}

const char *ask_place(const struct ask_target *to)
{
	static char text[INET6_ADDRSTRLEN + IFNAMSIZ];

	if (!addr_link_local(&to->addr) || !to->ifindex)
		return ask_text(to);
	snprintf(text, sizeof(text), "%s%%%s", ask_text(to), dev_name(to->ifindex));
	return text;
}

/* 0: it goes by its device, and hears of all that its packets meet on their way. */
static int prepare_socket(int fd, const struct ask_target *to)
{
	bool v4 = to->addr.len == 4;
	int on = 1, ifindex = (int)to->ifindex;

	if (to->bound &&
	    setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &ifindex, sizeof(ifindex)))
		return -1;
	return setsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_RECVERR : IPV6_RECVERR, &on,
			  sizeof(on));
}

/* connect() has said EACCES, as it also does where a route prohibits it. Keeps errno. */
static bool is_broadcast(int fd, const struct sockaddr_in *in)
{
	int on = 1, err = errno;
	bool is = !setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)) &&
		  !connect(fd, (const void *)in, sizeof(*in));

	errno = err;
	return is;
}

int ask_connect(const struct ask_target *to)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(to->port),
				    .sin6_scope_id = to->ifindex };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(to->port) };
	bool v4 = to->addr.len == 4;
	int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	memcpy(&in.sin_addr, to->addr.bytes, sizeof(in.sin_addr));
	memcpy(&in6.sin6_addr, to->addr.bytes, sizeof(in6.sin6_addr));
	if (!prepare_socket(fd, to) &&
	    !connect(fd, v4 ? (void *)&in : (void *)&in6, v4 ? sizeof(in) : sizeof(in6)))
		return fd;
	err = errno == EACCES && v4 && is_broadcast(fd, &in) ? -EADDRNOTAVAIL : -errno;
	close(fd);
	return err;
}

int ask_open(const struct ask_target *to)
{
	int fd = ask_connect(to);

	if (fd < 0)
		refused("%s: %s", ask_place(to),
			fd == -EADDRNOTAVAIL ? "it is the address of no host" : strerror(-fd));
	return fd;
}
