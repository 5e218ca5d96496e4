/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libinc: collectives of a group of ranks, done by the network on the way.
 *
 *	struct inc_group *g;
 *
 *	if (inc_join(&g, NULL))					group, rank, size, parent: from the environment
 *		errx(1, "%s", inc_errmsg(NULL));
 *	if (inc_allreduce(g, INC_IN_PLACE, x, n, INC_TYPE_F32, INC_OP_SUM))
 *		errx(1, "%s", inc_errmsg(g));
 *	inc_leave(g);
 *
 * Returns. Functions return 0 or a negative errno; inc_errmsg() has the whole text.
 *
 * Order. All ranks of a group submit the same operations in the same order. Ranks that disagree get -EPROTO, and a
 * text that names both sides; the group works on after that.
 *
 * Threads. Every function may be called by any thread at any time, also for the same group, but for inc_leave() and
 * inc_abort(), which must be the group's last call. Operations count in the order in which they were submitted: where
 * two threads submit to one group, that order is theirs to fix.
 *
 * Signals. Blocking calls go on after a signal handler has returned; they do not return -EINTR. Who wants to get out
 * uses inc_iallreduce() and inc_wait() with a limit, or poll() on inc_fd().
 *
 * fork(). Both processes then hold the socket; one of them may use it. The group is left when the last of them has
 * closed it; inc_leave() in the other one only drops its copy. Descriptors are close-on-exec. Operations that were
 * under way at the fork write to the memory of the process that submitted them.
 */
#ifndef INC_H
#define INC_H

#include <stddef.h>
#include <stdint.h>

#include <linux/inc.h>
#include <linux/inc_socket.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One rank's membership of one group. */
struct inc_group;

/* @send of an operation: take the input from @recv. NULL means the same. */
#define INC_IN_PLACE ((const void *)-1)

#define INC_DEFAULT_TIMEOUT_MS	60000	/* of inc_join() */

/*
 * Who joins what. Set everything that is not named to 0. With @size 0, @group, @rank and @size are taken from the
 * environment: INC_GROUP (default 0), INC_RANK, INC_SIZE; @parent NULL from INC_PARENT; @key NULL from INC_KEY (32 hex
 * digits). A launcher sets these.
 */
struct inc_join_opts {
	uint32_t group;		/* any number, the same at all ranks */
	uint32_t rank;		/* 0 .. size - 1 */
	uint32_t size;		/* 1 .. INC_MAX_RANKS (1024) */
	int timeout_ms;		/* 0: INC_DEFAULT_TIMEOUT_MS, -1: none. Not used by inc_join_start() */
	const char *parent;	/* "ADDR", "ADDR:PORT", "[ADDR6]:PORT", "fe80::1%dev"; NULL: the netns default */
	const uint8_t *key;	/* INC_KEY_LEN bytes, proven to a node that was given one; NULL: none */
	uint64_t resv[4];	/* 0 */
};

/* An operation under way. Its fields are libinc's; it must live until inc_wait() or inc_test() has returned its end. */
struct inc_request {
	struct inc_group *group;
	uint64_t handle;	/* 0: none, or it has ended */
	int result;
	uint32_t opseq;
	uint64_t resv[2];
};

/* ---- Joining and leaving -------------------------------------------------------------------------------------- */

/*
 * Joins a group and returns when all ranks are there. @opts NULL: all from the environment.
 * -EAFNOSUPPORT: no module. -ENETUNREACH: no parent known. -EHOSTUNREACH: it does not answer. -ECONNREFUSED: it is no
 * node. -ETIMEDOUT: ranks are missing, the text names the lowest. -EADDRINUSE: the rank is taken. -EACCES: the key is
 * not the node's. -EINVAL: an argument, or the group has another size. -EBUSY: the group's last run has not ended.
 * On failure *@out is NULL, and inc_errmsg(NULL) has the text.
 */
int inc_join(struct inc_group **out, const struct inc_join_opts *opts);

/* The same without waiting: returns at once; inc_join_poll() then says how far it is. */
int inc_join_start(struct inc_group **out, const struct inc_join_opts *opts);

/*
 * 0: joined. -EAGAIN: not yet (@timeout_ms 0). -ETIMEDOUT: not within @timeout_ms (-1: no limit); call again, or give
 * up with inc_leave(). Anything else: it failed; inc_leave() frees the handle. inc_fd() polls writable when it is done.
 */
int inc_join_poll(struct inc_group *group, int timeout_ms);

/*
 * Leaves and frees @group, which must not be used any more, whatever this returns. Waits until all ranks have all
 * results, for a bounded time. -EBUSY: operations are under way; nothing has been done and @group stays valid: wait
 * for them or use inc_abort().
 */
int inc_leave(struct inc_group *group);

/* Frees @group at once. Operations that are under way fail at all ranks. */
void inc_abort(struct inc_group *group);

/* ---- Operations ----------------------------------------------------------------------------------------------- */

/*
 * recv[i] = rank 0's send[i] @op rank 1's send[i] @op ..., for i < @count, at every rank: bit for bit the same
 * everywhere and every time, folded in the order of ranks at one node. Buffers hold @count elements of @type in host
 * order at any alignment. @count 0 .. INC_MAX_COUNT. In place, or @send and @recv must not overlap.
 * -EINVAL: an argument, see the text. -EOPNOTSUPP: no reduction kernel for @type and @op. -EFAULT: no such memory, or
 * a rank's went away. -EPROTO: ranks disagree. -ECANCELED: an operation before this one failed. -ECONNRESET: a rank has
 * died or left; the text names it. -EHOSTDOWN: the node has. -ETIME: a rank was later than the node allows.
 * -ENOTCONN: not joined, or the group is over.
 */
int inc_allreduce(struct inc_group *group, const void *send, void *recv, uint64_t count, enum inc_type type,
		  enum inc_op op);

/* Returns when every rank has called it. */
int inc_barrier(struct inc_group *group);

/*
 * The same without waiting: buffers must stay valid and untouched until the request has ended. -EAGAIN: as many are
 * under way as the kernel holds; wait for one first.
 */
int inc_iallreduce(struct inc_group *group, const void *send, void *recv, uint64_t count, enum inc_type type,
		   enum inc_op op, struct inc_request *req);
int inc_ibarrier(struct inc_group *group, struct inc_request *req);

/*
 * The operation's result once it has ended, as often as asked. -ETIMEDOUT: not within @timeout_ms (-1: no limit), it
 * goes on. A request that was never used, zeroed, has ended with 0.
 */
int inc_wait(struct inc_request *req, int timeout_ms);

/* The same at once: -EAGAIN while it goes on. */
int inc_test(struct inc_request *req);

/* ---- What and why --------------------------------------------------------------------------------------------- */

/* The socket, for poll(): readable when an operation has ended. It stays libinc's: do not close or read it. */
int inc_fd(const struct inc_group *group);
uint32_t inc_rank(const struct inc_group *group);
uint32_t inc_size(const struct inc_group *group);
uint32_t inc_group_id(const struct inc_group *group);

/* What the kernel knows of this rank: see struct inc_info. */
int inc_info(struct inc_group *group, struct inc_info *info);

/*
 * The text of the last failure in @group, of any thread; of the calling thread's last inc_join(), inc_join_start() or
 * inc_why(NULL, ...) with NULL. "" if there was none. Valid until the thread's next call of inc_errmsg().
 */
const char *inc_errmsg(struct inc_group *group);

/* What a return value means in general. Never NULL. */
const char *inc_strerror(int err);

/*
 * Why would this operation not be done in the network? 0 if it would be, else the negative errno that it would end in;
 * the reason goes to @buf (@len bytes, always terminated) in either case. @group NULL: also looks whether the default
 * parent (INC_PARENT, or that of the netns) answers, by joining a group of one there; takes up to 3 s if not.
 */
int inc_why(struct inc_group *group, enum inc_coll coll, enum inc_type type, enum inc_op op, uint64_t count, char *buf,
	    size_t len);

/* The number of AF_INC on this machine, or -EAFNOSUPPORT: for programs that use the socket themselves. */
int inc_family(void);

/* "f32", "sum", "allreduce": NULL for no such number. The other way: a negative errno for no such name. */
const char *inc_type_name(enum inc_type type);
const char *inc_op_name(enum inc_op op);
const char *inc_coll_name(enum inc_coll coll);
int inc_type_parse(const char *name);
int inc_op_parse(const char *name);

/* Bytes of one element; 0 for no such type. */
size_t inc_type_size(enum inc_type type);

/* "0.1.0" of the library in use. */
const char *inc_version(void);

#ifdef __cplusplus
}
#endif

#endif
