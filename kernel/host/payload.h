/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of packets at a host: blocks read from user memory into super-packets, results
 * written there.
 */
#ifndef NETINC_HOST_PAYLOAD_H
#define NETINC_HOST_PAYLOAD_H

#include "engine/endpoint.h"

/* See struct netinc_ep_ops. */
u32 netinc_payload_send(struct netinc_ep *ep, struct netinc_op *op, u64 idx, u32 n, u32 most,
			u16 flags);
/* Sends blocks [@block, @block + n), which have their results, as they were kept. */
u32 netinc_payload_send_retained(struct netinc_ep *ep, u64 block, u32 n, u16 flags);
bool netinc_payload_deliver(struct netinc_ep *ep, struct netinc_op *op,
			    const struct netinc_block *b, const struct netinc_pay *pay);

#endif
