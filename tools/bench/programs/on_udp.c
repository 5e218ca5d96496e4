// SPDX-License-Identifier: GPL-2.0-only
/* The benchmark through a user-space aggregator: see udp.h. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "bench.h"
#include "udp.h"

static int fd, rank, size;
static uint64_t first;		/* the next operation's first block */
static bool have[UDP_SLOTS];
static struct udp_packet in[UDP_BATCH], out_header[UDP_BATCH];

static void join(struct bench_place *place)
{
	struct sockaddr_in node = { .sin_family = AF_INET, .sin_port = htons(UDP_PORT) };
	struct timeval timeout = { .tv_usec = 1000 * UDP_RESEND_MS };
	int bytes = 16 << 20;

	if (!place->parent || inet_pton(AF_INET, place->parent, &node.sin_addr) != 1)
		errx(2, "--parent: expected an IPv4 address");
	if (place->size > UDP_MAX_RANKS)
		errx(2, "--size %d: expected %d at most", place->size, UDP_MAX_RANKS);
	rank = place->rank;
	size = place->size;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&node, sizeof(node)))
		err(1, "%s", place->parent);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
}

static unsigned int elements(size_t count, uint64_t block)
{
	size_t left = count - (block - first) * UDP_ELEMENTS;

	return left < UDP_ELEMENTS ? left : UDP_ELEMENTS;
}

/* Sends blocks from..to-1, but those whose result is here. */
static void send_blocks(const float *send, size_t count, uint64_t from, uint64_t to)
{
	struct mmsghdr msgs[UDP_BATCH] = { 0 };
	struct iovec iov[UDP_BATCH][2];
	unsigned int n;

	while (from < to) {
		for (n = 0; n < UDP_BATCH && from < to; from++) {
			if (have[from % UDP_SLOTS])
				continue;
			out_header[n].block = from;
			out_header[n].rank = rank;
			out_header[n].size = size;
			out_header[n].count = elements(count, from);
			iov[n][0] = (struct iovec){ &out_header[n], UDP_HEADER };
			iov[n][1].iov_base = (void *)(send + (from - first) * UDP_ELEMENTS);
			iov[n][1].iov_len = 4 * out_header[n].count;
			msgs[n].msg_hdr = (struct msghdr){ .msg_iov = iov[n], .msg_iovlen = 2 };
			n++;
		}
		sendmmsg(fd, msgs, n, 0);	/* what is not sent counts as lost */
	}
}

static void allreduce(const float *send, float *recv, size_t count)
{
	uint64_t base = first, next = first,
		 end = first + (count + UDP_ELEMENTS - 1) / UDP_ELEMENTS;
	struct mmsghdr msgs[UDP_BATCH] = { 0 };
	struct iovec iov[UDP_BATCH];
	uint64_t to;
	int n;

	for (int i = 0; i < UDP_BATCH; i++) {
		iov[i] = (struct iovec){ &in[i], sizeof(in[i]) };
		msgs[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
	}
	while (base < end) {
		to = base + UDP_WINDOW < end ? base + UDP_WINDOW : end;
		send_blocks(send, count, next, to);
		next = to;
		n = recvmmsg(fd, msgs, UDP_BATCH, MSG_WAITFORONE, NULL);
		if (n < 0 && errno == EAGAIN)
			send_blocks(send, count, base, next);
		for (int i = 0; i < n; i++) {
			if (in[i].block < base || in[i].block >= next ||
			    have[in[i].block % UDP_SLOTS])
				continue;
			have[in[i].block % UDP_SLOTS] = true;
			memcpy(recv + (in[i].block - first) * UDP_ELEMENTS, in[i].data,
			       4 * elements(count, in[i].block));
		}
		for (; base < next && have[base % UDP_SLOTS]; base++)
			have[base % UDP_SLOTS] = false;
	}
	first = end;
}

static void barrier(void)
{
	float one = 1, sum;

	allreduce(&one, &sum, 1);
}

static void stop(void)
{
	barrier();
}

const struct bench_library library = { "udp", NULL, join, allreduce, barrier, NULL, NULL, stop };
