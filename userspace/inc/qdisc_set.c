// SPDX-License-Identifier: GPL-2.0-only
/* inc qdisc add, change, replace, del: what tc cannot do without a plugin is to give options. */
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "nl.h"
#include "qdisc.h"
#include "tool.h"

enum { DEV, PARENT, HANDLE, PLACE };

static const struct arg place_args[PLACE] = {
	[DEV] = { .key = "dev", .kind = ARG_DEV },
	[PARENT] = { .key = "parent", .kind = ARG_TEXT },
	[HANDLE] = { .key = "handle", .kind = ARG_TEXT },
};

struct request {
	int type;
	int flags;
	bool options;	/* takes any */
};

/* 1 to 4 hex digits; what comes after them, or NULL. */
static const char *parse_hex16(const char *text, uint32_t *value)
{
	size_t digits = strspn(text, "0123456789abcdefABCDEF");

	if (!digits || digits > 4)
		return NULL;
	*value = (uint32_t)strtoul(text, NULL, 16);
	return text + digits;
}

/* "MAJ:MIN" in hex; the minor may be missing, or must be. */
static bool parse_handle(const char *text, bool minor, uint32_t *handle)
{
	uint32_t maj, min = 0;

	text = parse_hex16(text, &maj);
	if (!text || *text++ != ':' || !maj)
		return false;
	if (*text) {
		text = minor ? parse_hex16(text, &min) : NULL;
		if (!text || *text)
			return false;
	}
	*handle = TC_H_MAKE(maj << 16, min);
	return true;
}

static int parse_place(const struct arg *args, struct tcmsg *tcm)
{
	tcm->tcm_parent = TC_H_ROOT;
	if (args[PARENT].given && strcmp(args[PARENT].text, "root") &&
	    !parse_handle(args[PARENT].text, true, &tcm->tcm_parent))
		return usage_error("parent %s: expected root, or a class as MAJOR:MINOR in hex",
				   args[PARENT].text);
	if (args[HANDLE].given && !parse_handle(args[HANDLE].text, false, &tcm->tcm_handle))
		return usage_error("handle %s: expected MAJOR: in hex, 1..ffff", args[HANDLE].text);
	tcm->tcm_ifindex = (int)if_nametoindex(args[DEV].text);
	if (!tcm->tcm_ifindex)
		return refused("dev %s: no such interface in this network namespace",
			       args[DEV].text);
	return 0;
}

static bool put_attr(void *msg, int type, const void *data, int len)
{
	return !nla_put(msg, type, len, data);
}

static int put_options(struct nl_msg *msg, const struct arg *args)
{
	struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS | NLA_F_NESTED);
	int err = nest ? qdisc_put_options(args, msg, put_attr) : refused("out of memory");

	if (!err)
		nla_nest_end(msg, nest);
	return err;
}

static int ask_kernel(const struct request *request, int argc, char **argv)
{
	struct tcmsg tcm = { .tcm_family = AF_UNSPEC };
	struct arg args[PLACE + QDISC_OPTIONS + 1];
	struct nl_msg *msg;
	int status;

	memcpy(args, place_args, sizeof(place_args));
	memcpy(args + PLACE, qdisc_option_args, sizeof(qdisc_option_args));
	if (!request->options)
		args[PLACE].key = NULL;
	status = args_parse(args, argc, argv);
	if (status)
		return status;
	if (!args[DEV].given)
		return usage_error("dev is missing: expected the interface");
	status = parse_place(args, &tcm);
	if (status)
		return status;
	msg = nlmsg_alloc_simple(request->type, request->flags);
	if (!msg || nlmsg_append(msg, &tcm, sizeof(tcm), NLMSG_ALIGNTO) ||
	    nla_put_string(msg, TCA_KIND, "inc"))
		return no_memory(msg);
	status = request->options ? put_options(msg, args + PLACE) : 0;
	if (!status)
		return route_talk(msg, NULL);
	nlmsg_free(msg);
	return status;
}

int qdisc_add(int argc, char **argv)
{
	static const struct request request = { RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, true };

	return ask_kernel(&request, argc, argv);
}

int qdisc_change(int argc, char **argv)
{
	static const struct request request = { RTM_NEWQDISC, 0, true };

	return ask_kernel(&request, argc, argv);
}

int qdisc_replace(int argc, char **argv)
{
	static const struct request request = { RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, true };

	return ask_kernel(&request, argc, argv);
}

int qdisc_del(int argc, char **argv)
{
	static const struct request request = { RTM_DELQDISC, 0, false };

	return ask_kernel(&request, argc, argv);
}
