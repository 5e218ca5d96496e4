/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Elements between the user's buffers, in the type of these, and packets, in the type of the wire.
 */
#ifndef NETINC_HOST_CONVERT_H
#define NETINC_HOST_CONVERT_H

#include "host/op.h"
#include "core/fpu_section.h"

#define NETINC_ELEMS_CHUNK	256u	/* elements that are converted at a time */
#define NETINC_SCRATCH		(NETINC_ELEMS_CHUNK * 16)	/* bytes of memory for them */

/* Does anything have to be done to them? */
bool netinc_convert_plain(const struct netinc_op_request *req);

/*
 * Around what follows, under rank->lock, with softirqs off: the scratch memory, and an FPU section
 * if one is wanted and can be had. Nothing that may sleep on PREEMPT_RT comes in between, see
 * fpu_section.h. Returns @fpu for the others.
 */
bool netinc_convert_enter(struct netinc_fpu_section *section);
void netinc_convert_leave(struct netinc_fpu_section *section);

/*
 * @n elements from element @at of the send stream on, weighted and converted, to @to; and back, to
 * the receive stream.
 * @fpu: inside an FPU section. False: as netinc_buf_read() and netinc_buf_store().
 */
bool netinc_convert_get(const struct netinc_op_request *req, u64 at, void *to, u32 n, bool fpu);
bool netinc_convert_put(const struct netinc_op_request *req, u64 at, const void *from, u32 n,
			bool fpu);

/* Scratch memory of this CPU, NETINC_SCRATCH bytes for a chunk of elements; @i: 0 or 1. */
void *netinc_convert_scratch(u32 i);

int netinc_convert_init(void);
void netinc_convert_fini(void);

#endif
