/* SPDX-License-Identifier: GPL-2.0-only */
/* What episode.c, the processes, and socket.c, their system calls, share. */
#ifndef INC_SURFACES_SOCKET_H
#define INC_SURFACES_SOCKET_H

#include <linux/inc_socket.h>
#include <stdatomic.h>

#include "surfaces.h"

enum kind {
	DID_CONNECT, DID_SUBMIT, DID_WAIT, DID_SUBMIT_WAIT, DID_INFO, DID_KEY, DID_RECV,
	DID_RIGHT, DID_DRAIN, DID_REGISTER, DID_UNREGISTER, DID_KINDS
};

/* Of all processes. */
struct tally {
	atomic_ulong calls, did[DID_KINDS];
	struct runs runs;
};

extern struct tally *tally;
extern const struct plan *plan;
extern int family;
extern uint64_t episode_seed;

/* Of one episode. */
extern int fds[2];
extern struct sockaddr_inc addrs[2];
extern unsigned int n_fds;
extern atomic_bool stop;

/* Ends the process, with what replays it. */
void die(const char *what, int error);
/* What a call returned: true if it was successful. */
bool did(enum kind kind, long ret);

void make_hostile(struct source *s);
void make_addr(struct source *s, struct sockaddr_inc *a, uint32_t group, uint32_t rank,
	       uint32_t size);
/* With an address in which something is wrong, or nothing. */
void call_connect(struct source *s, int fd, struct sockaddr_inc a);
/* A thread: calls at random; @arg: a seed, uint64_t. */
void *calls(void *arg);

#endif
