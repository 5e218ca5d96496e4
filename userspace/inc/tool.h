/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the tool share: objects and their commands, errors, and `key value` arguments.
 *
 * Exit status, as that of ip(8): 0 done, 1 the command line is wrong, 2 the kernel or the system
 * has refused, nobody has answered, or the answer is no.
 */
#ifndef INC_TOOL_H
#define INC_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "print.h"

#ifndef INC_TOOL_VERSION
#define INC_TOOL_VERSION "unknown"
#endif

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define EXIT_USAGE	1
#define EXIT_REFUSED	2

struct command {
	const char *name;
	/* what follows the command; returns the exit status */
	int (*run)(int argc, char **argv);
};

/* The command "show" is what an object does when none is named. */
struct object {
	const char *name;
	const struct command *commands;		/* ends with a NULL name; NULL: see `run` */
	int (*run)(int argc, char **argv);	/* of an object that has no commands */
	const char *usage;
	/* with -commands "show" prints commands that make what there is */
	bool restores;
};

extern const struct object object_node, object_parent, object_group, object_member, object_stats,
	object_port, object_caps, object_limits, object_tenant, object_qdisc, object_monitor,
	object_ping, object_run, object_save, object_topo, object_why, object_metrics,
	object_plan, object_tune;

/* Options before the object. */
struct options {
	unsigned int stats;	/* times -s */
	bool timestamp;
	bool commands;		/* -commands */
	const char *netns;	/* of -n, or NULL */
};

extern struct options options;

/* What the commands lack that were printed, or have in a comment only: bits. */
enum {
	LEFT_OUT_KEY = 1,	/* "key ?" instead of a key */
	LEFT_OUT_DEV = 2,	/* what names an interface that is gone */
	LEFT_OUT_USERS = 4,	/* limits of users, where somebody may have set them */
	LEFT_OUT_QDISC = 8,	/* a qdisc below one of another kind */
};

extern unsigned int left_out;
/* Makes a comment of the command that follows, which names an interface that is gone. */
void out_gone(uint32_t ifindex);

/* "inc: OBJECT COMMAND: text" on stderr; they return the exit status. */
extern char error_context[64];	/* "OBJECT COMMAND: " */
int usage_error(const char *fmt, ...) __printf(1, 2);
int refused(const char *fmt, ...) __printf(1, 2);

/* "OBJECT COMMAND key value..." as words. Returns the exit status. */
int run_command(int argc, char **argv);
/*
 * The next line of @file to @line, which has BATCH_LINE bytes, without its end. False: there is no
 * more (*@err is 0), or no text, of which the error has been printed.
 */
#define BATCH_LINE	65536
bool batch_next(FILE *file, char *line, int *err);
/* The words of a line, which is written to, as those of a command. */
int batch_line(char *line, int (*run)(int argc, char **argv));
/*
 * The lines of @path ("-": stdin) as commands, until one fails, or with @force all. Returns the
 * exit status of the first one that has failed.
 */
int batch(const char *path, bool force, int (*run)(int argc, char **argv));

enum arg_kind {
	ARG_NUM,	/* min..max */
	ARG_NUM_OR_0,	/* 0 or min..max */
	ARG_POW2,	/* a power of two in min..max */
	ARG_BYTES,	/* min..max, with K, M or G behind it */
	ARG_TIME,	/* min..max microseconds, with us, ms or s behind it */
	ARG_RATE,	/* min..max, with bit, kbit, mbit or gbit behind it; `words`: 0 */
	ARG_DEV,	/* name of an interface */
	ARG_KEY,	/* 32 hex digits, @FILE with them, or "none": `key_bytes` */
	ARG_ADDRS,	/* at most `max` addresses, with commas between them */
	/* the same, with %DEV behind link-local ones; or "none" */
	ARG_PEERS,
	ARG_WORD,	/* one of `words`, its index in `num` */
	ARG_TEXT,	/* whatever the command makes of it */
};

/* An IPv4 or IPv6 address. */
struct addr {
	unsigned char bytes[16];
	int len;		/* 4, 16 */
	uint32_t ifindex;	/* of a link-local one, if it was named with it; else 0 */
};

struct arg {
	const char *key;
	enum arg_kind kind;
	uint64_t min, max;
	const char *const *words;	/* ARG_WORD, ARG_RATE: ends with NULL */
	/* out */
	bool given;
	uint64_t num;
	const char *text;
	unsigned char key_bytes[16];	/* of an ARG_KEY; zeros for "none" */
};

/* @args ends with a NULL key. Returns 0 or, with the error printed, EXIT_USAGE. */
int args_parse(struct arg *args, int argc, char **argv);
struct arg *arg_find(struct arg *args, const char *key);
int args_none(int argc, char **argv);
int parse_value(struct arg *arg, const char *text);
/* 0 if @len characters at @text are an address. */
int addr_parse(const char *text, size_t len, struct addr *addr);
/*
 * A network, 10.1.0.0/16, or an address of a host, as @key. @other: what may stand there instead,
 * for the error. 0, or what usage_error() returns.
 */
int prefix_parse(const char *key, const char *other, const char *word, struct addr *addr,
		 unsigned long *bits);
/*
 * An address, also fe80::1%eth0, or the addresses of the host of this name (getaddrinfo(3)), at
 * most @max, in the order of the resolver. 0, or what usage_error() or refused() return.
 */
int addrs_find(const char *text, struct addr *addrs, size_t max, size_t *n);
bool addr_link_local(const struct addr *addr);
/* Can a host have it? */
bool addr_unicast(const struct addr *addr);
bool addr_loopback(const struct addr *addr);
/* Asks as `inc ping` does, once, and says nothing of it; @ifindex: of a link-local address. */
bool node_answers(const struct addr *addr, uint16_t port, uint32_t ifindex);
/* The addresses of an ARG_ADDRS that was given; returns how many. */
size_t arg_addrs(const struct arg *arg, struct addr *addrs, size_t max);
/* Those of an ARG_PEERS; "none" is one address of zeros. */
size_t arg_peers(const struct arg *arg, struct addr *addrs, size_t max);

#endif
