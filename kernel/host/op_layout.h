/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of an operation, as its submission says: where each rank's share lies in the user's
 * buffers, and the streams of ranges that the engine's blocks are read from and written to.
 */
#ifndef NETINC_HOST_OP_LAYOUT_H
#define NETINC_HOST_OP_LAYOUT_H

#include <linux/inc_socket.h>
#include "engine/coll.h"
#include "core/limits.h"
#include "host/user_buf.h"

/* One of the two buffers of a submission, as the caller described it. */
struct netinc_side {
	u64 addr;
	bool all;		/* holds a share of every rank; else only that of this one */
	bool write;
	const struct netinc_registered *reg;	/* where it may lie; or NULL */
	u64 *counts;		/* [size] elements; NULL: op->count each */
	u64 *starts;		/* [size] where a share begins, elements; NULL: count x rank */
};

struct netinc_layout {
	struct netinc_side send;
	struct netinc_side recv;
	bool copied;		/* short results go where they belong when they are collected */
};

/*
 * Copies the caller's counts and displacements and fills in @op, whose size and rank are set, as
 * far as this rank knows the operation. 0 or a negative errno.
 */
int netinc_layout_get(struct netinc_layout *s, const struct inc_submit *sub, bool copied,
		      struct netinc_op *op, struct netinc_mem *mem);
void netinc_layout_put(struct netinc_layout *s);

/*
 * May the caller read and write all of it, and do the two buffers not overlap where they must not?
 * 0 or an errno.
 */
int netinc_layout_check(const struct netinc_layout *s, const struct netinc_op *op);
/*
 * The ranges of a stream; *@ranges, @own for two or to be kvfree()d, has *@n + 1 entries. 0 or
 * -ENOMEM.
 */
int netinc_layout_ranges(const struct netinc_layout *s, const struct netinc_op *op, bool send,
			 struct netinc_mem *mem, struct netinc_user_range *own,
			 struct netinc_user_range **ranges, u32 *n);
/* Copies the share that a rank has for itself, which does not go over the network. 0 or -EFAULT. */
int netinc_layout_copy_own(const struct netinc_layout *s, const struct netinc_op *op);

#endif
