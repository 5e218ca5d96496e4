// SPDX-License-Identifier: GPL-2.0-only
/* Frames and super-packets of one host, with any addresses. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "packet.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

static int tap;

__be32 host_addr(u32 host)
{
	return htonl(0x0a070000 + host);
}

static void give_up(const char *what)
{
	perror(what);
	_exit(1);
}

void frames_open(void)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_ALL),
				  .sll_ifindex = (int)if_nametoindex("eth0") };
	int size = 1 << 23;

	tap = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
	if (tap < 0 || bind(tap, (struct sockaddr *)&at, sizeof(at)))
		give_up("packet: AF_PACKET");
	setsockopt(tap, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
}

static u32 add_up(u32 sum, const void *data, u32 len)
{
	const u8 *p = data;

	for (; len > 1; len -= 2, p += 2)
		sum += (u32)p[0] << 8 | p[1];
	return len ? sum + ((u32)*p << 8) : sum;
}

static __be16 folded(u32 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((u16)~sum);
}

/* As lib.sh gives them. */
static void make_ether(u8 *frame, u32 host, __be16 type)
{
	static const u8 all[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	u8 mac[6] = { 2, 0, 0, 0, 7, 0 };

	mac[5] = (u8)host;
	memcpy(frame, host == 255 ? all : mac, 6);
	mac[5] = (u8)my_host;
	memcpy(frame + 6, mac, 6);
	memcpy(frame + 12, &type, 2);
}

static void make_udp(struct udphdr *uh, const void *data, u32 len, u32 pseudo)
{
	*uh = (struct udphdr){ .source = htons(INC_PORT),
			       .dest = htons(INC_PORT),
			       .len = htons((u16)(sizeof(*uh) + len)) };
	pseudo += IPPROTO_UDP + sizeof(*uh) + len;
	uh->check = folded(add_up(add_up(pseudo, uh, sizeof(*uh)), data, len)) ?: 0xffff;
	memcpy(uh + 1, data, len);
}

void frame_send(__be32 src, __be32 dst, u32 host, const void *data, u32 len)
{
	u8 frame[ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr) + MAX_UNIT];
	struct iphdr ip = { .version = 4,
			    .ihl = 5,
			    .ttl = 64,
			    .protocol = IPPROTO_UDP,
			    .saddr = src,
			    .daddr = dst };
	u32 size = sizeof(ip) + sizeof(struct udphdr) + len;

	make_ether(frame, host, htons(ETHERTYPE_IP));
	ip.tot_len = htons((u16)size);
	ip.check = folded(add_up(0, &ip, sizeof(ip)));
	memcpy(frame + ETH_HLEN, &ip, sizeof(ip));
	make_udp((struct udphdr *)(frame + ETH_HLEN + sizeof(ip)), data, len,
		 add_up(add_up(0, &src, 4), &dst, 4));
	/* one that does not leave is a lost packet */
	if (send(tap, frame, ETH_HLEN + size, 0) < 0 && errno != ENOBUFS && errno != EMSGSIZE &&
	    errno != EAGAIN)
		give_up("packet: send");
}

void frame_send6(const struct in6_addr *src, const struct in6_addr *dst, u32 host, const void *data,
		 u32 len)
{
	u8 frame[ETH_HLEN + sizeof(struct ip6_hdr) + sizeof(struct udphdr) + MAX_UNIT];
	struct ip6_hdr ip = { .ip6_src = *src, .ip6_dst = *dst };
	u32 size = sizeof(struct udphdr) + len;

	make_ether(frame, host, htons(ETHERTYPE_IPV6));
	ip.ip6_flow = htonl(6u << 28);
	ip.ip6_plen = htons((u16)size);
	ip.ip6_nxt = IPPROTO_UDP;
	ip.ip6_hlim = 64;
	memcpy(frame + ETH_HLEN, &ip, sizeof(ip));
	make_udp((struct udphdr *)(frame + ETH_HLEN + sizeof(ip)), data, len,
		 add_up(add_up(0, src, 16), dst, 16));
	if (send(tap, frame, ETH_HLEN + sizeof(ip) + size, 0) < 0 && errno != ENOBUFS &&
	    errno != EMSGSIZE && errno != EAGAIN)
		give_up("packet: send");
}

void frame_send_super(u32 src_host, u32 dst_host, const void *data, u32 len, u32 size)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = host_addr(src_host) };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(INC_PORT),
				  .sin_addr.s_addr = host_addr(dst_host) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), on = 1, segment = (int)size;

	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)))
		give_up("packet: UDP_SEGMENT");
	if (sendto(fd, data, len, 0, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != ENOBUFS &&
	    errno != EAGAIN && errno != ECONNREFUSED)
		give_up("packet: sendto");
	close(fd);
}

u32 frame_receive(void *data, u32 size, bool *outgoing)
{
	struct sockaddr_ll from;
	u8 frame[65600];
	socklen_t len;
	ssize_t got;
	u32 at;

	for (;;) {
		len = sizeof(from);
		got = recvfrom(tap, frame, sizeof(frame), 0, (struct sockaddr *)&from, &len);
		if (got < 0)
			return 0;
		at = ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr);
		if (got < (ssize_t)(at + sizeof(struct inc_hdr)) ||
		    from.sll_protocol != htons(ETH_P_IP) || frame[ETH_HLEN + 9] != IPPROTO_UDP ||
		    ((frame[at - 6] << 8 | frame[at - 5]) != INC_PORT &&
		     (frame[at - 8] << 8 | frame[at - 7]) != INC_PORT))
			continue;
		*outgoing = from.sll_pkttype == PACKET_OUTGOING;
		memcpy(data, frame + at, min((u32)got - at, size));
		return min((u32)got - at, size);
	}
}
