/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * inc-surfaces: what a program can ask of the module, at random: netlink.c sends requests, socket.c
 * makes system calls, in the processes of episode.c, packet.c plays members of groups that lie.
 * They compare the answers with what may be answered; that the kernel does not complain is for the
 * caller to see.
 */
#ifndef INC_SURFACES_H
#define INC_SURFACES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../spec.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif

struct plan {
	uint64_t seed;
	unsigned int seconds;
	unsigned int workers;	/* processes at once */
	uint64_t episode;	/* only this one of episode.c; 0: all */
	uint32_t parent;	/* the node's IPv4 address, network order */
	const char *keep;	/* this device becomes a node again now and then; NULL: none does */
	bool steady;		/* nobody changes the node meanwhile: what is begun must end */
	bool privileged;
	const char *liars;	/* packet.c: the network namespace of who lies */
	const char *honest;	/* and of those who do not, with commas between them */
	unsigned long least;	/* each kind of packet was sent as often */
	bool nodes;		/* some who lie say that they are one node, with ranks below */
};

/* Of all processes. */
struct runs {
	atomic_ulong episodes, killed;
	atomic_ulong longest;	/* ms */
};

/*
 * Plays episodes in plan->workers processes; @patience: ms until one that does not end hangs;
 * @kills: some are killed; @enough, if there is one: on a slow machine they go on for a while until
 * it is true. Returns the number of failures.
 */
int run_episodes(const struct plan *plan, const char *name, void (*episode)(uint64_t seed),
		 struct runs *runs, int64_t patience, bool kills, bool (*enough)(void));

/* They return the number of failures, which they have told on stderr. */
int fuzz_netlink(const struct plan *plan);
int fuzz_sockets(const struct plan *plan);
int fuzz_packets(const struct plan *plan);

/* AF_INC of this machine; ends the program if there is none. */
int socket_family(void);

int64_t now_ms(void);

#endif
