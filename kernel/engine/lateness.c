// SPDX-License-Identifier: GPL-2.0-only
/* How late the children of a node are: statistics. */
#include "lateness.h"

void netinc_late_add(struct netinc_late *late, u64 us)
{
	u32 low = min_t(u64, us, 0xffffffffu), bucket = low ? 32 - __builtin_clz(low) : 0;

	late->blocks++;
	late->sum += us;
	late->max = max(late->max, us);
	late->hist[min_t(u32, bucket, INC_LATE_BUCKETS - 1)]++;
}
