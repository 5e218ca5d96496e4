/* SPDX-License-Identifier: GPL-2.0-only */
/* References, which one thread counts, for test_gso_buf.c. */
#ifndef INC_STUB_REFCOUNT_H
#define INC_STUB_REFCOUNT_H

#include "reduce/platform.h"

typedef u32 refcount_t;

#define refcount_set(refs, n)		(*(refs) = (n))
#define refcount_inc(refs)		(++*(refs))
#define refcount_dec_and_test(refs)	(!--*(refs))

#endif
