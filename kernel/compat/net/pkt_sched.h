/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels before 6.9 load a qdisc's module by its file name alone and know no alias for it. */
#ifndef NETINC_COMPAT_NET_PKT_SCHED_H
#define NETINC_COMPAT_NET_PKT_SCHED_H

#include_next <net/pkt_sched.h>

#ifndef MODULE_ALIAS_NET_SCH
#define MODULE_ALIAS_NET_SCH(id)	MODULE_ALIAS("net-sch-" id)
#endif

/* Since 6.19 the number of segments stands beside the length. */
static inline void netinc_qdisc_set_segs(struct sk_buff *skb, unsigned int segs)
{
#ifdef NETINC_HAVE_QDISC_PKT_SEGS
	qdisc_skb_cb(skb)->pkt_segs = segs;
#endif
}

#endif
