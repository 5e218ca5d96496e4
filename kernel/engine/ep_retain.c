// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last 2 W blocks of a rank, which it retains also after their operations have returned: rule 8
 * of protocol.rst. If the node is lost, ranks that have a block's result contribute it again for
 * those that do not.
 */
#include "endpoint.h"

static struct netinc_retained *retained_slot(const struct netinc_ep *ep, u64 b)
{
	u32 i = (u32)b & (2 * ep->settings.window - 1);

	return &ep->retained[i / NETINC_RETAIN_CHUNK][i % NETINC_RETAIN_CHUNK];
}

static struct netinc_retained *find_retained(const struct netinc_ep *ep, u64 b)
{
	struct netinc_retained *k;

	if (!netinc_ep_retains(ep) || !ep->settings.window)
		return NULL;
	k = retained_slot(ep, b);
	return k->used && k->block == b ? k : NULL;
}

static void clear_retained(struct netinc_ep *ep, struct netinc_retained *k)
{
	if (k->pay.obj)
		ep->ops->retain_release(ep, &k->pay);
	memset(k, 0, sizeof(*k));
}

bool netinc_ep_retain_init(struct netinc_ep *ep, u32 window)
{
	return ep->retained[0] ||
	       ep->ops->retain_init(ep, DIV_ROUND_UP(2 * window, (u32)NETINC_RETAIN_CHUNK));
}

void netinc_ep_retain_drop(struct netinc_ep *ep)
{
	u32 i;

	for (i = 0; ep->retained[0] && i < 2 * ep->settings.window; i++)
		clear_retained(ep, retained_slot(ep, i));
}

bool netinc_ep_delivered(const struct netinc_ep *ep, u64 b)
{
	const struct netinc_retained *k = find_retained(ep, b);

	return k && k->delivered;
}

u64 netinc_ep_next_from(const struct netinc_ep *ep, u64 b)
{
	while (netinc_ep_delivered(ep, b))
		b++;
	return b;
}

u64 netinc_ep_next(const struct netinc_ep *ep)
{
	return netinc_ep_next_from(ep, ep->una);
}

bool netinc_ep_sent(struct netinc_ep *ep, u64 b, const struct netinc_pkt *pkt,
		    const struct netinc_pay *pay)
{
	struct netinc_retained *k = find_retained(ep, b);

	if (!netinc_ep_retains(ep) || (k && k->opseq == pkt->opseq && k->sig == pkt->sig))
		return false;
	k = retained_slot(ep, b);
	clear_retained(ep, k);
	k->used = true;
	k->block = b;
	k->opseq = pkt->opseq;
	k->sig = pkt->sig;
	k->dtype = pkt->dtype;
	k->dop = pkt->dop;
	k->mode = pkt->mode;
	/* who wants the result keeps that when it comes, and until then can read its input again */
	if (!pay || !(pkt->flags & INC_F_PAYLOAD) || (pkt->flags & INC_F_WANT))
		return false;
	k->pay = *pay;
	k->pay.kind = NETINC_PAY_RETAINED_OWN;
	return true;
}

void netinc_ep_retain_result(struct netinc_ep *ep, u64 b, const struct netinc_pay *pay)
{
	struct netinc_retained *k = find_retained(ep, b);

	if (netinc_assert(k))
		return;
	k->delivered = true;
	if (!pay)
		return;
	if (k->pay.obj)
		ep->ops->retain_release(ep, &k->pay);
	k->pay = *pay;
}

void netinc_ep_retain_cut(struct netinc_ep *ep, u64 b)
{
	struct netinc_retained *k;

	for (; (k = find_retained(ep, b)); b++)
		clear_retained(ep, k);
}

const struct netinc_pay *netinc_ep_retained_header(const struct netinc_ep *ep, u64 b,
						   struct netinc_pkt *pkt)
{
	const struct netinc_retained *k = find_retained(ep, b);

	netinc_ep_header(ep, pkt, INC_PKT_CONTRIB);
	netinc_ep_to_tree(ep, pkt, netinc_tree_of(&ep->spread, b));
	pkt->psn = (u32)b;
	if (netinc_assert(k))
		return NULL;
	pkt->opseq = k->opseq;
	pkt->sig = k->sig;
	pkt->dtype = k->dtype;
	pkt->dop = k->dop;
	pkt->mode = k->mode;
	if (!k->pay.obj)
		return NULL;
	pkt->flags = INC_F_PAYLOAD;
	if (k->pay.kind == NETINC_PAY_RETAINED_RESULT)
		pkt->flags |= INC_F_FINAL;
	pkt->len = k->pay.len;
	return &k->pay;
}
