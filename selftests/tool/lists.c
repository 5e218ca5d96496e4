// SPDX-License-Identifier: GPL-2.0-only
/*
 * A list over netlink that changes while the tool reads it: the kernel, which is made here, flags
 * (NLM_F_DUMP_INTR) each of the first N lists, N being the argument, and each list has numbers of
 * its own. Prints the numbers that the tool shows, and how often it has asked.
 */
#include <errno.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/inc_netlink.h>

#include "nl.h"
#include "tool.h"

#define FAMILY	0x20
#define PIECES	3	/* buffers of a list, the last of which is its end */
#define IN_ONE	2	/* messages of a buffer */

struct options options;

static uint32_t seq, lists, piece, interrupted;

int nl_connect(struct nl_sock *sk, int protocol)
{
	(void)sk;
	(void)protocol;
	return 0;
}

int genl_ctrl_resolve(struct nl_sock *sk, const char *name)
{
	(void)sk;
	(void)name;
	return FAMILY;
}

int nl_send_auto(struct nl_sock *sk, struct nl_msg *msg)
{
	(void)sk;
	seq = 77;
	nlmsg_hdr(msg)->nlmsg_seq = seq;
	lists++;
	piece = 0;
	return 1;
}

static size_t put_group(char *at, uint32_t number, bool flag)
{
	struct nlmsghdr *hdr = (struct nlmsghdr *)at;
	struct nlattr *nest = (struct nlattr *)(at + NLMSG_HDRLEN + GENL_HDRLEN);
	struct nlattr *attr = nest + 1;

	hdr->nlmsg_type = FAMILY;
	hdr->nlmsg_seq = seq;
	hdr->nlmsg_flags = NLM_F_MULTI | (flag ? NLM_F_DUMP_INTR : 0);
	*attr = (struct nlattr){ sizeof(*attr) + sizeof(number), INC_A_GROUP_GROUP };
	memcpy(attr + 1, &number, sizeof(number));
	*nest = (struct nlattr){ sizeof(*nest) + attr->nla_len, INC_A_GROUP | NLA_F_NESTED };
	hdr->nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN + nest->nla_len;
	return hdr->nlmsg_len;
}

int nl_recv(struct nl_sock *sk, struct sockaddr_nl *from, unsigned char **buf, struct ucred **creds)
{
	char *at = calloc(1, 4096);
	struct nlmsghdr *hdr = (struct nlmsghdr *)at;
	size_t len = 0;

	(void)sk;
	(void)from;
	(void)creds;
	if (!at)
		abort();
	*buf = (unsigned char *)at;
	if (++piece == PIECES) {
		hdr->nlmsg_type = NLMSG_DONE;
		hdr->nlmsg_seq = seq;
		hdr->nlmsg_len = NLMSG_HDRLEN + sizeof(int);
		return (int)hdr->nlmsg_len;
	}
	for (uint32_t i = 0; i < IN_ONE; i++)
		len += put_group(at + len, 100 * lists + 10 * piece + i,
				 piece == 2 && !i && lists <= interrupted);
	return (int)len;
}

static void show(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_GROUP_MAX + 1];
	uint32_t number;

	parse_nest(nest, tb, INC_A_GROUP_MAX);
	if (get_u32(tb[INC_A_GROUP_GROUP], &number))
		printf("%u ", number);
}

int main(int argc, char **argv)
{
	int status;

	interrupted = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
	status = inc_dump(INC_CMD_GROUP_GET, INC_A_GROUP, NULL, show);
	printf("asked %u\n", lists);
	return status;
}
