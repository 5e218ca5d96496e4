/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A lock that one thread takes and gives back in order, for test_txq.c and
 * test_pin.c.
 */
#ifndef INC_STUB_SPINLOCK_H
#define INC_STUB_SPINLOCK_H

#include <stdbool.h>

struct spinlock {
	bool held;
};

#define spinlock_t struct spinlock

#define __releases(lock)

void spin_lock(spinlock_t *lock);
void spin_unlock(spinlock_t *lock);
void spin_unlock_bh(spinlock_t *lock);

#endif
