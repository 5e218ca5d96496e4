/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels before 6.9 load a qdisc's module by its file name alone and know no alias for it. */
#ifndef NETINC_COMPAT_NET_PKT_SCHED_H
#define NETINC_COMPAT_NET_PKT_SCHED_H

#include_next <net/pkt_sched.h>

#ifndef MODULE_ALIAS_NET_SCH
#define MODULE_ALIAS_NET_SCH(id)	MODULE_ALIAS("net-sch-" id)
#endif

#endif
