/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of libinc share. */
#ifndef LIBINC_INTERNAL_H
#define LIBINC_INTERNAL_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/types.h>

#include "inc.h"

#define __printf(fmt, args) __attribute__((__format__(__printf__, fmt, args)))

#define ERRMSG_LEN 512
#define OP_LEN 160		/* of inc_format_op() */
#define INC_VERSION "0.1.0"

#define INC_MAX_PLACES 8	/* addresses of a parent's name that are tried */

/* An address of a parent. */
struct inc_place {
	uint16_t family;
	uint32_t scope;			/* interface of a link-local one, else 0 */
	uint8_t addr[16];
};

/* Whom to join, as its caller and the environment say it. */
struct inc_target {
	struct sockaddr_inc addr;	/* all but the family; with the first place */
	uint8_t key[INC_KEY_LEN];	/* zeros: none */
	struct inc_reduces reduces;	/* what nodes have to; 0: nothing */
	struct inc_place places[INC_MAX_PLACES];	/* those of a name */
	unsigned int nplaces;
};

struct inc_group {
	int fd;
	bool joined;		/* inc_join_poll() sets it: callers see to it that it comes first */
	bool shrinks;			/* it is the join of inc_shrink() */
	int timeout_ms;			/* of blocking operations, 0: none; atomic */
	pid_t pid;			/* who has joined, and how often that had forked by then */
	unsigned int forks;
	bool closes;			/* children do not get the socket: in a list of join.c */
	struct inc_group *next;
	struct sockaddr_inc addr;	/* as given to connect(); rank and size are those of now */
	bool by_default;		/* its parent is what the netns had when it was joined */
	uint8_t key[INC_KEY_LEN];	/* as given to setsockopt(), for inc_split(); zeros: none */
	struct inc_reduces reduces;	/* likewise; 0: nothing */
	struct inc_place places[INC_MAX_PLACES];	/* of a parent that was given by its name */
	unsigned int nplaces, place;	/* place: which of them is tried, or was joined */
	unsigned int index;		/* which stripe it is, of a striped group */
	pthread_mutex_t lock;		/* of errmsg */
	char errmsg[ERRMSG_LEN];
	pthread_mutex_t memory;		/* of what follows */
	struct inc_region *regions;	/* what inc_register() has registered */
	size_t nregions;		/* atomic to look whether there are any */
	struct inc_striped_region *striped_regions;	/* of a striped group, instead */
	size_t nstriped_regions;

	/* A striped group: its stripes are groups of their own, and `fd` is an epoll descriptor. */
	unsigned int nstripes;		/* 0: it is not striped */
	struct inc_group *stripe[INC_MAX_STRIPES];
	/* of what follows; held while parts are submitted, so that all stripes have one order */
	pthread_mutex_t order;
	unsigned int turn;		/* counts operations: whose turn it is */
	unsigned int cancels;		/* calls that end its stripes; atomic */
	uint64_t last_handle;
	struct inc_parts *parts;	/* of all its requests, a list */
	struct inc_partial_result *partials;	/* the last ones, a ring; NULL: none yet */
	unsigned int npartials;
	int under_way;			/* operations; atomic */
	struct inc_reduces lacks;	/* what a node of any stripe does not reduce */
};

/* Of a request of a striped group: an operation in each stripe that takes part. */
struct inc_parts {
	struct inc_parts *next, *prev;
	bool cut;			/* each stripe has a part, else one of them has all */
	bool failed;
	unsigned int started, active;	/* bit i: part i has begun; and goes on */
	unsigned int worst;		/* with `failed`: the part that says why */
	struct inc_request part[INC_MAX_STRIPES];
};

/* Memory that is registered. */
struct inc_region {
	uint64_t addr, len;
	unsigned int process;		/* whose it is: inc_process() */
	uint32_t id;
	bool write;
};

/* What the module says of itself through generic netlink. */
struct inc_caps {
	int family;
	char type[16], op[16];		/* in: a reduction kernel to look for */
	char variant[32];		/* out: the one that is in use; "" if there is none */
};

/* What connect() would use. */
struct inc_parent_addr {
	uint16_t family, port;		/* port in host order */
	uint8_t addr[16];
};

/* Of what a collective has one per rank or in total, whose it is. */
enum inc_whose { INC_NOBODY, INC_ALL, INC_ROOT, INC_OTHERS };

/* What a collective is to the caller: the table of inc.h. */
struct inc_shape {
	bool submit;			/* applications may ask for it */
	bool reduces;			/* has an operation */
	bool rooted;
	bool moves;			/* has elements: a type, a count, buffers */
	enum inc_whose send, recv;	/* who must give this buffer */
	bool send_shares, recv_shares;	/* it holds one share per rank, not one */
	enum inc_whose in_place;
	enum inc_whose send_counts, recv_counts;	/* with INC_MODE_COUNTS */
	bool displs;			/* and displacements with them */
};

/* shape.c */
const struct inc_shape *inc_shape(unsigned int coll);
bool inc_applies(enum inc_whose whose, bool root);
bool inc_meaningful(const struct inc_submit *op);
/* Would nodes have to reduce what one of them lacks? */
bool inc_is_lacking(const struct inc_submit *op, const struct inc_reduces *lacks);
void inc_why_unsupported(char *buf, size_t len, const struct inc_submit *op,
			 const struct inc_info *info);

/* args.c */
int inc_fill(struct inc_group *group, struct inc_submit *op, const struct inc_args *args);
/* What of it the kernel has refused with -EINVAL. False: nothing that is looked at here. */
bool inc_why_invalid(struct inc_group *group, char *buf, size_t len, const struct inc_submit *op);
/* Bytes from the beginning of @op's buffers on that belong to it; inc_fill() has filled it in. */
void inc_extents(struct inc_group *group, const struct inc_submit *op, const struct inc_args *args,
		 uint64_t *send, uint64_t *recv);

/* memory.c */
/* Names the registered memory that the buffers begin in. @awaited: who submits it waits for it. */
void inc_memory_find(struct inc_group *group, struct inc_submit *op, bool awaited);
/* Registers the buffers of a prepared operation, so many bytes, as far as that can be done. */
void inc_memory_keep(struct inc_request *req, uint64_t send, uint64_t recv);

/* format.c */
__printf(3, 4) void inc_append(char *buf, size_t len, const char *fmt, ...);
/* To the end of the text that is in @buf: "bf16, prod". */
void inc_format_reduces(char *buf, size_t len, const struct inc_reduces *r);
void inc_format_op(char *buf, size_t len, const struct inc_submit *op);
void inc_format_error(char *buf, size_t len, const struct inc_error_info *error);
/*
 * The same without the operation's number, to the end of the text that is in @buf. @opseq: NULL, or
 * which operation of its rank each side's is.
 */
void inc_append_cause(char *buf, size_t len, const struct inc_error_info *error,
		      const uint32_t *opseq);

/* key.c */
/* False: it is not 32 hex digits. */
bool inc_key_hex(uint8_t *key, const char *hex);
/* To the kernel that is no key. */
bool inc_key_zero(const uint8_t *key);
/* The key in a file that only its owner, root or this user, may read. 0, or -errno and @why. */
int inc_key_read(uint8_t *key, const char *path, char *why, size_t len);

/* text.c */
__printf(3, 4) int inc_fail(struct inc_group *group, int err, const char *fmt, ...);
void inc_format_parent(char *buf, size_t len, unsigned int family, const void *addr,
		       unsigned int port);

/* 0, or -EINVAL and the text: the caller's limit is neither a time nor -1. */
int inc_check_timeout(struct inc_group *group, int timeout_ms);

/* -EINVAL for a call that was given no group, or something else that must not be NULL. */
int inc_null(struct inc_group *group, const char *what);

/* join.c */
int64_t inc_now_ms(void);
/* How many forks lie between the first process and this one: no child has its parent's number. */
unsigned int inc_process(void);
int inc_left_ms(int64_t deadline);
/*
 * Starts to join what @to says. @launched: without a node the ranks may meet where the launcher
 * says. On failure the text is the thread's.
 */
int inc_join_target(struct inc_group **out, const struct inc_target *to, bool launched);
struct inc_group *inc_group_alloc(const struct inc_target *to, int fd);
void inc_group_free(struct inc_group *group);
/* Turns what connect() said into a text; @err is negative. */
int inc_join_failed(struct inc_group *group, int err);
/* connect() of a socket whose group has failed; 0: it is under way, or done. */
int inc_shrink_start(struct inc_group *group);
/* What the kernel knows of the rank, zeros where it is an older one; 0 or -errno, no text. */
int inc_ask_info(const struct inc_group *group, struct inc_info *info);

/* stripe.c */
/* Likewise of @n stripes, of a group that is not striped if that is 1. */
int inc_join_targets(struct inc_group **out, const struct inc_target *to, unsigned int n,
		     bool launched);
/* The text of a stripe becomes the group's. */
int inc_stripe_failed(struct inc_group *group, const struct inc_group *stripe, int err);
bool inc_stripe_is_over(const struct inc_group *stripe);
/* What the functions of inc.h do for striped groups. */
int inc_stripes_join_poll(struct inc_group *group, int64_t deadline, bool look);
int inc_stripes_info(const struct inc_group *group, struct inc_info *info);
int inc_stripes_cancel(struct inc_group *group);
int inc_stripes_register(struct inc_group *group, const void *addr, uint64_t len, uint32_t flags,
			 uint32_t *id);
int inc_stripes_unregister(struct inc_group *group, uint32_t id);
void inc_stripes_free(struct inc_group *group);

/* stripe_ops.c: requests of striped groups, which have parts */
int inc_parts_make(struct inc_request *req);
void inc_parts_drop(struct inc_request *req);
void inc_parts_keep(struct inc_request *req, uint64_t send, uint64_t recv);
void inc_parts_release(struct inc_request *req);
int inc_parts_start(struct inc_request *req);
/* The result, or -EAGAIN (@look), -ETIMEDOUT: it goes on. */
int inc_parts_wait(struct inc_request *req, int64_t deadline, bool look);
/* @handle 0: of the last one that was partial. */
int inc_parts_contributed(struct inc_group *group, uint64_t handle, uint32_t *ranks, size_t words);
/* The group has shrunk: what was under way has ended. */

/* ops.c */
/* The text of inc_contributed(); @handle 0: of the last one that was partial. */
int inc_contributed_failed(struct inc_group *group, int err, uint64_t handle);
/* The request ends as its completion says; returns its result. */
int inc_request_complete(struct inc_request *req, const struct inc_completion *done);
/* inc_wait() until @deadline (< 0: none), which the caller has given as @timeout_ms. */
int inc_wait_within(struct inc_request *req, int64_t deadline, int timeout_ms);
/* Until the operation has ended, or @deadline (< 0: none) has passed, which is no failure. */
void inc_wait_until(struct inc_request *req, int64_t deadline);

/* family.c */
int inc_caps_get(struct inc_caps *caps);
int inc_parent_get(struct inc_parent_addr *parent);
void inc_family_forget(void);

/* opts.c */
/* The value of INC_JOB. */
uint64_t inc_parse_job(const char *text);
/* One target for each stripe; returns how many. */
int inc_parse_stripes(struct inc_target to[INC_MAX_STRIPES], const struct inc_join_opts *opts);
void inc_set_place(struct sockaddr_inc *addr, const struct inc_place *place);
bool inc_meet_at_master(struct sockaddr_inc *addr);

#endif
