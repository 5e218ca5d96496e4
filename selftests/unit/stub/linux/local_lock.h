/* SPDX-License-Identifier: GPL-2.0-only */
/* A lock of this CPU, which is the only one, for test_fold.c. */
#ifndef INC_STUB_LOCAL_LOCK_H
#define INC_STUB_LOCAL_LOCK_H

#include <stdbool.h>

#define local_lock_t	bool

static inline void local_lock_init(bool *lock)
{
	*lock = false;
}

static inline void local_lock_nested_bh(bool *lock)
{
	expect(!*lock, "the lock is taken twice");
	*lock = true;
}

static inline void local_unlock_nested_bh(bool *lock)
{
	expect(*lock, "the lock is not taken");
	*lock = false;
}

#endif
