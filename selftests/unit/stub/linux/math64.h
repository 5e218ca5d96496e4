/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef STUB_MATH64_H
#define STUB_MATH64_H

#include "reduce/platform.h"

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

#endif
