// SPDX-License-Identifier: GPL-2.0-only
/* inc qdisc add, change, replace, del: what tc cannot do without a plugin is to give options. */
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <linux/inc_sched.h>

#include "nl.h"
#include "qdisc.h"
#include "tool.h"

enum { DEV, PARENT, HANDLE, SHARE, CONTROL, LIMIT, PORT, TARGET, RATE, WEIGHT, ARGS };

static const struct arg keys[] = {
	[DEV] = { .key = "dev", .kind = ARG_DEV },
	[PARENT] = { .key = "parent", .kind = ARG_TEXT },
	[HANDLE] = { .key = "handle", .kind = ARG_TEXT },
	[SHARE] = { .key = "share", .kind = ARG_NUM, .min = 1, .max = 99 },
	[CONTROL] = { .key = "control", .kind = ARG_NUM, .min = 1, .max = 99 },
	[LIMIT] = { .key = "limit", .kind = ARG_NUM, .min = 1, .max = 1000000 },
	[PORT] = { .key = "port", .kind = ARG_NUM, .min = 1, .max = UINT16_MAX },
	[TARGET] = { .key = "target", .kind = ARG_NUM, .min = 1, .max = 10000000 },
	[RATE] = { .key = "rate", .kind = ARG_TEXT },
	[WEIGHT] = { .key = "weight", .kind = ARG_TEXT },
	[ARGS] = { .key = NULL },
};

struct request {
	int type;
	int flags;
	int last;	/* of the keys above that it takes */
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
		return usage_error("parent %s: expected root, or a class as MAJOR:MINOR in hex", args[PARENT].text);
	if (args[HANDLE].given && !parse_handle(args[HANDLE].text, false, &tcm->tcm_handle))
		return usage_error("handle %s: expected MAJOR: in hex, 1..ffff", args[HANDLE].text);
	tcm->tcm_ifindex = (int)if_nametoindex(args[DEV].text);
	if (!tcm->tcm_ifindex)
		return refused("dev %s: no such interface in this network namespace", args[DEV].text);
	return 0;
}

/* A number with bit, kbit, mbit or gbit behind it, or "measured": 0. Returns 0 or, with the error printed, a status. */
static int parse_rate(const char *text, uint64_t *rate)
{
	static const char * const units[] = { "bit", "kbit", "mbit", "gbit" };
	uint64_t factor = 1;
	unsigned int i;
	char *end;

	*rate = 0;
	if (!strcmp(text, "measured"))
		return 0;
	if (strspn(text, "0123456789") >= 1 && strspn(text, "0123456789") <= 15)
		*rate = strtoull(text, &end, 10);
	for (i = 0; *rate && i < ARRAY_SIZE(units); i++, factor *= 1000) {
		if (strcmp(end, units[i]))
			continue;
		if (*rate > INC_SCHED_RATE_MAX / factor || *rate * factor < INC_SCHED_RATE_MIN)
			break;
		*rate *= factor;
		return 0;
	}
	return usage_error("rate %s: expected measured, or a number with bit, kbit, mbit or gbit, 1kbit..1000000gbit",
			   text);
}

/* GROUP:WEIGHT, with commas between them; "none". Returns how many, or -1 with the error printed. */
static int parse_weights(const char *text, struct tc_inc_weight *weights)
{
	struct arg group = { .key = "weight: group", .kind = ARG_NUM, .max = UINT32_MAX };
	struct arg weight = { .key = "weight", .kind = ARG_NUM, .min = 1, .max = INC_SCHED_WEIGHT_MAX };
	char *copy = strdup(text), *next = copy, *one, *colon;
	int n = 0, err = copy ? 0 : refused("out of memory");

	if (!strcmp(text, "none"))
		next = NULL;
	while (!err && next) {
		one = strsep(&next, ",");
		colon = strchr(one, ':');
		if (n == INC_SCHED_WEIGHTS) {
			err = usage_error("weight: expected at most %d groups", INC_SCHED_WEIGHTS);
		} else if (!colon) {
			err = usage_error("weight %s: expected GROUP:WEIGHT", one);
		} else {
			*colon = 0;
			err = parse_value(&group, one);
			if (!err)
				err = parse_value(&weight, colon + 1);
			weights[n].group = (uint32_t)group.num;
			weights[n++].weight = (uint32_t)weight.num;
		}
	}
	free(copy);
	return err ? -err : n;
}

static int put_options(struct nl_msg *msg, const struct arg *args)
{
	struct tc_inc_weight weights[INC_SCHED_WEIGHTS];
	struct nlattr *nest;
	uint64_t rate = 0;
	int n = 0, err = 0;

	if (args[RATE].given)
		err = parse_rate(args[RATE].text, &rate);
	if (!err && args[WEIGHT].given) {
		n = parse_weights(args[WEIGHT].text, weights);
		err = n < 0 ? -n : 0;
	}
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	nest = nla_nest_start(msg, TCA_OPTIONS | NLA_F_NESTED);
	if (!nest || (args[SHARE].given && nla_put_u32(msg, TCA_INC_SHARE, (uint32_t)args[SHARE].num)) ||
	    (args[CONTROL].given && nla_put_u32(msg, TCA_INC_CONTROL, (uint32_t)args[CONTROL].num)) ||
	    (args[LIMIT].given && nla_put_u32(msg, TCA_INC_LIMIT, (uint32_t)args[LIMIT].num)) ||
	    (args[PORT].given && nla_put_u16(msg, TCA_INC_PORT, (uint16_t)args[PORT].num)) ||
	    (args[TARGET].given && nla_put_u32(msg, TCA_INC_TARGET, (uint32_t)args[TARGET].num)) ||
	    (args[RATE].given && nla_put_u64(msg, TCA_INC_RATE, rate)) ||
	    (args[WEIGHT].given && nla_put(msg, TCA_INC_WEIGHTS, n * (int)sizeof(weights[0]), weights)))
		return no_memory(msg);
	nla_nest_end(msg, nest);
	return 0;
}

static int ask(const struct request *request, int argc, char **argv)
{
	struct tcmsg tcm = { .tcm_family = AF_UNSPEC };
	struct arg args[ARGS + 1];
	struct nl_msg *msg;
	int status;

	memcpy(args, keys, sizeof(args));
	args[request->last + 1].key = NULL;
	status = args_parse(args, argc, argv);
	if (status)
		return status;
	if (!args[DEV].given)
		return usage_error("dev is missing: expected the interface");
	status = parse_place(args, &tcm);
	if (status)
		return status;
	msg = nlmsg_alloc_simple(request->type, request->flags);
	if (!msg || nlmsg_append(msg, &tcm, sizeof(tcm), NLMSG_ALIGNTO) || nla_put_string(msg, TCA_KIND, "inc"))
		return no_memory(msg);
	status = request->last > HANDLE ? put_options(msg, args) : 0;
	return status ? status : route_talk(msg, NULL);
}

int qdisc_add(int argc, char **argv)
{
	static const struct request request = { RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, WEIGHT };

	return ask(&request, argc, argv);
}

int qdisc_change(int argc, char **argv)
{
	static const struct request request = { RTM_NEWQDISC, 0, WEIGHT };

	return ask(&request, argc, argv);
}

int qdisc_replace(int argc, char **argv)
{
	static const struct request request = { RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, WEIGHT };

	return ask(&request, argc, argv);
}

int qdisc_del(int argc, char **argv)
{
	static const struct request request = { RTM_DELQDISC, 0, HANDLE };

	return ask(&request, argc, argv);
}
