// SPDX-License-Identifier: GPL-2.0-only
/*
 * Results by IP multicast, at a rank: the node says to which group of addresses they go, the
 * environment joins that, and PROBE says so, and which call by multicast has come last: by that the
 * node knows that this rank hears. Rule 15 of protocol.rst.
 */
#include "endpoint.h"

/* from one answer to what the rank knows already to the next */
#define ANSWER_PAUSE	(10 * NETINC_MS)
/* from one answer to a new call to the next: all ranks answer, whoever has called */
#define NEWS_PAUSE	(1 * NETINC_MS)

static bool may_answer(const struct netinc_ep *ep, bool news, u64 now)
{
	return news ? now - ep->multicast.answered >= NEWS_PAUSE :
		      now - ep->tree[0].asked >= ANSWER_PAUSE;
}

/* What is not answered is said with the next PROBE all the same. */
static void answer_call(struct netinc_ep *ep, u32 call, u64 now)
{
	bool news = call && call != ep->multicast.call;

	if (call)
		ep->multicast.call = call;
	if (!may_answer(ep, news, now) || !netinc_ep_take_work(ep, (u32)(ep->snd - ep->una)))
		return;
	ep->multicast.answered = now;
	netinc_ep_probe(ep, 0, now);
}

int netinc_ep_multicast(struct netinc_ep *ep, const struct netinc_pkt *pkt,
			const struct inc_peers *body, u64 now)
{
	u32 call = be32_to_cpu(body->first);
	struct netinc_peer group;

	if (pkt->len < sizeof(*body) + sizeof(body->peer[0]) || be32_to_cpu(body->n) != 1 ||
	    pkt->multicast != !!call)
		return -INC_C_DROP_MALFORMED;
	netinc_addr_parse(&body->peer[0].addr, &group);
	if (!netinc_peer_is_multicast(&group))
		return -INC_C_DROP_MALFORMED;
	if (ep->multicast.incarnation != ep->incarnation) {
		if (call)
			return -INC_C_DROP_STATE;
		memset(&ep->multicast, 0, sizeof(ep->multicast));
		ep->multicast.incarnation = ep->incarnation;
		ep->multicast.group = group;
		return 0;
	}
	/* one per run of the group, whatever the node says later */
	if (!netinc_peer_same(&group, &ep->multicast.group))
		return -INC_C_DROP_MALFORMED;
	if (ep->multicast.joined)
		answer_call(ep, call, now);
	return 0;
}

void netinc_ep_multicast_tried(struct netinc_ep *ep, bool joined, u64 now)
{
	ep->multicast.tried = true;
	ep->multicast.joined = joined;
	if (joined && netinc_ep_is_member(ep))
		netinc_ep_probe(ep, 0, now);
}
