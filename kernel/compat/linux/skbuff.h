/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels before 6.12 know no frags in the memory of a device, which the CPU cannot read.
 */
#ifndef NETINC_COMPAT_LINUX_SKBUFF_H
#define NETINC_COMPAT_LINUX_SKBUFF_H

#include_next <linux/skbuff.h>

#ifndef NETINC_HAVE_SKB_FRAGS_READABLE	/* Kbuild has looked */
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

#endif
