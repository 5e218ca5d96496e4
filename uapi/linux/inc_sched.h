/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * sch_inc: a qdisc that knows INC packets. Bands: control and results, contributions, everything
 * else. The groups whose contributions it has queues for are listed as its classes (RTM_GETTCLASS);
 * they come and go by themselves.
 */
#ifndef _UAPI_LINUX_INC_SCHED_H
#define _UAPI_LINUX_INC_SCHED_H

#include <linux/types.h>

enum {
	TCA_INC_UNSPEC,
	TCA_INC_SHARE,		/* u32: percent of bytes for INC while others wait; default 80 */
	TCA_INC_LIMIT,		/* u32: packets per class; default 1000 */
	TCA_INC_PORT,		/* u16: UDP port; default INC_PORT */
	TCA_INC_WEIGHTS,	/* struct tc_inc_weight[]: all that are not 1; default none */
	TCA_INC_TARGET,		/* u32: INC that waits so many us is marked (ECN); default 2000 */
	TCA_INC_CONTROL,	/* u32: percent of INC before contributions, 1..99; default 90 */
	TCA_INC_RATE,		/* u64: bits per second of the link, 0: measured; default 0 */
	TCA_INC_PAD,
	__TCA_INC_MAX
};

#define TCA_INC_MAX (__TCA_INC_MAX - 1)

#define INC_SCHED_WEIGHTS	64
#define INC_SCHED_WEIGHT_MAX	256
#define INC_SCHED_RATE_MIN	1000ull
#define INC_SCHED_RATE_MAX	1000000000000000ull

/* While several groups' contributions wait, each gets bytes in proportion to its weight. */
struct tc_inc_weight {
	__u32	group;
	__u32	weight;		/* 1..INC_SCHED_WEIGHT_MAX */
};

enum inc_sched_class {
	INC_SCHED_CONTROL,	/* control packets and results */
	INC_SCHED_CONTRIB,	/* contributions */
	INC_SCHED_OTHER,
	INC_SCHED_CLASSES
};

#define INC_SCHED_DELAYS	10

/* TCA_STATS_APP */
struct tc_inc_xstats {
	struct {
		__u64	marks;		/* skbs; only INC is marked */
		/* skbs that waited < 64 us, < 256 us, ... */
		__u64	delay[INC_SCHED_DELAYS];
		__u64	packets;	/* sent; a super-packet counts as its segments */
		__u64	bytes;
		__u64	drops;		/* skbs */
		__u32	qlen;		/* skbs waiting */
		__u32	backlog;	/* bytes waiting */
	} cls[INC_SCHED_CLASSES];
	__u64	blocks;			/* INC headers, super-packets' and dropped ones included */
	__u64	rate;		/* bits per second: TCA_INC_RATE, or as measured; 0: not known */
};

/* TCA_STATS_APP of a class; qlen, backlog, packets, bytes, drops are in the common statistics */
struct tc_inc_group_xstats {
	__u32	group;
	__u32	weight;
	__s64	credit;		/* bytes that it may send in this round; negative: what it owes */
	__u64	marks;		/* skbs */
	__u64	delay[INC_SCHED_DELAYS];	/* as in tc_inc_xstats */
};

#endif
