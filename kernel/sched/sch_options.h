/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of sch_inc: defaults, what is taken from a request, what a dump says. */
#ifndef NETINC_SCHED_SCH_OPTIONS_H
#define NETINC_SCHED_SCH_OPTIONS_H

#include <net/netlink.h>
#include <linux/inc_sched.h>

struct sched_options {
	u32 share;		/* percent */
	u32 control;		/* percent */
	u32 limit;		/* skbs per class */
	u16 port;
	u32 target;		/* microseconds */
	u64 rate;		/* bits per second, 0: measured */
	u32 nweights;
	struct tc_inc_weight weights[INC_SCHED_WEIGHTS];
};

struct sched_options netinc_sched_options_default(void);
/* Overwrites in @opt what @attr names. 0 or an error, which @extack explains. */
int netinc_sched_options_parse(const struct nlattr *attr, struct sched_options *opt,
			       struct netlink_ext_ack *extack);
/* Puts @opt into @skb, as TCA_OPTIONS. */
int netinc_sched_options_dump(const struct sched_options *opt, struct sk_buff *skb);

#endif
