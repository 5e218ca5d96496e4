/* SPDX-License-Identifier: GPL-2.0-only */
/* Of core/netns.h and node/node.h what node/history.c uses, for test_history.c. */
#ifndef INC_STUB_HISTORY_H
#define INC_STUB_HISTORY_H

#include <stdbool.h>
#include <stdlib.h>

#include "engine/group.h"

#define lockdep_assert_held(lock)	((void)(lock))
#define spin_lock_bh(lock)		((void)(lock))
#define spin_unlock_bh(lock)		((void)(lock))
#define kvzalloc(bytes, flags)		calloc(1, bytes)
#define kvfree(p)			free(p)
#define BIT(n)				(1ul << (n))

struct netinc_history;

struct netinc_net {
	struct netinc_history *history;
	int mutex, hash_lock;
};

struct netinc_creator {
	struct netinc_peer peer;
	u32 ifindex;
};

#endif
