// SPDX-License-Identifier: GPL-2.0-only
/* Options of sch_inc over rtnetlink. */
#include <linux/rtnetlink.h>
#include <linux/inc.h>

#include "sched/sch_options.h"

#define SHARE_MAX	99
#define LIMIT_MAX	1000000
#define TARGET_MAX	10000000

struct sched_options netinc_sched_options_default(void)
{
	return (struct sched_options){
		.share = 80, .control = 90, .limit = 1000, .port = INC_PORT, .target = 2000
	};
}

static const struct nla_policy policy[TCA_INC_MAX + 1] = {
	[TCA_INC_SHARE]	= { .type = NLA_U32 },
	[TCA_INC_LIMIT]	= { .type = NLA_U32 },
	[TCA_INC_PORT]	= { .type = NLA_U16 },
	[TCA_INC_TARGET] = { .type = NLA_U32 },
	[TCA_INC_CONTROL] = { .type = NLA_U32 },
	[TCA_INC_RATE] = { .type = NLA_U64 },
	[TCA_INC_WEIGHTS] = { .type = NLA_BINARY,
			      .len = sizeof_field(struct sched_options, weights) },
};

static int check_range(const struct nlattr *attr, const char *name, u32 value, u32 max,
		       struct netlink_ext_ack *extack)
{
	if (value >= 1 && value <= max)
		return 0;
	NL_SET_ERR_MSG_FMT_MOD(extack, "%s %u: expected 1..%u", name, value, max);
	NL_SET_BAD_ATTR(extack, attr);
	return -EINVAL;
}

static int parse_rate(const struct nlattr *attr, struct sched_options *opt,
		      struct netlink_ext_ack *extack)
{
	opt->rate = nla_get_u64(attr);
	if (!opt->rate || (opt->rate >= INC_SCHED_RATE_MIN && opt->rate <= INC_SCHED_RATE_MAX))
		return 0;
	NL_SET_ERR_MSG_FMT_MOD(extack, "rate %llu: expected 0 or %llu..%llu", opt->rate,
			       INC_SCHED_RATE_MIN, INC_SCHED_RATE_MAX);
	NL_SET_BAD_ATTR(extack, attr);
	return -ERANGE;
}

static int parse_weights(const struct nlattr *attr, struct sched_options *opt,
			 struct netlink_ext_ack *extack)
{
	u32 n = nla_len(attr) / sizeof(opt->weights[0]), i, j;
	int err;

	if (nla_len(attr) % sizeof(opt->weights[0])) {
		NL_SET_ERR_MSG_FMT_MOD(extack, "weights of %u bytes: expected a multiple of %zu",
				       nla_len(attr), sizeof(opt->weights[0]));
		NL_SET_BAD_ATTR(extack, attr);
		return -EINVAL;
	}
	memcpy(opt->weights, nla_data(attr), nla_len(attr));
	opt->nweights = n;
	for (i = 0; i < n; i++) {
		err = check_range(attr, "weight", opt->weights[i].weight, INC_SCHED_WEIGHT_MAX,
				  extack);
		if (err)
			return err;
		for (j = 0; j < i && opt->weights[j].group != opt->weights[i].group; j++)
			;
		if (j < i) {
			NL_SET_ERR_MSG_FMT_MOD(extack, "group %u has two weights: expected one",
					       opt->weights[i].group);
			NL_SET_BAD_ATTR(extack, attr);
			return -EINVAL;
		}
	}
	return 0;
}

int netinc_sched_options_parse(const struct nlattr *attr, struct sched_options *opt,
			       struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_INC_MAX + 1];
	int err;

	err = nla_parse(tb, TCA_INC_MAX, nla_data(attr), nla_len(attr), policy, extack);
	if (err)
		return err;
	if (tb[TCA_INC_SHARE]) {
		opt->share = nla_get_u32(tb[TCA_INC_SHARE]);
		err = check_range(tb[TCA_INC_SHARE], "share", opt->share, SHARE_MAX, extack);
	}
	if (!err && tb[TCA_INC_LIMIT]) {
		opt->limit = nla_get_u32(tb[TCA_INC_LIMIT]);
		err = check_range(tb[TCA_INC_LIMIT], "limit", opt->limit, LIMIT_MAX, extack);
	}
	if (!err && tb[TCA_INC_PORT]) {
		opt->port = nla_get_u16(tb[TCA_INC_PORT]);
		err = check_range(tb[TCA_INC_PORT], "port", opt->port, U16_MAX, extack);
	}
	if (!err && tb[TCA_INC_TARGET]) {
		opt->target = nla_get_u32(tb[TCA_INC_TARGET]);
		err = check_range(tb[TCA_INC_TARGET], "target", opt->target, TARGET_MAX, extack);
	}
	if (!err && tb[TCA_INC_CONTROL]) {
		opt->control = nla_get_u32(tb[TCA_INC_CONTROL]);
		err = check_range(tb[TCA_INC_CONTROL], "control", opt->control, SHARE_MAX, extack);
	}
	if (!err && tb[TCA_INC_RATE])
		err = parse_rate(tb[TCA_INC_RATE], opt, extack);
	if (!err && tb[TCA_INC_WEIGHTS])
		err = parse_weights(tb[TCA_INC_WEIGHTS], opt, extack);
	return err;
}

int netinc_sched_options_dump(const struct sched_options *opt, struct sk_buff *skb)
{
	struct nlattr *nest = nla_nest_start(skb, TCA_OPTIONS);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_INC_SHARE, opt->share) ||
	    nla_put_u32(skb, TCA_INC_CONTROL, opt->control) ||
	    nla_put_u32(skb, TCA_INC_LIMIT, opt->limit) ||
	    nla_put_u16(skb, TCA_INC_PORT, opt->port) ||
	    nla_put_u32(skb, TCA_INC_TARGET, opt->target) ||
	    nla_put_u64_64bit(skb, TCA_INC_RATE, opt->rate, TCA_INC_PAD) ||
	    (opt->nweights && nla_put(skb, TCA_INC_WEIGHTS, opt->nweights * sizeof(opt->weights[0]),
				      opt->weights))) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}
