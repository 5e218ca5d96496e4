/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels before 6.13 set up an hrtimer in two steps. */
#ifndef NETINC_COMPAT_LINUX_HRTIMER_H
#define NETINC_COMPAT_LINUX_HRTIMER_H

#include_next <linux/hrtimer.h>

#ifndef NETINC_HAVE_HRTIMER_SETUP	/* Kbuild has looked */

static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}

#endif

#endif
