// SPDX-License-Identifier: GPL-2.0-only
/* Options of sch_inc on a command line, the tool's or tc's, and as attributes of a request. */
#include <stdlib.h>
#include <string.h>
#include <linux/inc_sched.h>

#include "qdisc.h"
#include "tool.h"

enum { SHARE, CONTROL, LIMIT, PORT, TARGET, RATE, WEIGHT };

static const char * const no_rate[] = { "measured", NULL };

const struct arg qdisc_option_args[QDISC_OPTIONS + 1] = {
	[SHARE] = { .key = "share", .kind = ARG_NUM, .min = 1, .max = 99 },
	[CONTROL] = { .key = "control", .kind = ARG_NUM, .min = 1, .max = 99 },
	[LIMIT] = { .key = "limit", .kind = ARG_NUM, .min = 1, .max = 1000000 },
	[PORT] = { .key = "port", .kind = ARG_NUM, .min = 1, .max = UINT16_MAX },
	[TARGET] = { .key = "target", .kind = ARG_NUM, .min = 1, .max = 10000000 },
	[RATE] = { .key = "rate", .kind = ARG_RATE, .words = no_rate,
		   .min = INC_SCHED_RATE_MIN, .max = INC_SCHED_RATE_MAX },
	[WEIGHT] = { .key = "weight", .kind = ARG_TEXT },
};

/*
 * GROUP:WEIGHT, with commas between them; "none". Returns how many, or -1 with the error printed.
 */
static int parse_weights(const char *text, struct tc_inc_weight *weights)
{
	struct arg group = { .key = "weight: group", .kind = ARG_NUM, .max = UINT32_MAX };
	struct arg weight = {
		.key = "weight", .kind = ARG_NUM, .min = 1, .max = INC_SCHED_WEIGHT_MAX
	};
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

static bool put_u32(void *msg, qdisc_put put, int type, const struct arg *arg)
{
	uint32_t value = (uint32_t)arg->num;

	return !arg->given || put(msg, type, &value, sizeof(value));
}

int qdisc_put_options(const struct arg *args, void *msg, qdisc_put put)
{
	struct tc_inc_weight weights[INC_SCHED_WEIGHTS];
	uint16_t port = (uint16_t)args[PORT].num;
	uint64_t rate = args[RATE].num;
	int n = 0;

	if (args[WEIGHT].given) {
		n = parse_weights(args[WEIGHT].text, weights);
		if (n < 0)
			return -n;
	}
	if (put_u32(msg, put, TCA_INC_SHARE, &args[SHARE]) &&
	    put_u32(msg, put, TCA_INC_CONTROL, &args[CONTROL]) &&
	    put_u32(msg, put, TCA_INC_LIMIT, &args[LIMIT]) &&
	    put_u32(msg, put, TCA_INC_TARGET, &args[TARGET]) &&
	    (!args[PORT].given || put(msg, TCA_INC_PORT, &port, sizeof(port))) &&
	    (!args[RATE].given || put(msg, TCA_INC_RATE, &rate, sizeof(rate))) &&
	    (!args[WEIGHT].given ||
	     put(msg, TCA_INC_WEIGHTS, weights, n * (int)sizeof(weights[0]))))
		return 0;
	return refused("out of memory");
}
