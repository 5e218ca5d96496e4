// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What generic netlink knows: the number of AF_INC, the reduction kernels, the default parent of
 * this network namespace. Every question opens a socket: threads and forks share nothing.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <linux/inc_netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "internal.h"

/* Of this process; 0: not asked yet. Two threads that ask at once get the same answer. */
static atomic_int family_number;

struct query {
	nl_recvmsg_msg_cb_t parse;
	void *arg;
	int err;
};

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *arg)
{
	struct query *query = arg;

	(void)from;
	query->err = error->error;
	return NL_STOP;
}

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct query *query = arg;

	query->err = 0;
	query->parse(msg, query->arg);
	return NL_STOP;
}

static int exchange_messages(struct nl_sock *sock, int family, int cmd, struct query *query)
{
	struct nl_msg *msg = nlmsg_alloc();
	int ret = -ENOMEM;

	query->err = -EIO;
	if (!msg)
		return ret;
	if (genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, NLM_F_REQUEST, cmd,
			INC_GENL_VERSION)) {
		nl_socket_disable_auto_ack(sock);
		nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_valid, query);
		nl_socket_modify_err_cb(sock, NL_CB_CUSTOM, on_error, query);
		ret = nl_send_auto(sock, msg) < 0 ? -EIO : 0;
		if (!ret) {
			nl_recvmsgs_default(sock);
			ret = query->err;
		}
	}
	nlmsg_free(msg);
	return ret;
}

/* One request, one answer. -EAFNOSUPPORT: there is no such family, so there is no module. */
static int ask_kernel(int cmd, nl_recvmsg_msg_cb_t parse, void *arg)
{
	struct query query = { .parse = parse, .arg = arg };
	struct nl_sock *sock = nl_socket_alloc();
	int ret = -ENOMEM, family;

	if (!sock)
		return ret;
	ret = -EAFNOSUPPORT;
	if (!genl_connect(sock)) {
		family = genl_ctrl_resolve(sock, INC_GENL_NAME);
		if (family >= 0)
			ret = exchange_messages(sock, family, cmd, &query);
	}
	nl_socket_free(sock);
	return ret;
}

static struct nlattr *parse_nested(struct nl_msg *msg, int type)
{
	return nlmsg_find_attr(nlmsg_hdr(msg), GENL_HDRLEN, type);
}

static void parse_kernel(struct nlattr *attr, struct inc_caps *caps)
{
	struct nlattr *tb[INC_A_KERNEL_MAX + 1];

	if (nla_parse_nested(tb, INC_A_KERNEL_MAX, attr, NULL) < 0 || !tb[INC_A_KERNEL_TYPE] ||
	    !tb[INC_A_KERNEL_OP] || !tb[INC_A_KERNEL_VARIANT])
		return;
	if (!strcmp(nla_get_string(tb[INC_A_KERNEL_TYPE]), caps->type) &&
	    !strcmp(nla_get_string(tb[INC_A_KERNEL_OP]), caps->op))
		strncpy(caps->variant, nla_get_string(tb[INC_A_KERNEL_VARIANT]),
			sizeof(caps->variant) - 1);
}

static int parse_caps(struct nl_msg *msg, void *arg)
{
	struct nlattr *nest = parse_nested(msg, INC_A_CAPS), *attr;
	struct inc_caps *caps = arg;
	int rest;

	if (!nest)
		return NL_STOP;
	nla_for_each_nested(attr, nest, rest) {
		if (nla_type(attr) == INC_A_CAPS_FAMILY_NUMBER)
			caps->family = nla_get_u32(attr);
		else if (nla_type(attr) == INC_A_CAPS_KERNEL)
			parse_kernel(attr, caps);
	}
	return NL_STOP;
}

int inc_caps_get(struct inc_caps *caps)
{
	int ret;

	caps->family = 0;
	caps->variant[0] = '\0';
	ret = ask_kernel(INC_CMD_CAPS_GET, parse_caps, caps);
	return ret ? ret : caps->family ? 0 : -EAFNOSUPPORT;
}

int inc_family(void)
{
	struct inc_caps caps = { .family = 0 };
	int family = atomic_load(&family_number);

	if (family)
		return family;
	if (inc_caps_get(&caps))
		return inc_fail(NULL, -EAFNOSUPPORT,
				"the kernel has no netlink family \"%s\": modprobe inc",
				INC_GENL_NAME);
	atomic_store(&family_number, caps.family);
	return caps.family;
}

/* The module may have been loaded again, with another number. */
void inc_family_forget(void)
{
	atomic_store(&family_number, 0);
}

static int parse_parent(struct nl_msg *msg, void *arg)
{
	struct nlattr *nest = parse_nested(msg, INC_A_PARENT), *tb[INC_A_PARENT_MAX + 1];
	struct inc_parent_addr *parent = arg;
	int len;

	if (!nest || nla_parse_nested(tb, INC_A_PARENT_MAX, nest, NULL) < 0 ||
	    !tb[INC_A_PARENT_ADDR])
		return NL_STOP;
	len = nla_len(tb[INC_A_PARENT_ADDR]);
	if (len != 4 && len != 16)
		return NL_STOP;
	parent->family = len == 4 ? AF_INET : AF_INET6;
	memcpy(parent->addr, nla_data(tb[INC_A_PARENT_ADDR]), len);
	parent->port = INC_PORT;
	if (tb[INC_A_PARENT_PORT])
		parent->port = (uint16_t)nla_get_u32(tb[INC_A_PARENT_PORT]);
	return NL_STOP;
}

/* The default of this netns; -ENETUNREACH: there is none. */
int inc_parent_get(struct inc_parent_addr *parent)
{
	int ret;

	memset(parent, 0, sizeof(*parent));
	ret = ask_kernel(INC_CMD_PARENT_GET, parse_parent, parent);
	if (ret == -EAFNOSUPPORT)
		return ret;
	return ret || !parent->family ? -ENETUNREACH : 0;
}
