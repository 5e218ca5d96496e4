/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * inc-surfaces: what a program can ask of the module, at random: netlink.c sends requests, socket.c makes system calls,
 * in the processes of episode.c. They compare the answers with what may be answered; that the kernel does not complain
 * is for the caller to see.
 */
#ifndef INC_SURFACES_H
#define INC_SURFACES_H

#include <stdbool.h>
#include <stdint.h>

#include "../spec.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

struct plan {
	uint64_t seed;
	unsigned int seconds;
	unsigned int workers;	/* processes at once */
	uint64_t episode;	/* only this one of episode.c; 0: all */
	uint32_t parent;	/* the node's IPv4 address, network order */
	const char *keep;	/* this device becomes a node again now and then; NULL: none does */
	bool steady;		/* nobody changes the node meanwhile: what is begun must end */
	bool privileged;
};

/* Both return the number of failures, which they have told on stderr. */
int fuzz_netlink(const struct plan *plan);
int fuzz_sockets(const struct plan *plan);

/* AF_INC of this machine; ends the program if there is none. */
int socket_family(void);

int64_t now_ms(void);

#endif
