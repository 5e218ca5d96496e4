// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions that the parts of the engine share: errors and addresses on the wire, the proof in a
 * JOIN.
 */
#include "engine.h"

void netinc_error_build(struct inc_error_pkt *w, const struct netinc_error *e)
{
	memset(w, 0, sizeof(*w));
	w->block = cpu_to_be64(e->block);
	w->opseq = cpu_to_be32(e->opseq);
	w->resume = cpu_to_be32(e->resume);
	w->code = cpu_to_be16(e->code);
	w->rank[0] = cpu_to_be32(e->rank[0]);
	w->rank[1] = cpu_to_be32(e->rank[1]);
	w->desc[0] = e->desc[0];
	w->desc[1] = e->desc[1];
}

void netinc_error_parse(const struct inc_error_pkt *w, struct netinc_error *e)
{
	e->block = be64_to_cpu(w->block);
	e->opseq = be32_to_cpu(w->opseq);
	e->resume = be32_to_cpu(w->resume);
	e->code = be16_to_cpu(w->code);
	e->rank[0] = be32_to_cpu(w->rank[0]);
	e->rank[1] = be32_to_cpu(w->rank[1]);
	e->desc[0] = w->desc[0];
	e->desc[1] = w->desc[1];
}

void netinc_addr_build(struct inc_addr *w, const struct netinc_peer *peer)
{
	memset(w, 0, sizeof(*w));
	if (!peer->family)
		return;
	memcpy(w->addr, peer->addr, sizeof(w->addr));
	w->family = cpu_to_be16(peer->family == NETINC_AF_INET ? 4 : 6);
	w->port = peer->udp_port;
}

void netinc_addr_parse(const struct inc_addr *w, struct netinc_peer *peer)
{
	u16 family = be16_to_cpu(w->family);

	memset(peer, 0, sizeof(*peer));
	if (family != 4 && family != 6)
		return;
	memcpy(peer->addr, w->addr, family == 4 ? 4 : sizeof(peer->addr));
	peer->family = family == 4 ? NETINC_AF_INET : NETINC_AF_INET6;
	peer->udp_port = w->port;
}

static bool is_host4(const u8 *addr)
{
	return addr[0] && addr[0] < 224;
}

static bool is_host6(const u8 *addr)
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };
	u32 i;

	for (i = 0; i < 15 && !addr[i]; i++)
		;
	/* the unspecified address, multicast, IPv4 in disguise */
	return (i < 15 || addr[15]) && addr[0] != 0xff && memcmp(addr, mapped, sizeof(mapped));
}

bool netinc_peer_is_host(const struct netinc_peer *peer)
{
	if (!peer->udp_port)
		return false;
	if (peer->family == NETINC_AF_INET)
		return is_host4(peer->addr);
	return peer->family == NETINC_AF_INET6 && is_host6(peer->addr);
}

static bool is_loopback(const struct netinc_peer *peer)
{
	static const u8 loopback[16] = { [15] = 1 };

	if (peer->family == NETINC_AF_INET)
		return peer->addr[0] == 127;
	return !memcmp(peer->addr, loopback, sizeof(loopback));
}

bool netinc_peer_is_place(const struct netinc_peer *peer, const struct netinc_peer *near)
{
	return netinc_peer_is_host(peer) && (!is_loopback(peer) || is_loopback(near));
}

bool netinc_peer_is_far(const struct netinc_peer *peer)
{
	const u8 *a = peer->addr;

	if (!netinc_peer_is_host(peer) || is_loopback(peer))
		return false;
	if (peer->family == NETINC_AF_INET)
		return a[0] != 169 || a[1] != 254;
	return a[0] != 0xfe || (a[1] & 0xc0) != 0x80;
}

bool netinc_peer_is_multicast(const struct netinc_peer *peer)
{
	const u8 *a = peer->addr;

	if (peer->family != NETINC_AF_INET || !peer->udp_port)
		return false;
	return a[0] >= 224 && a[0] < 240 && a[0] != 232 && (a[0] != 224 || a[1] || a[2]);
}

void netinc_join_add_kinds(struct inc_join *join, struct netinc_kinds lacks,
			   struct netinc_kinds asks)
{
	const struct inc_join_kinds kinds = { .lacks = netinc_kinds_build(lacks),
					      .asks = netinc_kinds_build(asks) };

	if (!netinc_kinds_any(netinc_kinds_or(lacks, asks)))
		return;
	memcpy((u8 *)join->ranks + netinc_join_node_bytes(join), &kinds, sizeof(kinds));
	join->flags |= INC_JOIN_KINDS;
}

void netinc_join_proof(const u8 *key, u32 group, u32 rank, const struct inc_join *join,
		       __be64 proof[2])
{
	struct {
		__be32 group;
		__be32 rank;
		u8 body[offsetof(struct inc_join, proof)];
		u8 tail[NETINC_JOIN_TAIL];
	} m = { .group = cpu_to_be32(group), .rank = cpu_to_be32(rank) };
	u32 bytes = netinc_join_tail_bytes(join);
	size_t len = offsetof(typeof(m), tail) + bytes;
	__be64 half[2];
	u64 k[2];
	int i;

	memcpy(m.body, join, sizeof(m.body));
	memcpy(m.tail, join->ranks, bytes);
	memcpy(half, key, sizeof(half));
	k[0] = be64_to_cpu(half[0]);
	k[1] = be64_to_cpu(half[1]);
	for (i = 0; i < 2; i++) {
		proof[i] = cpu_to_be64(netinc_siphash(&m, len, k));
		k[1] = ~k[1];
	}
}
