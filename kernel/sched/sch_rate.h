/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How fast packets leave, and how long one of them may be.
 *
 * A packet of more than a millisecond of the link's rate keeps all others waiting for that long,
 * results among them. The rate is told, or measured: the bytes that leave in 10 ms or more while
 * others wait all the time, that is, while the link, or whatever shapes it, is what they wait for.
 * Until it is known nothing is too long.
 */
#ifndef NETINC_SCHED_SCH_RATE_H
#define NETINC_SCHED_SCH_RATE_H

#include <linux/types.h>

struct sched_drain {
	u64 fixed;	/* bytes per second, 0: measure */
	u64 rate;	/* bytes per second as measured, 0: not yet */
	u64 since;	/* ns: when what is measured began, 0: nothing waits */
	u64 bytes;	/* that have left since */
	u32 mtu;	/* bytes: what cannot be taken apart */
	u32 longest;	/* bytes of a packet that may wait as one */
};

/* @rate: bits per second, 0: measure it. */
void netinc_sched_drain_init(struct sched_drain *d, u32 mtu, u64 rate);
void netinc_sched_drain_set(struct sched_drain *d, u64 rate);
/* A packet of @len bytes has left. @more: others wait for the link. */
void netinc_sched_drain_left(struct sched_drain *d, u32 len, bool more, u64 now);
/* Bits per second, told or measured; 0: not known. */
u64 netinc_sched_drain_rate(const struct sched_drain *d);

#endif
