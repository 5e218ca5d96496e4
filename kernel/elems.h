/* SPDX-License-Identifier: GPL-2.0-only */
/* Elements between the user's buffers, in the type of these, and packets, in the type of the wire. */
#ifndef NETINC_ELEMS_H
#define NETINC_ELEMS_H

#include "req.h"

#define NETINC_ELEMS_CHUNK	256u	/* elements that are converted at a time */

/* Does anything have to be done to them? */
bool netinc_elems_plain(const struct netinc_req *req);

/*
 * @n elements from element @at of the send stream on, weighted and converted, to @to; and back, to the receive stream.
 * Under rank->lock, with softirqs off. @fpu: inside an FPU section.
 */
void netinc_elems_get(const struct netinc_req *req, u64 at, void *to, u32 n, bool fpu);
void netinc_elems_put(const struct netinc_req *req, u64 at, const void *from, u32 n, bool fpu);

/* Room for a chunk of elements, of this CPU; @i: 0 or 1. */
void *netinc_elems_room(u32 i);

int netinc_elems_init(void);
void netinc_elems_fini(void);

#endif
