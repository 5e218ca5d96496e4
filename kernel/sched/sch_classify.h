/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NETINC_SCHED_SCH_CLASSIFY_H
#define NETINC_SCHED_SCH_CLASSIFY_H

#include <linux/skbuff.h>
#include <linux/inc_sched.h>

/*
 * The class of a packet, and if that is INC, to or from @port (host byte order), the group of its
 * first header and the number of headers. A packet on the port whose first header is not one that a
 * node would take is "other": the port buys no priority.
 */
enum inc_sched_class netinc_sched_classify(const struct sk_buff *skb, u16 port, u32 *group,
					   u32 *blocks);

#endif
