// SPDX-License-Identifier: GPL-2.0-only
/* The rate at which packets leave. */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "sched/sch_rate.h"

#define STRETCH		(10 * NSEC_PER_MSEC)
#define PARTS		4	/* a new measurement counts as one part of so many */

static u64 rate_of(const struct sched_drain *d)
{
	return d->fixed ?: d->rate;
}

static void set_longest(struct sched_drain *d)
{
	u64 bytes = div_u64(rate_of(d), MSEC_PER_SEC);

	d->longest = rate_of(d) ? clamp_t(u64, bytes, d->mtu, U32_MAX) : U32_MAX;
}

void netinc_sched_drain_init(struct sched_drain *d, u32 mtu, u64 rate)
{
	memset(d, 0, sizeof(*d));
	d->mtu = mtu;
	netinc_sched_drain_set(d, rate);
}

void netinc_sched_drain_set(struct sched_drain *d, u64 rate)
{
	d->fixed = div_u64(rate, 8);
	set_longest(d);
}

void netinc_sched_drain_left(struct sched_drain *d, u32 len, bool more, u64 now)
{
	u64 rate;

	if (!more) {
		d->since = 0;
		return;
	}
	if (d->since)
		d->bytes += len;
	if (d->since && now - d->since < STRETCH)
		return;
	if (d->since) {
		rate = max_t(u64, mul_u64_u64_div_u64(d->bytes, NSEC_PER_SEC, now - d->since), 1);
		d->rate = d->rate ? d->rate - div_u64(d->rate, PARTS) + div_u64(rate, PARTS) : rate;
		set_longest(d);
	}
	d->since = now;
	d->bytes = 0;
}

u64 netinc_sched_drain_rate(const struct sched_drain *d)
{
	return 8 * rate_of(d);
}
