/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sums over received and sent packets, per CPU, so that packets take no atomics. They are racy on
 * purpose: they change while they are read.
 */
#ifndef NETINC_CORE_STATS_H
#define NETINC_CORE_STATS_H

#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/u64_stats_sync.h>

#define NETINC_MAX_STATS	6

struct netinc_stats {
	u64_stats_t value[NETINC_MAX_STATS];
	struct u64_stats_sync syncp;
};

/* NULL: no memory. For free_percpu(). */
static inline struct netinc_stats __percpu *netinc_stats_alloc(gfp_t gfp)
{
	return __netdev_alloc_pcpu_stats(struct netinc_stats, gfp);
}

/* Adds @n numbers from value @first on. Not in hard interrupts; bottom halves are off. */
static inline void netinc_stats_add(struct netinc_stats __percpu *stats, u32 first,
				    const u64 *add, u32 n)
{
	struct netinc_stats *own = get_cpu_ptr(stats);
	u32 i;

	u64_stats_update_begin(&own->syncp);
	for (i = 0; i < n; i++)
		u64_stats_add(&own->value[first + i], add[i]);
	u64_stats_update_end(&own->syncp);
	put_cpu_ptr(stats);
}

static inline u64 netinc_stats_sum(const struct netinc_stats __percpu *stats, u32 which)
{
	const struct netinc_stats *one;
	unsigned int start;
	u64 sum = 0, value;
	int cpu;

	for_each_possible_cpu(cpu) {
		one = per_cpu_ptr(stats, cpu);
		do {
			start = u64_stats_fetch_begin(&one->syncp);
			value = u64_stats_read(&one->value[which]);
		} while (u64_stats_fetch_retry(&one->syncp, start));
		sum += value;
	}
	return sum;
}

#endif
