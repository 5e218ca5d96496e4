// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets of a group at a node: those of members come in, results and control packets go out, one
 * copy per host.
 */
#include <linux/jhash.h>
#include "node/history.h"
#include "node/node_group.h"
#include "node/tenant.h"

#define CALL_DELAY_MS	10	/* until who has been told to listen is called */

static void count_tx(struct netinc_node_group *g, struct netinc_port *port,
		     const struct sk_buff *skb, u32 headers)
{
	u32 packets = netinc_skb_packets(skb), bytes = netinc_skb_ip_bytes(skb, headers);

	g->grp.counters[INC_C_TX_PACKETS] += packets;
	g->grp.counters[INC_C_TX_BYTES] += bytes;
	g->grp.counters[INC_C_TX_SKBS]++;
	if (port)
		netinc_stats_add(port->stats, NETINC_PORT_TX_PACKETS, (u64[]){ packets, bytes, 1 },
				 3);
}

static void send_by(struct netinc_node_group *g, struct netinc_path *path,
		    struct netinc_port *port, struct sk_buff *skb)
{
	u32 payload = skb->len;

	if (netinc_txq_add(&g->txq, path, skb)) {
		netinc_count(g->grp.counters, INC_C_TX_ERRORS);
		return;
	}
	count_tx(g, port, skb, skb->len - payload);
}

static void send_one(struct netinc_node_group *g, u32 child, struct sk_buff *skb)
{
	send_by(g, &g->link[child].path, g->link[child].port, skb);
}

/* To the IP multicast group. */
static void send_many(struct netinc_node_group *g, struct sk_buff *skb)
{
	if (g->way == NETINC_NO_RANK) {
		netinc_count(g->grp.counters, INC_C_TX_ERRORS);
		kfree_skb(skb);
		return;
	}
	g->grp.counters[INC_C_MULTICAST] += netinc_skb_packets(skb);
	send_by(g, &g->many, g->link[g->way].port, skb);
}

void netinc_node_group_send(struct netinc_node_group *g, u32 child, struct sk_buff *skb)
{
	struct sk_buff *copy;
	u32 i;

	if (!skb) {
		netinc_count(g->grp.counters, INC_C_TX_ERRORS);
		return;
	}
	if (child == NETINC_HEARING) {
		send_many(g, skb);
		return;
	}
	if (child != NETINC_ALL) {
		send_one(g, child, skb);
		return;
	}
	for (i = 0; i < g->grp.nmembers; i++) {
		if (!netinc_node_group_is_host(g, i))
			continue;
		copy = __pskb_copy(skb, skb_headroom(skb), GFP_ATOMIC | __GFP_NOWARN);
		if (copy)
			send_one(g, i, copy);
		else
			netinc_count(g->grp.counters, INC_C_TX_ERRORS);
	}
	consume_skb(skb);
}

void netinc_node_group_send_run(struct netinc_node_group *g, u32 child,
				const struct netinc_run *run)
{
	bool many = child == NETINC_ALL && netinc_node_group_hearing(g);
	u32 i;

	if (child != NETINC_ALL || many)
		netinc_node_group_send(g, many ? NETINC_HEARING : child,
				       netinc_gso_buf_skb(run->s, run->first, run->n));
	if (child != NETINC_ALL)
		return;
	for (i = 0; i < g->grp.nmembers; i++)
		if (netinc_node_group_is_host(g, i) && !(many && g->link[i].hears))
			netinc_node_group_send(g, i,
					       netinc_gso_buf_skb(run->s, run->first, run->n));
}

/* Does what goes to one get to the other, and from the address that it has joined? */
static bool same_way(const struct netinc_node_group *g, u32 a, u32 b)
{
	const struct netinc_member *m = g->grp.members;

	return !memcmp(&m[a].peer, &m[b].peer, sizeof(m[a].peer)) &&
	       g->link[a].path.peer.udp_port == g->link[b].path.peer.udp_port &&
	       !memcmp(g->link[a].path.local, g->link[b].path.local,
		       sizeof(g->link[a].path.local));
}

/* The same for what same_way() is true of. Hashed with a secret, since members choose it. */
static u32 hash_way(const struct netinc_node_group *g, u32 i)
{
	const struct netinc_link *link = &g->link[i];
	u32 hash = jhash(link->path.local, sizeof(link->path.local), (u32)g->nn->secret[0]);

	hash = jhash(&g->grp.members[i].peer, sizeof(g->grp.members[i].peer), hash);
	return jhash_1word((__force u32)link->path.peer.udp_port, hash);
}

/*
 * Members that share a host (address), and know the node by one address, share its copy of a
 * result.
 */
void netinc_node_group_find_hosts(struct netinc_node_group *g)
{
	u32 n = g->grp.nmembers, i, j;
	struct netinc_link *bucket;

	g->hosts_changed = false;
	g->hearing_known = false;
	for (i = 0; i < n; i++)
		g->link[i].first = n;
	for (i = 0; i < n; i++) {
		bucket = &g->link[reciprocal_scale(hash_way(g, i), n)];
		for (j = bucket->first; j < n; j = g->link[j].next)
			if (same_way(g, i, j))
				break;
		g->link[i].host = min(i, j);
		if (j < n)
			continue;
		g->link[i].next = bucket->first;
		bucket->first = i;
	}
}

/* Members may do this often, and ask for little each time: who shares what is looked for later. */
void netinc_node_group_part_host(struct netinc_node_group *g, u32 child)
{
	u32 i;

	for (i = 0; i < g->grp.nmembers; i++)
		if (g->link[i].host == child)
			g->link[i].host = i;
	g->link[child].host = child;
	g->hosts_changed = true;
	g->hearing_known = false;
}

static void count_rx(struct netinc_node_group *g, struct netinc_rx *rx, u32 child)
{
	struct netinc_port *port = g->link[child].port;
	u32 packets = netinc_rx_packets(rx), bytes = netinc_rx_bytes(rx);

	g->grp.counters[INC_C_RX_PACKETS] += packets;
	g->grp.counters[INC_C_RX_BYTES] += bytes;
	g->grp.counters[INC_C_RX_SKBS]++;
	g->grp.counters[INC_C_CONGESTED] += rx->ce;
	if (port && port->ifindex == rx->dev->ifindex)
		netinc_stats_add(port->stats, NETINC_PORT_RX_PACKETS, (u64[]){ packets, bytes, 1 },
				 3);
}

/* Apart from the rest for its buffer, which the compiler may clear at every call. */
static noinline bool control_rx(struct netinc_node_group *g, struct netinc_rx *rx, u64 now)
{
	u8 buf[NETINC_MAX_BODY] __aligned(8);
	u32 child = rx->pkt.child;
	const void *body;
	bool ended;
	int err;

	body = netinc_rx_body(rx, buf);
	if (!body)
		netinc_count(g->grp.counters, INC_C_DROP_MALFORMED);
	ended = netinc_group_ended(&g->grp, child);
	err = body ? netinc_group_control(&g->grp, &rx->pkt, body, now) : -INC_C_DROP_MALFORMED;
	if (!ended && g->grp.state == INC_GROUP_FAILED && netinc_group_ended(&g->grp, child))
		netinc_history_ended(g->nn, &g->grp);
	if (err)
		netinc_rx_dropped(rx, g->grp.cfg.id, -err);
	else
		rx->used = true;
	/* what follows one that asks too much may be other members' */
	return !err || err == -INC_C_DROP_WORK;
}

/* Who has not had READY does not know the incarnation: ABORT comes without it. */
static bool incarnation_fits(const struct netinc_node_group *g, const struct netinc_pkt *pkt)
{
	return pkt->incarnation == g->grp.cfg.incarnation ||
	       (!pkt->incarnation && pkt->type == INC_PKT_ABORT);
}

/*
 * May the tenant have this? Contributions are what he pays for, those of one buffer together,
 * whatever stands before them in it. While he has nothing left, a member that asks is answered now
 * and then, so that it knows that the node lives.
 */
static bool is_affordable(struct netinc_node_group *g, struct netinc_rx *rx, bool *paid, u64 now)
{
	bool congested, contribution = rx->pkt.type == INC_PKT_CONTRIB;
	int why;

	if (!g->tenant || *paid || rx->pkt.type == INC_PKT_ABORT)
		return true;
	if (contribution) {
		why = netinc_tenant_may_work(g->tenant, netinc_rx_bytes(rx), now, &congested);
		rx->ce |= congested;
		rx->pkt.ce = rx->ce;
		*paid = !why;
	} else {
		why = netinc_tenant_in_debt(g->tenant, now);
		if (why &&
		    netinc_group_rare_probe(&g->grp, rx->pkt.child, div_u64(now, NSEC_PER_USEC)))
			return true;
	}
	if (!why)
		return true;
	netinc_count(g->grp.counters, why);
	if (contribution)
		netinc_group_ignored(&g->grp, &rx->pkt);
	netinc_rx_dropped(rx, g->grp.cfg.id, why);
	return false;
}

/* One segment. False: what follows in this buffer is not looked at. */
static bool rx_one_segment(struct netinc_node_group *g, struct netinc_rx *rx, bool *paid,
			   u64 now_ns)
{
	struct netinc_pay pay = {
		.obj = rx->skb, .off = rx->body, .len = rx->pkt.len, .flags = rx->pkt.flags
	};
	u64 now = div_u64(now_ns, NSEC_PER_USEC);
	int err;

	err = netinc_group_check(&g->grp, &rx->pkt, &rx->peer, now);
	if (err) {
		netinc_rx_dropped(rx, g->grp.cfg.id, -err);
		return false;
	}
	/* only who is a member spends what the tenant has */
	if (unlikely(!is_affordable(g, rx, paid, now_ns)))
		return false;
	if (rx->pkt.type != INC_PKT_CONTRIB)
		return control_rx(g, rx, now);
	err = netinc_group_contrib(&g->grp, &rx->pkt, &pay, now);
	if (err)
		netinc_rx_dropped(rx, g->grp.cfg.id, -err);
	else
		rx->used = true;
	return true;
}

void netinc_node_group_rx(struct netinc_node_group *g, struct netinc_rx *rx)
{
	u64 begin = ktime_get_ns(), now_ns, now, spent;
	bool member = false, paid = false;
	u32 child, number;
	int got = 1;

	netinc_node_group_lock(g);
	/* for the engine time must not go back: who has had the lock looked later than `begin` */
	now_ns = ktime_get_ns();
	now = div_u64(now_ns, NSEC_PER_USEC);
	child = netinc_group_child(&g->grp, rx->pkt.child);
	if (g->dead || child == NETINC_NO_RANK) {
		netinc_net_count(g->nn, g->dead ? INC_C_DROP_NO_GROUP : INC_C_DROP_CHILD, 1);
		netinc_node_group_unlock(g);
		return;
	}
	netinc_fold_begin(g);
	netinc_group_buffer_begin(&g->grp);
	count_rx(g, rx, child);
	do {
		if (rx->pkt.group != g->grp.cfg.id || !incarnation_fits(g, &rx->pkt)) {
			netinc_count(g->grp.counters, INC_C_DROP_NO_GROUP);
			break;
		}
		/* aggregation may have put packets of several ranks of one host into one buffer */
		number = rx->pkt.child;
		if (member && netinc_group_child(&g->grp, number) != child && g->grp.running)
			netinc_agg_packet_end(&g->grp.agg, child, now);
		g->rx_left = DIV_ROUND_UP(rx->left, rx->seg_size) +
			     (rx->pkt.flags & INC_F_ZERO ? rx->pkt.span : 1);
		member = rx_one_segment(g, rx, &paid, now_ns);
		if (!member)
			break;
		child = rx->pkt.child;
		/* the next header is compared with this one as it was */
		rx->pkt.child = number;
	} while ((got = netinc_rx_next(rx)) > 0);
	if (got < 0) {
		netinc_count(g->grp.counters, -got);
		netinc_rx_dropped(rx, g->grp.cfg.id, -got);
	}
	if (member && g->grp.running)
		netinc_agg_packet_end(&g->grp.agg, child, now);
	netinc_fold_end(g);
	/* a call that is due waits for others that are */
	if (unlikely(g->grp.multicast.due) && !g->dead)
		timer_reduce(&g->timer, jiffies + msecs_to_jiffies(CALL_DELAY_MS));
	netinc_node_group_unlock(g);
	spent = ktime_get_ns() - begin;
	atomic64_add(spent, &g->unbooked);
	netinc_tenant_worked(g->tenant, spent);
}
