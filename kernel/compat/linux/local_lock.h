/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels before 6.11 have no locks for what bottom halves share on one CPU: on PREEMPT_RT, too,
 * they were one lock there until 6.18. And what its macros use, the kernel's own header does not
 * include: `current` with lockdep, spinlocks with PREEMPT_RT.
 */
#ifndef NETINC_COMPAT_LINUX_LOCAL_LOCK_H
#define NETINC_COMPAT_LINUX_LOCAL_LOCK_H

#include <linux/sched.h>
#include <linux/spinlock.h>
#include_next <linux/local_lock.h>

#ifndef local_lock_nested_bh

#include <linux/lockdep.h>

#define local_lock_nested_bh(lock)	do { (void)(lock); lockdep_assert_in_softirq(); } while (0)
#define local_unlock_nested_bh(lock)	((void)(lock))

#endif

#endif
