// SPDX-License-Identifier: GPL-2.0-only
/* Headers put together. */
#include "wire.h"

static_assert(sizeof(struct inc_hdr) == 48);
static_assert(sizeof(struct inc_desc) == 32);
static_assert(sizeof(struct inc_join) == 80);
static_assert(sizeof(struct inc_wait_pkt) == 16);
/* who asks a node what it is gets no more bytes than it has sent */
static_assert(sizeof(struct inc_challenge) + sizeof(struct inc_about) <= sizeof(struct inc_join));
static_assert(sizeof(struct inc_ready) == 168);
static_assert(sizeof(struct inc_error_pkt) == 96);

void netinc_build(struct inc_hdr *h, const struct netinc_pkt *p)
{
	memset(h, 0, sizeof(*h));
	h->vertype = INC_WIRE_VERSION << 4 | p->type;
	h->part = p->part;
	h->flags = cpu_to_be16(p->flags);
	h->group = cpu_to_be32(p->group);
	h->incarnation = cpu_to_be32(p->incarnation);
	h->epoch = cpu_to_be32(p->epoch);
	h->psn = cpu_to_be32(p->psn);
	h->tree = cpu_to_be16(p->tree);
	h->child = cpu_to_be16(p->child);
	h->span = cpu_to_be16(p->span);
	h->len = cpu_to_be16(p->len);
	h->opseq = cpu_to_be32(p->opseq);
	h->sig = cpu_to_be32(p->sig);
	h->cookie = cpu_to_be64(p->cookie);
	if (netinc_is_data(p->type)) {
		h->type = p->dtype;
		h->op = p->dop;
		h->mode = p->mode;
	} else {
		h->tstamp = cpu_to_be32(p->tstamp);
	}
}
