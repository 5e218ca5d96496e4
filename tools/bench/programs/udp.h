/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The baseline: sums made by an ordinary program on the node, over ordinary UDP sockets
 * (udp_server.c), as a parameter server does it. Blocks are numbered through the life of the job; a
 * rank has at most UDP_WINDOW of them under way, in order, so that the server's slot for a block is
 * free when block + UDP_SLOTS comes. The server answers what it has completed again; a rank that
 * hears nothing for UDP_RESEND_MS sends again.
 */
#ifndef BENCH_UDP_H
#define BENCH_UDP_H

#include <stdint.h>

#define UDP_PORT	48600
#define UDP_ELEMENTS	360	/* f32, in a packet of 1500 bytes */
#define UDP_WINDOW	256
#define UDP_SLOTS	(2 * UDP_WINDOW)
#define UDP_BATCH	64	/* packets per system call */
#define UDP_MAX_RANKS	64
#define UDP_RESEND_MS	20

/* Of little-endian fields; both ends are one machine. */
struct udp_packet {
	uint64_t block;
	uint16_t rank, size;
	uint32_t count;		/* elements */
	float data[UDP_ELEMENTS];
};

#define UDP_HEADER	16

#endif
