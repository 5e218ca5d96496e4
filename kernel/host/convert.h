/* SPDX-License-Identifier: GPL-2.0-only */
/* Elements between the user's buffers, in the type of these, and packets, in the type of the wire. */
#ifndef NETINC_HOST_CONVERT_H
#define NETINC_HOST_CONVERT_H

#include "host/op.h"
#include "core/fpu_section.h"

#define NETINC_ELEMS_CHUNK	256u	/* elements that are converted at a time */

/* Does anything have to be done to them? */
bool netinc_elems_plain(const struct netinc_req *req);

/*
 * Around what follows, under rank->lock, with softirqs off: the room, and an FPU section if one is
 * wanted and can be had. Nothing that may sleep on PREEMPT_RT comes in between, see fpu_section.h.
 * Returns @fpu for the others.
 */
bool netinc_elems_enter(struct netinc_section *section);
void netinc_elems_leave(struct netinc_section *section);

/*
 * @n elements from element @at of the send stream on, weighted and converted, to @to; and back, to the receive stream.
 * @fpu: inside an FPU section. False: as netinc_buf_read() and netinc_buf_store().
 */
bool netinc_elems_get(const struct netinc_req *req, u64 at, void *to, u32 n, bool fpu);
bool netinc_elems_put(const struct netinc_req *req, u64 at, const void *from, u32 n, bool fpu);

/* Room for a chunk of elements, of this CPU; @i: 0 or 1. */
void *netinc_elems_room(u32 i);

int netinc_elems_init(void);
void netinc_elems_fini(void);

#endif
