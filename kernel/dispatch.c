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

/*
 * All that comes to a port that a rank holds: of a damaged packet nobody knows what group it named.
 * If the port is another program's, only what names the rank's group.
 */
bool netinc_dispatch_answer(const struct netinc_rx *rx, __be16 port)
{
	struct netinc_demux_key held = { .number = be16_to_cpu(port),
					 .kind = NETINC_DEMUX_RANK_PORT };
	struct netinc_demux_key other = { .number = be16_to_cpu(port),
					  .kind = NETINC_DEMUX_RANK_OTHER_PORT };
	const struct inc_hdr *h;
	struct inc_hdr buf;

	if (netinc_demux_find(rx->nn, &held))
		return true;
	h = skb_header_pointer(rx->skb, rx->headers, sizeof(buf), &buf);
	if (!h)
		return false;
	other.group = be32_to_cpu(h->group);
	return netinc_demux_find(rx->nn, &other);
}

/*
 * Why the rank would drop what is for all ranks of its group; 0: it would not. This is looked at
 * without the rank's lock, so that who does not know the group's cookie cannot make a processor
 * take the locks of all ranks. A packet that a change meanwhile makes wrong is a lost one.
 */
static int early_drop_reason(const struct netinc_ep *ep, const struct netinc_pkt *pkt)
{
	u8 state = READ_ONCE(ep->state);

	if (state != INC_STATE_READY && state != INC_STATE_LEAVING && state != INC_STATE_RESYNC)
		return INC_C_DROP_STATE;
	return pkt->cookie ^ READ_ONCE(ep->down_cookie) ? INC_C_DROP_COOKIE : 0;
}

/* RESULT, PARTIAL and ERROR are the same for all children, other packets name theirs. */
static bool is_for_all(const struct netinc_pkt *pkt)
{
	return pkt->type == INC_PKT_RESULT || netinc_for_all(pkt);
}

/*
 * Hands a copy to @rank, if it is the one that the packet names, unless @why says that it would
 * drop it. False: it is another rank's.
 */
static bool offer_rank(struct netinc_rank *rank, struct netinc_rx *rx, int why)
{
	struct netinc_rx copy;

	if (!is_for_all(&rx->pkt) && READ_ONCE(rank->ep.cfg.rank) != rx->pkt.child)
		return false;
	if (why) {
		netinc_rx_drop(rx, why);
		return true;
	}
	if (!netinc_rx_may_hand(rx))
		return true;
	copy = *rx;
	netinc_rank_rx(rank, &copy);
	rx->used |= copy.used;
	rx->drop = copy.drop;
	rx->work = copy.work;
	return true;
}

/* What members have is known by the incarnation of their group. */
static struct rhlist_head *ranks_of_run(const struct netinc_rx *rx)
{
	struct netinc_demux_key key = { .number = rx->pkt.incarnation, .group = rx->pkt.group,
					.kind = NETINC_DEMUX_RANK };

	return netinc_demux_find(rx->nn, &key);
}

static bool to_run(struct netinc_rx *rx)
{
	struct netinc_rank *rank;
	struct rhlist_head *pos;
	bool found = false;

	rhl_for_each_entry_rcu(rank, pos, ranks_of_run(rx), by_run.list) {
		if (!netinc_rx_may_offer(rx))
			return true;
		found |= offer_rank(rank, rx, early_drop_reason(&rank->ep, &rx->pkt));
	}
	return found;
}

/* Answers to a JOIN repeat its nonce. */
static bool to_nonce(struct netinc_rx *rx)
{
	struct netinc_demux_key key = { .group = rx->pkt.group, .kind = NETINC_DEMUX_RANK_NONCE };
	struct netinc_rank *rank;
	struct rhlist_head *pos;
	bool found = false;

	if (!netinc_rx_nonce(rx, &key.number))
		return false;
	rhl_for_each_entry_rcu(rank, pos, netinc_demux_find(rx->nn, &key), by_nonce.list) {
		if (!netinc_rx_may_offer(rx))
			return true;
		found |= offer_rank(rank, rx, 0);
	}
	return found;
}

/* Of what a member sends a node that does not know it refuses the cookie. */
static bool to_refused(struct netinc_rx *rx)
{
	u64 cookie = rx->pkt.cookie;
	struct netinc_rank *rank;
	struct rhlist_head *pos;
	bool found = false;

	if (!cookie)
		return false;
	rhl_for_each_entry_rcu(rank, pos, ranks_of_run(rx), by_run.list) {
		if (!netinc_rx_may_offer(rx))
			return true;
		if (!(cookie ^ READ_ONCE(rank->ep.tree[0].up_cookie)))
			found |= offer_rank(rank, rx, 0);
	}
	return found;
}

/* Who calls ranks elsewhere names them by the group's lineage, which stands first, too. */
static bool to_lineage(struct netinc_rx *rx)
{
	struct netinc_demux_key key = { .group = rx->pkt.group, .kind = NETINC_DEMUX_RANK_LINEAGE };
	struct netinc_rank *rank;
	struct rhlist_head *pos;
	bool found = false;
	__be64 said;

	if (skb_copy_bits(rx->skb, rx->body, &said, sizeof(said)))
		return false;
	key.token = be64_to_cpu(said);
	rhl_for_each_entry_rcu(rank, pos, netinc_demux_find(rx->nn, &key), by_lineage.list) {
		if (!netinc_rx_may_offer(rx))
			return true;
		found |= offer_rank(rank, rx, 0);
	}
	return found;
}

static bool to_ranks(struct netinc_rx *rx)
{
	switch (rx->pkt.type) {
	case INC_PKT_CHALLENGE:
	case INC_PKT_WAIT:
	case INC_PKT_READY:
		return to_nonce(rx);
	case INC_PKT_REFUSE:
		return to_nonce(rx) || to_refused(rx);
	case INC_PKT_MOVE:
		return to_lineage(rx);
	default:
		return to_run(rx);
	}
}

static void to_children(struct netinc_rx *rx)
{
	bool found;

	/*
	 * results are compared with the address of the root; at the bridge's hook it may be this
	 * box's own
	 */
	if ((rx->via != rx->dev || rx->pkt.type != INC_PKT_RESULT) && !netinc_rx_sender_ok(rx)) {
		netinc_rx_drop(rx, INC_C_DROP_ADDRESS);
		return;
	}
	/* nodes are not told of a multicast group */
	found = !rx->multicast && netinc_uplink_rx_skb(rx);
	if (!to_ranks(rx) && !found)
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
	if (rx->multicast && !netinc_multicast_ok(&rx->pkt)) {
		netinc_rx_drop(rx, INC_C_DROP_ADDRESS);
		return;
	}
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
