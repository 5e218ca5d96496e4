// SPDX-License-Identifier: GPL-2.0-only
/* The server of the UDP baseline (udp.h): udp-server ADDRESS. It runs until it is killed. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "udp.h"

struct slot {
	uint64_t have;		/* a bit per rank */
	bool complete;
	struct udp_packet packet;
};

static struct slot slots[UDP_SLOTS];
static struct sockaddr_in peers[UDP_MAX_RANKS];
static struct udp_packet in[UDP_BATCH];
static int fd;

static struct mmsghdr out[UDP_BATCH];
static struct iovec out_iov[UDP_BATCH];
static unsigned int queued;

static void flush(void)
{
	unsigned int sent = 0;
	int n;

	while (sent < queued) {
		n = sendmmsg(fd, out + sent, queued - sent, 0);
		if (n <= 0)
			break;	/* as if it was lost */
		sent += n;
	}
	queued = 0;
}

static void queue(struct udp_packet *packet, int rank)
{
	if (queued == UDP_BATCH)
		flush();
	out_iov[queued] = (struct iovec){ packet, UDP_HEADER + 4 * packet->count };
	out[queued].msg_hdr = (struct msghdr){
		.msg_name = &peers[rank],
		.msg_namelen = sizeof(peers[rank]),
		.msg_iov = &out_iov[queued],
		.msg_iovlen = 1,
	};
	queued++;
}

static void add(float *restrict sum, const float *restrict data, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		sum[i] += data[i];
}

static void contribution(const struct udp_packet *p, const struct sockaddr_in *from)
{
	struct slot *slot = &slots[p->block % UDP_SLOTS];
	uint64_t all = p->size == 64 ? ~0ULL : (1ULL << p->size) - 1;

	peers[p->rank] = *from;
	if (slot->packet.block != p->block || !slot->have) {
		if (slot->have && (p->block < slot->packet.block || !slot->complete))
			return;
		slot->have = 0;
		slot->complete = false;
		memcpy(&slot->packet, p, UDP_HEADER + 4 * p->count);
	} else if (!(slot->have >> p->rank & 1)) {
		add(slot->packet.data, p->data, p->count);
	} else {
		if (slot->complete)
			queue(&slot->packet, p->rank);
		return;
	}
	slot->have |= 1ULL << p->rank;
	if (slot->have != all)
		return;
	slot->complete = true;
	for (int rank = 0; rank < p->size; rank++)
		queue(&slot->packet, rank);
}

int main(int argc, char **argv)
{
	struct sockaddr_in self = { .sin_family = AF_INET, .sin_port = htons(UDP_PORT) },
			   from[UDP_BATCH];
	struct mmsghdr msgs[UDP_BATCH] = { 0 };
	struct iovec iov[UDP_BATCH];
	int size = 64 << 20, n;

	if (argc != 2 || inet_pton(AF_INET, argv[1], &self.sin_addr) != 1)
		errx(2, "usage: udp-server ADDRESS");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&self, sizeof(self)))
		err(1, "%s port %d", argv[1], UDP_PORT);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	for (;;) {
		for (int i = 0; i < UDP_BATCH; i++) {
			iov[i] = (struct iovec){ &in[i], sizeof(in[i]) };
			msgs[i].msg_hdr = (struct msghdr){
				.msg_name = &from[i],
				.msg_namelen = sizeof(from[i]),
				.msg_iov = &iov[i],
				.msg_iovlen = 1,
			};
		}
		n = recvmmsg(fd, msgs, UDP_BATCH, MSG_WAITFORONE, NULL);
		for (int i = 0; i < n; i++) {
			if (msgs[i].msg_len < UDP_HEADER || in[i].count > UDP_ELEMENTS ||
			    in[i].size > UDP_MAX_RANKS || in[i].rank >= in[i].size ||
			    msgs[i].msg_len != UDP_HEADER + 4 * in[i].count)
				continue;
			contribution(&in[i], &from[i]);
		}
		flush();
	}
}
