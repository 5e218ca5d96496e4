// SPDX-License-Identifier: GPL-2.0-only
/*
 * Netlink transactions. libnl frames, sends, receives and parses; the loop over the answers is
 * ours, because it has to read what libnl 3.7 leaves alone: extack texts, and the error that the
 * end of a dump may carry.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/inc_netlink.h>

#include "nl.h"
#include "print.h"
#include "tool.h"

#define MAX_ERRNO	4095	/* as in the kernel */
#define DUMP_TRIES	8	/* of a list that changes while it is read */

typedef void (*answer_fn)(const struct nlmsghdr *hdr, void *arg);

static struct nl_sock *genl;
static int family;

static struct nl_sock *open_socket(int protocol)
{
	struct nl_sock *sk = nl_socket_alloc();
	int on = 1, err;

	if (!sk) {
		refused("out of memory");
		return NULL;
	}
	err = nl_connect(sk, protocol);
	if (err) {
		refused("no netlink socket: %s", nl_geterror(err));
		nl_socket_free(sk);
		return NULL;
	}
	nl_socket_enable_msg_peek(sk);
	/* A kernel without it answers with bare errnos, which is all it costs. */
	setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	return sk;
}

static bool open_family(void)
{
	if (genl)
		return true;
	genl = open_socket(NETLINK_GENERIC);
	if (!genl)
		return false;
	family = genl_ctrl_resolve(genl, INC_GENL_NAME);
	if (family >= 0)
		return true;
	if (family == -NLE_OBJ_NOTFOUND)
		fprintf(stderr, "inc: the kernel has no netlink family \"%s\": modprobe inc\n",
			INC_GENL_NAME);
	else
		refused("netlink family \"" INC_GENL_NAME "\": %s", nl_geterror(family));
	nl_socket_free(genl);
	genl = NULL;
	return false;
}

void inc_forget_netns(void)
{
	nl_socket_free(genl);
	genl = NULL;
}

static const char *extack_text(const struct nlmsghdr *hdr, size_t skip)
{
	struct nlattr *tb[NLMSGERR_ATTR_MAX + 1];
	size_t head = NLMSG_HDRLEN + NLMSG_ALIGN(skip);

	if (!(hdr->nlmsg_flags & NLM_F_ACK_TLVS) || hdr->nlmsg_len <= head)
		return NULL;
	if (nla_parse(tb, NLMSGERR_ATTR_MAX, (struct nlattr *)((char *)hdr + head),
		      (int)(hdr->nlmsg_len - head), NULL))
		return NULL;
	return get_str(tb[NLMSGERR_ATTR_MSG]);
}

static int report_error(int error, const char *text)
{
	if (!error) {
		if (text)
			fprintf(stderr, "inc: warning: %s\n", text);
		return 0;
	}
	if (text)
		return refused("%s", text);
	if (error == EPERM)
		return refused("needs CAP_NET_ADMIN in this network namespace");
	return refused("%s", strerror(error));
}

/* The errno in an answer, which is a negative one or 0. */
static int answered_errno(int error)
{
	if (!error)
		return 0;
	return error < 0 && error >= -MAX_ERRNO ? -error : EPROTO;
}

/* NLMSG_ERROR: the errno, then the request (header only if capped), then TLVs. */
static int ack_status(const struct nlmsghdr *hdr)
{
	const struct nlmsgerr *ack = nlmsg_data(hdr);
	size_t skip = sizeof(*ack);

	if (hdr->nlmsg_len < NLMSG_HDRLEN + sizeof(*ack))
		return refused("the kernel's answer is too short");
	if (!(hdr->nlmsg_flags & NLM_F_CAPPED))
		skip += ack->msg.nlmsg_len - sizeof(ack->msg);
	return report_error(answered_errno(ack->error), extack_text(hdr, skip));
}

static int done_status(const struct nlmsghdr *hdr)
{
	int error = 0;

	if (hdr->nlmsg_len >= NLMSG_HDRLEN + sizeof(error))
		memcpy(&error, nlmsg_data(hdr), sizeof(error));
	return report_error(error < 0 ? answered_errno(error) : 0, extack_text(hdr, sizeof(error)));
}

/* Returns -1 while more is to come, else the exit status. */
static int take_answer(struct nlmsghdr *hdr, int len, uint32_t seq, answer_fn fn, void *arg)
{
	for (; nlmsg_ok(hdr, len); hdr = nlmsg_next(hdr, &len)) {
		if (hdr->nlmsg_seq != seq)
			continue;
		if (hdr->nlmsg_type == NLMSG_ERROR)
			return ack_status(hdr);
		if (hdr->nlmsg_type == NLMSG_DONE)
			return done_status(hdr);
		if (hdr->nlmsg_type >= NLMSG_MIN_TYPE && fn)
			fn(hdr, arg);
	}
	return -1;
}

/* A list in the buffers in which it came, until it is known to be a whole one. */
struct list {
	struct list_piece {
		struct list_piece *next;
		unsigned char *buf;
		int len;
	} *first, **last;
	bool changed;	/* while it was read */
};

static void free_list(struct list *list)
{
	struct list_piece *piece;

	while ((piece = list->first)) {
		list->first = piece->next;
		free(piece->buf);
		free(piece);
	}
	*list = (struct list){ .last = &list->first };
}

/* Takes @buf, or frees it: without memory the list is a shorter one. */
static void add_piece(struct list *list, unsigned char *buf, int len)
{
	struct nlmsghdr *hdr = (struct nlmsghdr *)buf;
	struct list_piece *piece = malloc(sizeof(*piece));
	int left = len;

	for (; nlmsg_ok(hdr, left); hdr = nlmsg_next(hdr, &left))
		list->changed |= hdr->nlmsg_flags & NLM_F_DUMP_INTR;
	if (!piece) {
		free(buf);
		return;
	}
	*piece = (struct list_piece){ .buf = buf, .len = len };
	*list->last = piece;
	list->last = &piece->next;
}

static void show_list(const struct list *list, uint32_t seq, answer_fn fn, void *arg)
{
	for (const struct list_piece *piece = list->first; piece; piece = piece->next) {
		struct nlmsghdr *hdr = (struct nlmsghdr *)piece->buf;
		int left = piece->len;

		for (; nlmsg_ok(hdr, left); hdr = nlmsg_next(hdr, &left))
			if (hdr->nlmsg_seq == seq && hdr->nlmsg_type >= NLMSG_MIN_TYPE && fn)
				fn(hdr, arg);
	}
}

/* What comes goes to @list, or without one to @fn. Returns the exit status. */
static int run_request(struct nl_sock *sk, struct nl_msg *msg, struct list *list, answer_fn fn,
		       void *arg)
{
	struct sockaddr_nl from;
	unsigned char *buf;
	int n, status = -1;

	n = nl_send_auto(sk, msg);
	if (n < 0)
		return refused("request not sent: %s", nl_geterror(n));
	while (status < 0) {
		n = nl_recv(sk, &from, &buf, NULL);
		if (n == -NLE_INTR)
			continue;
		if (n <= 0)
			return refused("no answer from the kernel: %s", nl_geterror(n));
		status = take_answer((struct nlmsghdr *)buf, n, nlmsg_hdr(msg)->nlmsg_seq,
				     list ? NULL : fn, arg);
		if (list)
			add_piece(list, buf, n);
		else
			free(buf);
	}
	return status;
}

/* A list is asked for again when it has changed meanwhile, a few times. */
static int read_list(struct nl_sock *sk, struct nl_msg *msg, answer_fn fn, void *arg)
{
	struct list list = { .last = &list.first };
	int status, tries = 0;

	do {
		free_list(&list);
		status = run_request(sk, msg, &list, NULL, NULL);
	} while (!status && list.changed && ++tries < DUMP_TRIES);
	if (list.changed)
		fprintf(stderr, "inc: warning: the list changed while it was read, %d times\n",
			DUMP_TRIES);
	show_list(&list, nlmsg_hdr(msg)->nlmsg_seq, fn, arg);
	free_list(&list);
	return status;
}

static int send_request(struct nl_sock *sk, struct nl_msg *msg, answer_fn fn, void *arg)
{
	bool dump = (nlmsg_hdr(msg)->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	int status = dump ? read_list(sk, msg, fn, arg) : run_request(sk, msg, NULL, fn, arg);

	nlmsg_free(msg);
	return status;
}

struct nl_msg *inc_request(uint8_t cmd, int flags)
{
	struct nl_msg *msg;

	if (!open_family())
		return NULL;
	msg = nlmsg_alloc();
	if (msg &&
	    genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, flags, cmd, INC_GENL_VERSION))
		return msg;
	no_memory(msg);
	return NULL;
}

int no_memory(struct nl_msg *msg)
{
	nlmsg_free(msg);
	return refused("out of memory");
}

struct wanted {
	int attr;
	void (*show)(struct nlattr *nest);
};

/* Shows it, if it is there. */
static bool is_wanted(const struct nlmsghdr *hdr, const struct wanted *wanted)
{
	struct nlattr *tb[INC_A_MAX + 1];

	if (hdr->nlmsg_type != family)
		return false;
	if (genlmsg_parse((struct nlmsghdr *)hdr, 0, tb, INC_A_MAX, NULL) || !tb[wanted->attr])
		return false;
	wanted->show(tb[wanted->attr]);
	return true;
}

static void pick_all(const struct nlmsghdr *hdr, void *arg)
{
	is_wanted(hdr, arg);
}

int inc_talk(struct nl_msg *msg, int attr, void (*show)(struct nlattr *nest))
{
	struct wanted wanted = { attr, show };

	return send_request(genl, msg, attr ? pick_all : NULL, &wanted);
}

struct only {
	struct wanted wanted;
	bool shown;
};

static void pick_first(const struct nlmsghdr *hdr, void *arg)
{
	struct only *only = arg;

	if (!only->shown)
		only->shown = is_wanted(hdr, &only->wanted);
}

int inc_get(uint8_t cmd, int attr, void (*show)(struct nlattr *nest))
{
	struct only only = { { attr, show }, false };
	struct nl_msg *msg = inc_request(cmd, 0);
	int status;

	if (!msg)
		return EXIT_REFUSED;
	status = send_request(genl, msg, pick_first, &only);
	if (only.shown)
		out_end();
	return status || only.shown ? status : refused("the kernel's answer is empty");
}

int inc_dump(uint8_t cmd, int attr, const uint32_t *group, void (*show)(struct nlattr *nest))
{
	struct nl_msg *msg = inc_request(cmd, NLM_F_DUMP);
	int status;

	if (!msg)
		return EXIT_REFUSED;
	if (group && nla_put_u32(msg, INC_A_GROUP_ID, *group))
		return no_memory(msg);
	out_open_list(NULL);
	status = inc_talk(msg, attr, show);
	out_close_list();
	out_end();
	return status;
}

static void pass_on(const struct nlmsghdr *hdr, void *arg)
{
	void (**show)(const struct nlmsghdr *hdr) = arg;

	if (*show)
		(*show)(hdr);
}

int route_talk(struct nl_msg *msg, void (*show)(const struct nlmsghdr *hdr))
{
	struct nl_sock *sk = open_socket(NETLINK_ROUTE);
	int status;

	if (!sk) {
		nlmsg_free(msg);
		return EXIT_REFUSED;
	}
	status = send_request(sk, msg, pass_on, &show);
	nl_socket_free(sk);
	return status;
}

/* What only an administrator hears; false: this is none, or the kernel has nothing of the kind. */
static bool join_details(void)
{
	int group = genl_ctrl_resolve_grp(genl, INC_GENL_NAME, INC_GENL_MCGRP_DETAILS);

	return group >= 0 && !nl_socket_add_membership(genl, group);
}

/*
 * What is told of families: a module that is unloaded takes its multicast groups along, and a
 * socket that was in them would hear nothing, for ever, of another one that is loaded later.
 */
static int join_families(void)
{
	int group = genl_ctrl_resolve_grp(genl, "nlctrl", "notify"), err;

	if (group < 0)
		return refused("no multicast group \"nlctrl notify\": %s", nl_geterror(group));
	err = nl_socket_add_membership(genl, group);
	return err ? refused("multicast group \"nlctrl notify\": %s", nl_geterror(err)) : 0;
}

static int join_events(void)
{
	int group, err;

	if (!open_family())
		return EXIT_REFUSED;
	err = join_families();
	if (err)
		return err;
	if (join_details())
		return 0;
	group = genl_ctrl_resolve_grp(genl, INC_GENL_NAME, INC_GENL_MCGRP);
	if (group < 0)
		return refused("no multicast group \"" INC_GENL_MCGRP "\": %s", nl_geterror(group));
	err = nl_socket_add_membership(genl, group);
	return err ? refused("multicast group \"" INC_GENL_MCGRP "\": %s", nl_geterror(err)) : 0;
}

struct heard {
	struct wanted wanted;
	bool gone;	/* the family */
};

static bool says_gone(const struct nlmsghdr *hdr)
{
	struct nlattr *tb[CTRL_ATTR_MAX + 1];
	uint16_t id;

	if (hdr->nlmsg_type != GENL_ID_CTRL ||
	    genlmsg_parse((struct nlmsghdr *)hdr, 0, tb, CTRL_ATTR_MAX, NULL))
		return false;
	return genlmsg_hdr((struct nlmsghdr *)hdr)->cmd == CTRL_CMD_DELFAMILY &&
	       get_u16(tb[CTRL_ATTR_FAMILY_ID], &id) && id == family;
}

static void hear_event(const struct nlmsghdr *hdr, void *arg)
{
	struct heard *heard = arg;

	if (says_gone(hdr))
		heard->gone = true;
	else
		is_wanted(hdr, &heard->wanted);
}

int inc_listen(void (*show)(struct nlattr *nest))
{
	struct heard heard = { { INC_A_EVENT, show }, false };
	struct sockaddr_nl from;
	unsigned char *buf;
	int n, err;

	err = join_events();
	if (err)
		return err;
	for (;;) {
		n = nl_recv(genl, &from, &buf, NULL);
		if (n == -NLE_INTR)
			continue;
		if (n == -NLE_NOMEM) {
			fprintf(stderr,
				"inc: warning: events came faster than they were read: some are lost\n");
			continue;
		}
		if (n <= 0)
			return refused("no more events: %s", nl_geterror(n));
		take_answer((struct nlmsghdr *)buf, n, 0, hear_event, &heard);
		free(buf);
		if (ferror(stdout))
			return refused("stdout: %s", strerror(errno));
		if (heard.gone)
			return refused("no more events: the module was unloaded");
	}
}
