/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * FPU sections of the data path. Preemption is off in a section. Code that folds, copies or
 * converts enters it and leaves it, and does nothing in between that may sleep on any kernel:
 * with PREEMPT_RT every spinlock_t sleeps, and so does every allocation.
 *
 * Beginning a section costs as much as folding a short block. Without PREEMPT_RT nothing sleeps
 * while a group's or a rank's lock is held, so that a section stays open there when it is left,
 * for what is folded next, and is ended before that lock is dropped. With PREEMPT_RT leaving
 * ends it.
 *
 * Where lockdep is, it is told of what enters and leaves as if it were a raw spinlock, on every
 * kernel: netinc_fpu_section_outside() makes it complain about an allocation inside, and where it
 * checks the nesting of locks it complains about all that may sleep.
 */
#ifndef NETINC_CORE_FPU_SECTION_H
#define NETINC_CORE_FPU_SECTION_H

#include <linux/lockdep.h>
#include "reduce/reduce.h"

/* One per group and rank, under its lock; all zero while that is not held. */
struct netinc_fpu_section {
	bool wanted;		/* worth its while: there is enough to do */
	bool open;
	bool denied;		/* what is left to do goes without */
};

extern struct lockdep_map netinc_fpu_section_map;

static inline void netinc_fpu_section_want(struct netinc_fpu_section *s)
{
	s->wanted = true;
}

/* May FPU and vector registers be used until netinc_fpu_section_leave()? Does not nest. */
static inline bool netinc_fpu_section_enter(struct netinc_fpu_section *s)
{
	lock_map_acquire(&netinc_fpu_section_map);
	if (s->wanted && !s->open && !s->denied) {
		s->open = netinc_fpu_begin();
		s->denied = !s->open;
	}
	return s->open;
}

static inline void netinc_fpu_section_close(struct netinc_fpu_section *s)
{
	if (s->open)
		netinc_fpu_end();
	s->open = false;
}

static inline void netinc_fpu_section_leave(struct netinc_fpu_section *s)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		netinc_fpu_section_close(s);
	lock_map_release(&netinc_fpu_section_map);
}

/* Ends the section; must be called before the lock is dropped. */
static inline void netinc_fpu_section_end(struct netinc_fpu_section *s)
{
	netinc_fpu_section_close(s);
	s->wanted = false;
	s->denied = false;
}

/* Asserts that no section is entered: must stand where memory is allocated or a lock taken. */
static inline void netinc_fpu_section_outside(void)
{
	lockdep_assert(!lock_is_held(&netinc_fpu_section_map));
}

void netinc_fpu_section_init(void);

#endif
