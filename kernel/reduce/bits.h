/* SPDX-License-Identifier: GPL-2.0-only */
/* Bit operations platform.h has no need of elsewhere. */
#ifndef NETINC_BITS_H
#define NETINC_BITS_H

#include "engine/platform.h"

#ifdef __KERNEL__

#include <linux/bitops.h>

/* Leading zeros of a value that is not 0. */
static __always_inline unsigned int netinc_clz64(u64 x)
{
	return 64 - fls64(x);
}

#else

static __always_inline unsigned int netinc_clz64(u64 x)
{
	return __builtin_clzll(x);
}

#endif

#endif
