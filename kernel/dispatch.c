// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a received packet finds its node or rank in this box: the first header says which. Packets
 * that go up are a node's, packets that go down a rank's, or a node's whose parent sends them.
 */
#include <linux/rculist.h>
#include "core/rx.h"
#include "core/trace.h"
#include "host/rank.h"
#include "node/node.h"

bool netinc_dispatch_at(const struct netinc_rx *rx)
{
	return netinc_node_for(rx);
}

static bool names_group(const struct netinc_rx *rx, u32 group)
{
	const struct inc_hdr *h;
	struct inc_hdr buf;

	h = skb_header_pointer(rx->skb, rx->headers, sizeof(buf), &buf);
	return h && be32_to_cpu(h->group) == group;
}

/*
 * All that comes to a port that a rank holds: of a damaged packet nobody knows what group it named.
 * If the port is another program's, only what names the rank's group.
 */
bool netinc_dispatch_answer(const struct netinc_rx *rx, __be16 port)
{
	const struct netinc_rank *rank;

	hlist_for_each_entry_rcu(rank, netinc_hash(rx->nn->ports, be16_to_cpu(port)), port_hash)
		if (rank->path.sport == port &&
		    (rank->holds_port || names_group(rx, rank->ep.cfg.group)))
			return true;
	return false;
}

/* A packet for all ranks of another run of a group of this number, perhaps of another job. */
static bool is_other_run(const struct netinc_ep *ep, const struct netinc_pkt *pkt)
{
	u32 incarnation = READ_ONCE(ep->incarnation);

	return incarnation && incarnation != pkt->incarnation;
}

/*
 * Would the rank drop what is for all ranks of its group? A look without its lock, which not
 * everybody is to take of all ranks that there are: who does not know the group's cookie is turned
 * away here. What changes meanwhile is a loss.
 */
static int turned_away(const struct netinc_ep *ep, const struct netinc_pkt *pkt)
{
	u8 state = READ_ONCE(ep->state);

	if (state != INC_STATE_READY && state != INC_STATE_LEAVING && state != INC_STATE_RESYNC)
		return INC_C_DROP_STATE;
	return pkt->cookie ^ READ_ONCE(ep->down_cookie) ? INC_C_DROP_COOKIE : 0;
}

/* An answer to a JOIN repeats its nonce, which stands first in all of these. */
static bool has_nonce(const struct netinc_rx *rx, u32 nonce)
{
	__be32 buf;
	const __be32 *p = skb_header_pointer(rx->skb, rx->body, sizeof(buf), &buf);

	return p && be32_to_cpu(*p) == nonce;
}

/* A packet that calls a rank elsewhere names the group's lineage, which stands first, too. */
static bool has_lineage(const struct netinc_rx *rx, u64 lineage)
{
	__be64 said;

	return !skb_copy_bits(rx->skb, rx->body, &said, sizeof(said)) &&
	       be64_to_cpu(said) == lineage;
}

/* Is a packet that names a rank for another one, of another job? 0 or the counter of the reason. */
static int names_another(const struct netinc_ep *ep, const struct netinc_rx *rx)
{
	switch (rx->pkt.type) {
	case INC_PKT_STATUS:
	case INC_PKT_NACK:
	case INC_PKT_PEERS:
		return turned_away(ep, &rx->pkt);
	case INC_PKT_REFUSE:
		/* of a member's packets it has their cookie */
		if (rx->pkt.cookie && rx->pkt.cookie == READ_ONCE(ep->tree[0].up_cookie))
			return 0;
		fallthrough;
	case INC_PKT_CHALLENGE:
	case INC_PKT_WAIT:
	case INC_PKT_READY:
		return has_nonce(rx, ep->cfg.nonce) ? 0 : INC_C_DROP_STATE;
	case INC_PKT_MOVE:
		return has_lineage(rx, READ_ONCE(ep->lineage)) ? 0 : INC_C_DROP_COOKIE;
	default:
		return 0;
	}
}

/* RESULT, PARTIAL and ERROR are the same for all children, other packets name theirs. */
static void to_children(struct netinc_rx *rx)
{
	bool all = rx->pkt.type == INC_PKT_RESULT || netinc_for_all(rx->pkt.type);
	struct netinc_rank *rank;
	struct netinc_rx copy;
	bool found;
	int why;

	/*
	 * results are compared with the address of the root; at the bridge's hook it may be this
	 * box's own
	 */
	if ((rx->via != rx->dev || rx->pkt.type != INC_PKT_RESULT) && !netinc_rx_sender_ok(rx)) {
		netinc_rx_drop(rx, INC_C_DROP_ADDRESS);
		return;
	}
	found = netinc_uplink_rx_skb(rx);
	hlist_for_each_entry_rcu(rank, netinc_hash(rx->nn->ranks, rx->pkt.group), hash) {
		if (rank->ep.cfg.group != rx->pkt.group ||
		    (!all && READ_ONCE(rank->ep.cfg.rank) != rx->pkt.child) ||
		    (all && is_other_run(&rank->ep, &rx->pkt)))
			continue;
		found = true;
		why = all ? turned_away(&rank->ep, &rx->pkt) : names_another(&rank->ep, rx);
		if (why) {
			netinc_rx_drop(rx, why);
			continue;
		}
		copy = *rx;
		netinc_rank_rx(rank, &copy);
		rx->used |= copy.used;
		rx->drop = copy.drop;
	}
	if (!found)
		netinc_rx_drop(rx, INC_C_DROP_NO_GROUP);
}

void netinc_dispatch(struct netinc_rx *rx)
{
	int got = netinc_rx_next(rx);

	if (got <= 0) {
		netinc_rx_drop(rx, got ? -got : INC_C_DROP_MALFORMED);
		return;
	}
	trace_netinc_rx(rx->skb, rx->dev, &rx->pkt);
	switch (rx->pkt.type) {
	case INC_PKT_CONTRIB:
	case INC_PKT_PROBE:
	case INC_PKT_JOIN:
	case INC_PKT_ABORT:
		netinc_node_rx(rx);
		break;
	default:
		to_children(rx);
		break;
	}
}
