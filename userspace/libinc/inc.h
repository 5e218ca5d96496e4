/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libinc: collectives of a group of ranks, done by the network on the way.
 *
 *	struct inc_group *g;
 *
 *	if (inc_join(&g, NULL))			group, rank, size, parent: from the environment
 *		errx(1, "%s", inc_errmsg(NULL));
 *	if (inc_allreduce(g, INC_IN_PLACE, x, n, INC_TYPE_F32, INC_OP_SUM))
 *		errx(1, "%s", inc_errmsg(g));
 *	inc_leave(g);
 *
 * Returns. Functions return 0 or a negative errno; inc_errmsg() has the whole text. Where the node
 * goes on without late ranks (`inc node set dev X late MS late-policy partial`), a reduction whose
 * result is not of all ranks returns how many are missing: more than 0, so that who does not know
 * of it takes it for a failure.
 *
 * NULL. A call that is given NULL where that means nothing returns -EINVAL and says which argument
 * it was; inc_leave() and inc_abort() do nothing then, as free(). NULL as a buffer of elements
 * means what the table at struct inc_args says.
 *
 * Limits of time are in milliseconds; -1 is none. Other negative ones are refused with -EINVAL:
 * nothing has begun then, and what was under way goes on.
 *
 * Elements are little-endian in memory, whatever the machine is: on a big-endian one a buffer of
 * floats or wider integers has to be turned before a reduction, and after it.
 *
 * Order. All ranks of a group submit the same operations in the same order. Ranks that disagree get
 * -EPROTO, and a text that names both sides; the group works on after that.
 *
 * Threads. Every function may be called by any thread at any time, also for the same group, but for
 * inc_leave() and inc_abort(), which must be the group's last call, inc_join_poll() until it has
 * returned 0, and inc_shrink(): no other thread uses the group meanwhile. A struct inc_request is
 * that of one thread at a time. Operations count in the order in which they were submitted: where
 * two threads submit to one group, that order is theirs to fix.
 *
 * Signals. Blocking calls go on after a signal handler has returned; they do not return -EINTR. Who
 * wants to get out uses inc_icollective() and inc_wait() with a limit, or poll() on inc_fd(); or
 * inc_cancel() in the handler, which ends the group.
 *
 * fork(). Both processes then hold the socket; one of them may use it. The group is left when the
 * last of them has closed it; inc_leave() in the other one only drops its copy. inc_abort() in the
 * process that has joined ends the group for both, in the other one it drops the copy. Descriptors
 * are close-on-exec; inc_close_on_fork() keeps a group's from children at all. Operations that were
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

/*
 * As @send: the input is in @recv. As @recv of a scatter: the own share stays in @send. Or NULL,
 * but for an alltoall with @send_counts: these say that it is not in place, and if they are all 0
 * it needs no @send.
 */
#define INC_IN_PLACE ((void *)-1)

#define INC_DEFAULT_TIMEOUT_MS	60000	/* of inc_join() */

/*
 * Who joins what. Set everything that is not named to 0. With @size 0, @rank and @size are taken
 * from the environment, where the job's launcher has told them, and so are @group and @job if they
 * are 0: see inc_launcher(). @parent NULL is taken from INC_PARENT, @key NULL from INC_KEY (32 hex
 * digits, or @FILE: a file that has them, of mode 0600, or 0640 if it is root's; not in a
 * set-user-ID program), @job 0 from INC_JOB, @order NULL from INC_ORDER, @stripes 0 from
 * INC_STRIPES. With INC_REDUCES, names of types and operations as "f32,sum", it is joined only
 * where every node of the group reduces all of these: else the next address of a @parent by its
 * name is asked, and the last one's answer is -EPROTONOSUPPORT; all ranks should ask for the same.
 * What they do not reduce otherwise is in struct inc_info, and -EOPNOTSUPP at all ranks.
 */
struct inc_join_opts {
	uint32_t group;		/* any number, the same at all ranks of the job */
	uint32_t rank;		/* 0 .. size - 1; 0 with @size 0 */
	uint32_t size;		/* 1 .. INC_MAX_RANKS (4096) */
	int timeout_ms;		/* 0: INC_DEFAULT_TIMEOUT_MS, -1: none; not of inc_join_start() */
	/*
	 * "ADDR", "ADDR:PORT", "[ADDR6]:PORT", "fe80::1%dev", or a host's name as ADDR, which is
	 * looked up by getaddrinfo(3): a node is asked for at the first 8 of its addresses in their
	 * order, for a second at each but the last, until one answers. They should be those of one
	 * node, as ranks at different nodes do not meet. NULL: the netns default. "edge:ADDR" or
	 * "edge:[ADDR6]", not link-local: there is no node, and the ranks meet at the host of rank
	 * 0, whose address this is, of a name the first one. If no parent is named or set, ranks of
	 * which a launcher has told the numbers (@size 0) meet so at MASTER_ADDR, if that is set
	 */
	const char *parent;
	/* INC_KEY_LEN bytes, not all 0, proven to a node that has one; NULL: none */
	const uint8_t *key;
	/* any number, the same at all ranks: groups of different jobs never meet */
	uint64_t job;
	/*
	 * "canonical": sums and products of floats have the same bits on one node, on any tree of
	 * nodes, at the edge, and when the group moves from one to another, whatever that costs:
	 * a node sends each block in as many parts as its ranks are nodes of the tree of
	 * reduction.rst. One rank that asks for it is enough. -EDOM: more than 256 of them. "auto",
	 * which is the default: so where it costs nothing, as where the ranks of each node are a
	 * block of a power of two; elsewhere the same bits as long as the same ranks are at the
	 * same nodes. struct inc_info has which it is
	 */
	const char *order;
	/*
	 * INC_MAX_STRIPES (8) at most, the same at all ranks; 0: INC_STRIPES, or 1. So many groups
	 * become one: each goes to its parent, stripe i to number i (modulo how many) of those that
	 * @parent lists with commas between them, and has a tree of its own from there on. Long
	 * operations are divided among them, short ones take them in turn, with the same results
	 * as one group has. An error of one ends all, also one that a group without stripes would
	 * get over, as -EPROTO, and inc_shrink() does not go on. inc_fd() is readable for a join,
	 * too
	 */
	uint32_t stripes;
	uint32_t resv0;		/* 0 */
	uint64_t resv[1];	/* 0 */
};

/*
 * One operation with everything that may be said about it; what is not set is 0. N is the size of
 * the group, a share is what one rank has in a buffer of all ranks. "-": not looked at, may
 * be NULL.
 *
 *	coll			@send holds		@recv holds		in place
 *	allreduce, scan		count			count			@send
 *	exscan			count			count			@send
 *	reduce			count			root: count		root: @send
 *	reduce-scatter		N shares		the own share		@send
 *	broadcast		root: count		count			root: @send
 *	allgather		the own share		N shares		@send
 *	gather			the own share		root: N shares		root: @send
 *	scatter			root: N shares		the own share		root: @recv
 *	alltoall		N shares		N shares		@send
 *	barrier			-			-
 *
 * In place, the result of a reduce-scatter is at the front, and the own share of an allgather,
 * gather or scatter where it belongs; an exscan leaves rank 0's @recv as it is. The root of a
 * broadcast that gives no @send is in place.
 *
 * Buffers hold elements of @type in host order at any alignment; two of them must not overlap. They
 * are memory that the kernel can pin for as long as the operation takes: the process's own, shared
 * memory (of POSIX, System V, a memfd, a file of a tmpfs, huge pages), and, if it is only read,
 * files of any file system that are mapped. No such memory are, and the operation fails with
 * -EFAULT: what is written to in a shared mapping of a file on a disk or another host; files on
 * persistent memory (DAX), memfd_secret(2), devices. Who has it copies it.
 *
 * Every share has @count elements. With INC_MODE_COUNTS, which all ranks give or none, shares
 * differ: @send_counts and @recv_counts are arrays of N numbers of elements; @send_displs and
 * @recv_displs say at which element of the buffer a share begins, 2^44 at most, NULL: they follow
 * one another. Shares that are written to must not overlap.
 *
 *	coll			counts				displacements	count
 *	reduce-scatter		@recv_counts, all the same	-		-
 *	allgather		@recv_counts, all the same	@recv_displs	-
 *	gather			root: @recv_counts		@recv_displs	what it sends, or -
 *	scatter			root: @send_counts		@send_displs	what it gets, or -
 *	alltoall		@send_counts, @recv_counts	both		-
 *
 * In place @count is not looked at then, and what is said of an alltoall's @recv is for both.
 *
 * @wire: elements travel as this type, f32 or a smaller float for f32 and smaller floats, f32 for
 * f64. They are rounded to it when they are sent, and the result is rounded to it once; every
 * receiver gets what has travelled, also of its own share. INC_MODE_SATURATE: sums of i8, i16, u8
 * and u16 are exact and clamped once, else integers wrap. @weight is for INC_OP_WSUM, the sum of
 * every rank's weight x element: products are rounded once, to f64 for f64 and c64, to f32 for the
 * other types.
 */
struct inc_args {
	enum inc_coll coll;
	enum inc_type type;	/* of the buffers; 0 for barrier */
	enum inc_op op;		/* 0 where nothing is reduced */
	enum inc_type wire;	/* 0: as @type */
	uint32_t mode;		/* INC_MODE_SATURATE | INC_MODE_COUNTS */
	uint32_t root;		/* rank; 0 where there is none */
	uint64_t count;		/* 0 .. INC_MAX_COUNT, as all numbers of elements */
	const void *send;
	void *recv;
	const uint64_t *send_counts;
	const uint64_t *send_displs;
	const uint64_t *recv_counts;
	const uint64_t *recv_displs;
	double weight;
	uint64_t resv[4];	/* 0 */
};

struct inc_parts;

/* An operation under way. Its fields are libinc's; it lives until inc_wait() has told its end. */
struct inc_request {
	struct inc_group *group;
	uint64_t handle;	/* 0: none, or it has ended */
	int result;
	uint32_t prepared;	/* inc_start() may be called */
	void *copy;		/* of an alltoall's input that is in place */
	struct inc_submit submit;
	uint64_t ended;		/* handle of the operation that ended last */
	uint32_t kept[2];	/* registered memory that is its own */
	struct inc_parts *parts;	/* in the stripes of the group */
	uint64_t resv;
};

/* ---- Who am I ----------------------------------------------------------- */

/* What inc_launcher() has found. */
struct inc_launch {
	const char *launcher;	/* "INC", "torchrun", "Open MPI", "PMI", "Slurm"; never freed */
	uint64_t job;		/* for struct inc_join_opts; 0: groups are nobody's in particular */
	uint32_t group;		/* INC_GROUP, or 0 */
	uint32_t rank;		/* 0 .. size - 1 */
	uint32_t size;		/* 1 .. INC_MAX_RANKS */
	uint32_t local_rank;	/* among the job's ranks on this host; UINT32_MAX: not told */
	uint32_t local_size;	/* ranks of the job on this host; 0: not told */
	uint32_t derived;	/* 1: @job was derived from what the launcher has set, else 0 */
	uint64_t resv[4];	/* 0 */
};

/*
 * Which rank of how many is this process, as whoever started it has told in the environment? The
 * first line of which the rank or the size is set is believed, and nothing below it is looked at:
 *
 *	launcher  rank, size            local rank, local size        what names the job
 *	INC       INC_RANK, INC_SIZE    INC_LOCAL_RANK, _SIZE         -
 *	torchrun  RANK, WORLD_SIZE      LOCAL_RANK, LOCAL_WORLD_SIZE  MASTER_ADDR, MASTER_PORT,
 *	                                                              [TORCHELASTIC_RUN_ID]
 *	Open MPI  OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_LOCAL_RANK,   PMIX_NAMESPACE,
 *	          OMPI_COMM_WORLD_SIZE  OMPI_COMM_WORLD_LOCAL_SIZE    [OMPI_MCA_orte_
 *	                                                              precondition_transports]
 *	PMI       PMI_RANK, PMI_SIZE    MPI_LOCALRANKID, _LOCALNRANKS PMI_JOBID
 *	Slurm     SLURM_PROCID,         SLURM_LOCALID, -              SLURM_JOB_ID, SLURM_STEP_ID,
 *	          SLURM_NTASKS                                        [SLURM_CLUSTER_NAME]
 *
 * Slurm's come last because they are also set for what another launcher has started in its job;
 * with `srun --mpi=pmix` they are what counts, because PMIx has no size in the environment. The
 * local ones and those in brackets may be missing. Numbers are decimal; of INC_* hexadecimal (0x..)
 * and octal (0..), too.
 *
 * The job is INC_JOB if that is set: a number, or any other text, of which the hash below is taken.
 * Else it is 0 with INC_RANK, and otherwise derived, so that the groups of two jobs never meet:
 * FNV-1a with 64 bits over the launcher's name as above and, for each variable that names the job
 * and is set, in the order above, its name and its value, each of these texts with a final byte of
 * 0. A MASTER_ADDR of this machine alone (127.*, ::1, localhost) is followed by the machine's name
 * and boot_id (random(4)), as every machine has such a job. What names the job may be missing only
 * if INC_JOB or INC_GROUP is set; without INC_JOB the job is 0 then. MPICH's own launcher sets no
 * PMI_JOBID: give one of the two there.
 *
 * Fills *@launch and returns 0. -ENOENT: none of these is set, where inc_join() returns -EINVAL.
 * -EINVAL: a variable is missing ("RANK is set, WORLD_SIZE is not"), or has a value that it cannot
 * have: inc_errmsg(NULL) names it. Then *@launch is all 0.
 */
int inc_launcher(struct inc_launch *launch);

/* ---- Joining and leaving ------------------------------------------------ */

/*
 * Joins a group and returns when all ranks are there. @opts NULL: all from the environment.
 * -EAFNOSUPPORT: no module. -ENETUNREACH: no parent, nor MASTER_ADDR, or no route to it: the text
 * says which. -ENONET: its name cannot be looked up for now. -EADDRNOTAVAIL: it is a broadcast
 * address. -EHOSTUNREACH: there is no way to it, or it has not answered for 120 s. -ECONNREFUSED:
 * it is no node. -ETIMEDOUT: it has not answered, or ranks are missing: the text says which, and
 * names the lowest. -EADDRINUSE: the rank is taken. -ENOTUNIQ: another program has INC's UDP port
 * here. -EACCES: the key is not the node's. -EPERM: no tenant of the node takes this rank. -EDQUOT:
 * the tenant has as many groups or as much memory as it may. -ENOSPC: the node has. -EINVAL: an
 * argument, or the group has another size. -EBUSY: the group's last run has not ended, or the node
 * is short of memory. -EDOM: canonical order (@order) would take too many parts. -EOPNOTSUPP: other
 * ranks come to other nodes, and the node above them takes no nodes. -EPROTOTYPE: other ranks have
 * joined with another number of stripes. -ECONNRESET, -EHOSTDOWN: a stripe that had joined has
 * ended before the others have.
 * Where the node has a parent, what that says of the node is said of the rank, too.
 * On failure *@out is NULL, and inc_errmsg(NULL) has the text.
 */
int inc_join(struct inc_group **out, const struct inc_join_opts *opts);

/* The same without waiting: returns at once; inc_join_poll() then says how far it is. */
int inc_join_start(struct inc_group **out, const struct inc_join_opts *opts);

/*
 * 0: joined. -EAGAIN: not yet (@timeout_ms 0). -ETIMEDOUT: not within @timeout_ms (-1: no limit);
 * call again, or give up with inc_leave(). Anything else: it failed; inc_leave() frees the handle.
 * inc_fd() polls writable when it is done. -EINVAL: @timeout_ms is below -1; it goes on.
 */
int inc_join_poll(struct inc_group *group, int timeout_ms);

/*
 * The group has failed because ranks have died, left or were cut off (-ECONNRESET of any
 * operation): goes on without them. Every rank that is left calls it, once each has seen the
 * failure, and keeps its @group, in which inc_rank() and inc_size() are new: ranks are numbered
 * anew in their old order. Returns when the others are there: as soon as nobody is missing but
 * those that are known to be gone, or when for the node's dead limit (10 s, see `inc node`) nobody
 * has come any more. Who is missing then is out. A rank that is alone left is a group of one.
 *
 * Nothing of before goes on: requests have ended, see inc_wait(); results that have not been
 * collected by inc_wait() or inc_test() are lost, and persistent operations are prepared anew. No
 * other thread may use @group meanwhile.
 *
 * @timeout_ms 0: INC_DEFAULT_TIMEOUT_MS, -1: none. -EINVAL: it is below -1; nothing has been done.
 * -EISCONN: the group has not failed; likewise. -EOPNOTSUPP: it is a striped one, likewise.
 * -ENOTCONN: it was never joined. -ESTALE: this rank is out: the others went on without it.
 * -ETIMEDOUT: ranks are missing; call again to go on waiting. -EHOSTUNREACH, -ECONNREFUSED: the
 * node does not answer or is none any more; the group is looked for where it was last, at a standby
 * node or the edge if it had moved there. A node that has not seen how the group failed goes on
 * with more than half of its ranks only. In a tree of nodes the ranks that are left go on only
 * where more than half of the old ranks are at one node; elsewhere it fails. After a failure the
 * call may be repeated, or the group left by inc_leave().
 */
int inc_shrink(struct inc_group *group, int timeout_ms);

/* The colour of a rank that is to be in none of the new groups. */
#define INC_NO_COLOUR	(-1)

/*
 * Splits @group, as MPI_Comm_split(): all its ranks call it, as the next operation of the group.
 * Those of one @colour (0 .. INT_MAX) become a new group *@out, numbered by their @key, and by
 * their rank in @group where keys are equal. With INC_NO_COLOUR a rank is in none, and *@out is
 * NULL. @group stays as it is; the new group is left by itself, in any order.
 *
 * The new group has a number and a job of its own, at random, and meets where @group is: at its
 * node, at the standby node that it has moved to, or, at the edge, at the host of its own rank 0.
 * The key is that of @group.
 *
 * @timeout_ms is for the others to join the new group, as in struct inc_join_opts; how long the
 * exchange before it may take says inc_set_timeout(). Returns as inc_allgather() and inc_join() do;
 * -EINVAL: @colour or @timeout_ms, which only this rank notices; -EPROTO: a rank's libinc splits in
 * another way. The text is @group's. On failure *@out is NULL at this rank, and others run into
 * @timeout_ms.
 */
int inc_split(struct inc_group **out, struct inc_group *group, int colour, int key,
	      int timeout_ms);

/* A new group of the same ranks in the same order: inc_split() with one colour and key. */
int inc_dup(struct inc_group **out, struct inc_group *group, int timeout_ms);

/* What a rank tells the others in inc_split(); its contents are libinc's. */
struct inc_split_offer {
	uint64_t opaque[8];
};

/*
 * inc_split() in steps, for who exchanges the offers in his own way, without waiting for instance:
 * each rank makes one, all get all of them in the order of ranks (an allgather of sizeof(*@offer)
 * elements of INC_TYPE_U8), and each starts to join, as inc_join_start(): inc_join_poll() says how
 * far *@out is, and inc_leave() frees it if that fails. *@out NULL and 0: this rank is in none.
 */
int inc_split_offer(struct inc_group *group, int colour, int key, struct inc_split_offer *offer);
int inc_split_start(struct inc_group **out, struct inc_group *group,
		    const struct inc_split_offer *offers);

/*
 * Leaves and frees @group, which must not be used any more, whatever this returns. Waits until all
 * ranks have all results, for a bounded time. -EBUSY: operations are under way; nothing has been
 * done and @group stays valid: wait for them or use inc_abort().
 */
int inc_leave(struct inc_group *group);

/*
 * Frees @group at once. Operations that are under way fail at all ranks. If this process has joined
 * it and has forked since, it also does what inc_cancel() does: a child would keep the group.
 */
void inc_abort(struct inc_group *group);

/*
 * Ends the group for all ranks: operations that are under way, and those that are submitted later,
 * fail at each of them with -ECONNRESET and a text that names this rank; inc_join_poll() returns
 * -ECANCELED. Buffers are the caller's again when its operations have ended, which takes a round
 * trip. @group stays valid for that, for inc_shrink(), and until inc_leave() or inc_abort(). Any
 * thread may call this, and a signal handler: it is shutdown(2) of inc_fd(), or of what a striped
 * group has instead. -ENOTCONN: a join was not begun.
 */
int inc_cancel(struct inc_group *group);

/*
 * A child of fork() gets no copy of the socket from now on: the group ends with the process that
 * has joined, however that ends, whether or not children of it live on. In a child all calls on
 * @group fail with -EBADF, inc_fd() is -1, and inc_abort() frees the memory only. Groups that are
 * made of @group do not inherit it.
 */
int inc_close_on_fork(struct inc_group *group);

/*
 * How long a blocking operation may take from now on, in milliseconds; 0: as long as it takes,
 * which is what a group begins with. One that takes longer returns -ETIMEDOUT, with a text that
 * names the rank that is waited for, and has ended the group as inc_cancel() does: its buffers are
 * the caller's again. -EINVAL: @timeout_ms is negative.
 */
int inc_set_timeout(struct inc_group *group, int timeout_ms);

/* ---- Operations --------------------------------------------------------- */

/*
 * The operation that @args describes; all others are short forms of it. It returns when this rank
 * has its result and its buffers are its own again.
 *
 * Results are the same bit for bit in every run: sums and products of floats follow one binary tree
 * over the ranks, which is cut at the largest power of two below its size; in a tree of nodes they
 * do if struct inc_info says so (order), else they are the same for the same tree. f16, bf16 and
 * 8-bit floats accumulate in f32 and are rounded once, to nearest even; every NaN of a
 * result is the canonical one; integers wrap; min and max are minimum and maximum of IEEE 754-2019;
 * avg is the sum divided once, integers towards zero; minloc and maxloc take the lowest index of
 * equal values, and NaN before all others.
 *
 * -EINVAL, -EOVERFLOW: an argument, see the text. -EOPNOTSUPP: this type has no such operation, or
 * does not go over the wire like this. -EFAULT: no such memory, or none that can be pinned, see
 * struct inc_args: nothing has begun, the group works on, the other ranks wait, and the call may be
 * repeated with other memory. -ENOMEM: the same, for want of memory. If a rank's memory goes away
 * in the midst of it, as of a file that is made shorter, the group ends, with -EFAULT at all ranks.
 * -EPROTO: ranks disagree. -EMSGSIZE: a rank sends another count than the receiver expects.
 * -ECANCELED: an operation before this one failed. -ECONNRESET: a rank has died, left, or gets no
 * blocks through (MTU?); the text names it. -EHOSTDOWN: the node has. -ETIME: a rank was later than
 * the node allows. -ENOTCONN: not joined, or the group is over. After -ECONNRESET the ranks that
 * are left may go on: inc_shrink().
 */
int inc_collective(struct inc_group *group, const struct inc_args *args);

/*
 * The same without waiting: buffers, counts, displacements must stay valid and untouched until the
 * request has ended; @args need not. -EAGAIN: as many are under way as the kernel holds; wait for
 * one first.
 *
 * An alltoall in place works on a copy of its input (-ENOMEM), made when it starts and freed when
 * inc_wait() or inc_test() have returned its end; inc_abort() does not free it.
 */
int inc_icollective(struct inc_group *group, const struct inc_args *args, struct inc_request *req);

/*
 * inc_icollective() and inc_wait() in one: for who has something else to do when it takes longer.
 * -ETIMEDOUT and @req->handle not 0: it goes on, and inc_wait() and inc_test() tell its end. 0:
 * only look; -1: no limit; -EINVAL, too: below that.
 */
int inc_collective_for(struct inc_group *group, const struct inc_args *args,
		       struct inc_request *req, int timeout_ms);

/*
 * Persistent operations: checked once by inc_prepare(), started as often as wanted by inc_start(),
 * each time ended by inc_wait() or inc_test(). Buffers, counts and displacements must stay where
 * they are; they are read at every start. inc_start(): -EBUSY: it has not ended yet.
 *
 * The pages of the buffers stay pinned from inc_prepare() on, as far as limits allow, see
 * inc_register(): starting takes less time. inc_release() gives them back, and @req cannot be
 * started any more; until then the buffers must not be unmapped or freed. Who prepares @req anew
 * without it, or forgets it, has them pinned until the group is left. -EBUSY: it has not ended.
 */
int inc_prepare(struct inc_group *group, const struct inc_args *args, struct inc_request *req);
int inc_start(struct inc_request *req);
/*
 * Starts @n prepared requests in their order, as inc_start() would one after the other, in as few
 * system calls as that takes: short operations of one group leave together. *@started, which may be
 * NULL: how many have been, the first ones. Returns 0 if all have, or what inc_start() says of the
 * one behind them. Of an operation on at most 112 bytes the result is there when this process has
 * waited for it.
 */
int inc_start_many(struct inc_request **reqs, size_t n, size_t *started);
int inc_release(struct inc_request *req);

/*
 * Memory that is used again and again: its pages are pinned now, and not for every operation whose
 * buffers lie in it, all of their shares; of these nothing else has to be said. It must be
 * readable, and with INC_REGISTER_WRITE writable, which results need. It may be registered twice,
 * and by several groups, each for its own operations. *@id is for inc_unregister(); inc_leave() and
 * inc_abort() do that, too, and inc_shrink() keeps what is registered.
 *
 * Between the two the memory must not be unmapped or freed, nor discarded by madvise(2), nor made
 * writable if it was not: the kernel goes on with the pages that were there, as with remote DMA,
 * and what is mapped at the same address later is not looked at. A child of fork() has its own
 * memory at the same addresses, of which nothing is registered.
 *
 * -EINVAL: an argument. -EFAULT: no such memory, or none that can be pinned, see struct inc_args.
 * With what is registered, no more than half of a limit may be in use, so that there is something
 * left for operations on other memory: -EDQUOT, -ENOBUFS: of what a user, or the namespace, may
 * have pinned (`inc limits`); -ENOMEM: of RLIMIT_MEMLOCK, without CAP_IPC_LOCK. It counts for each
 * stripe of the group. -ENOSPC: INC_MAX_REGISTERED (4096). inc_unregister(): -EBUSY: an operation
 * on it has not ended, -ENOENT: there is none, or it is that of the process that this one was
 * forked from.
 */
int inc_register(struct inc_group *group, const void *addr, uint64_t len, uint32_t flags,
		 uint32_t *id);
int inc_unregister(struct inc_group *group, uint32_t id);

/*
 * Short forms. @count is that of one rank's share where there are shares. Those that end in v take
 * the counts of all shares, where the table above says who knows them.
 */
int inc_allreduce(struct inc_group *group, const void *send, void *recv, uint64_t count,
		  enum inc_type type, enum inc_op op);
int inc_allreduce_weighted(struct inc_group *group, const void *send, void *recv, uint64_t count,
			   enum inc_type type, double weight);
int inc_reduce(struct inc_group *group, const void *send, void *recv, uint64_t count,
	       enum inc_type type, enum inc_op op, uint32_t root);
int inc_reduce_scatter(struct inc_group *group, const void *send, void *recv, uint64_t count,
		       enum inc_type type, enum inc_op op);
int inc_reduce_scatterv(struct inc_group *group, const void *send, void *recv,
			const uint64_t *counts, enum inc_type type, enum inc_op op);
int inc_broadcast(struct inc_group *group, void *buf, uint64_t count, enum inc_type type,
		  uint32_t root);
int inc_allgather(struct inc_group *group, const void *send, void *recv, uint64_t count,
		  enum inc_type type);
int inc_allgatherv(struct inc_group *group, const void *send, void *recv, const uint64_t *counts,
		   const uint64_t *displs, enum inc_type type);
int inc_gather(struct inc_group *group, const void *send, void *recv, uint64_t count,
	       enum inc_type type, uint32_t root);
int inc_gatherv(struct inc_group *group, const void *send, uint64_t count, void *recv,
		const uint64_t *counts, const uint64_t *displs, enum inc_type type, uint32_t root);
int inc_scatter(struct inc_group *group, const void *send, void *recv, uint64_t count,
		enum inc_type type, uint32_t root);
int inc_scatterv(struct inc_group *group, const void *send, const uint64_t *counts,
		 const uint64_t *displs, void *recv, uint64_t count, enum inc_type type,
		 uint32_t root);
int inc_alltoall(struct inc_group *group, const void *send, void *recv, uint64_t count,
		 enum inc_type type);
int inc_alltoallv(struct inc_group *group, const void *send, const uint64_t *send_counts,
		  const uint64_t *send_displs, void *recv, const uint64_t *recv_counts,
		  const uint64_t *recv_displs, enum inc_type type);
int inc_scan(struct inc_group *group, const void *send, void *recv, uint64_t count,
	     enum inc_type type, enum inc_op op);
int inc_exscan(struct inc_group *group, const void *send, void *recv, uint64_t count,
	       enum inc_type type, enum inc_op op);

/* Returns when every rank has called it. */
int inc_barrier(struct inc_group *group);

/* The same without waiting: see inc_icollective(). */
int inc_iallreduce(struct inc_group *group, const void *send, void *recv, uint64_t count,
		   enum inc_type type, enum inc_op op, struct inc_request *req);
int inc_iallreduce_weighted(struct inc_group *group, const void *send, void *recv, uint64_t count,
			    enum inc_type type, double weight, struct inc_request *req);
int inc_ireduce(struct inc_group *group, const void *send, void *recv, uint64_t count,
		enum inc_type type, enum inc_op op, uint32_t root, struct inc_request *req);
int inc_ireduce_scatter(struct inc_group *group, const void *send, void *recv, uint64_t count,
			enum inc_type type, enum inc_op op, struct inc_request *req);
int inc_ireduce_scatterv(struct inc_group *group, const void *send, void *recv,
			 const uint64_t *counts, enum inc_type type, enum inc_op op,
			 struct inc_request *req);
int inc_ibroadcast(struct inc_group *group, void *buf, uint64_t count, enum inc_type type,
		   uint32_t root, struct inc_request *req);
int inc_iallgather(struct inc_group *group, const void *send, void *recv, uint64_t count,
		   enum inc_type type, struct inc_request *req);
int inc_iallgatherv(struct inc_group *group, const void *send, void *recv, const uint64_t *counts,
		    const uint64_t *displs, enum inc_type type, struct inc_request *req);
int inc_igather(struct inc_group *group, const void *send, void *recv, uint64_t count,
		enum inc_type type, uint32_t root, struct inc_request *req);
int inc_igatherv(struct inc_group *group, const void *send, uint64_t count, void *recv,
		 const uint64_t *counts, const uint64_t *displs, enum inc_type type, uint32_t root,
		 struct inc_request *req);
int inc_iscatter(struct inc_group *group, const void *send, void *recv, uint64_t count,
		 enum inc_type type, uint32_t root, struct inc_request *req);
int inc_iscatterv(struct inc_group *group, const void *send, const uint64_t *counts,
		  const uint64_t *displs, void *recv, uint64_t count, enum inc_type type,
		  uint32_t root, struct inc_request *req);
int inc_ialltoall(struct inc_group *group, const void *send, void *recv, uint64_t count,
		  enum inc_type type, struct inc_request *req);
int inc_ialltoallv(struct inc_group *group, const void *send, const uint64_t *send_counts,
		   const uint64_t *send_displs, void *recv, const uint64_t *recv_counts,
		   const uint64_t *recv_displs, enum inc_type type, struct inc_request *req);
int inc_iscan(struct inc_group *group, const void *send, void *recv, uint64_t count,
	      enum inc_type type, enum inc_op op, struct inc_request *req);
int inc_iexscan(struct inc_group *group, const void *send, void *recv, uint64_t count,
		enum inc_type type, enum inc_op op, struct inc_request *req);
int inc_ibarrier(struct inc_group *group, struct inc_request *req);

/*
 * The operation's result once it has ended, as often as asked. -ETIMEDOUT: not within @timeout_ms
 * (-1: no limit), it goes on. -EINVAL and @req->handle not 0: @timeout_ms is below -1, likewise. A
 * request that was never used, zeroed, has ended with 0.
 */
int inc_wait(struct inc_request *req, int timeout_ms);

/* The same at once: -EAGAIN while it goes on. */
int inc_test(struct inc_request *req);

/*
 * The first of @n operations, of one group or several, that has ended: *@which becomes its index,
 * its entry in @reqs NULL, and its result is returned. Entries that are NULL are passed over.
 * -ENOENT: all are NULL. -ETIMEDOUT: none within @timeout_ms (-1: no limit; 0: only look), -EINVAL:
 * that is below -1, -ENOMEM: nothing has changed, *@which is @n.
 */
int inc_wait_any(struct inc_request **reqs, size_t n, int timeout_ms, size_t *which);

/*
 * Returns when all @n operations have ended, or -ETIMEDOUT, or -EINVAL where @timeout_ms is below
 * -1 (no limit); entries that are NULL are passed over.
 * The result is that of the first in @reqs that is not 0; inc_wait() tells the others'.
 */
int inc_wait_all(struct inc_request **reqs, size_t n, int timeout_ms);

/*
 * Which ranks' contributions are in the result of @req, which has ended, or, @req NULL, of the
 * group's last operation that returned more than 0: bit rank % 32 of @ranks[rank / 32], for as many
 * ranks as @words, each of 32, have room for; INC_MAX_RANKS / 32 are always enough. A rank is in if
 * it is in all of the result. Returns how many are not, 0 if all are. -ENOENT: none was partial, or
 * more than 16 partial ones have ended since. A rank that is not in it itself has the same result
 * as the others.
 */
int inc_contributed(struct inc_group *group, const struct inc_request *req, uint32_t *ranks,
		    size_t words);

/* ---- What and why ------------------------------------------------------- */

/*
 * The socket, for poll(): readable when an operation has ended; of a striped group a descriptor
 * that is readable when one may have, or a join. Do not close or read it. -EINVAL,
 * rank UINT32_MAX, size and number 0: @group is NULL.
 */
int inc_fd(const struct inc_group *group);
uint32_t inc_rank(const struct inc_group *group);
uint32_t inc_size(const struct inc_group *group);
uint32_t inc_group_id(const struct inc_group *group);

/* What the kernel knows of this rank: see struct inc_info. */
int inc_info(struct inc_group *group, struct inc_info *info);

/*
 * The text of the last failure in @group, of any thread; with NULL of the calling thread's last
 * inc_join(), inc_join_start(), inc_launcher(), inc_mx_pack(), inc_mx_unpack() or inc_why(NULL,
 * ...). "" if there was none. Valid until the thread's next call of inc_errmsg().
 */
const char *inc_errmsg(struct inc_group *group);

/* What a return value means in general. Never NULL. */
const char *inc_strerror(int err);

/*
 * Why would this operation not be done in the network? 0 if it would be, else the negative errno
 * that it would end in. The reason goes to @buf (@len bytes, always terminated); if it would be,
 * what the network saves and what it does not. @op is not looked at where nothing is reduced.
 * -EHOSTDOWN: it would be done, but by hosts, because the group is at the edge. @group NULL: also
 * looks whether the default parent (INC_PARENT, or that of the netns) answers, lets this user in,
 * and reduces the type, by a group of one there that does the operation with an element; takes up
 * to 3 s for each of the two if not. `inc why` does the same for a shell.
 */
int inc_why(struct inc_group *group, enum inc_coll coll, enum inc_type type, enum inc_op op,
	    uint64_t count, char *buf, size_t len);

/* The number of AF_INC on this machine, or -EAFNOSUPPORT: for programs that use the socket. */
int inc_family(void);

/* "f32", "sum", "allreduce"; NULL: no such number. Back: a negative errno: no such name. */
const char *inc_type_name(enum inc_type type);
const char *inc_op_name(enum inc_op op);
const char *inc_coll_name(enum inc_coll coll);
int inc_type_parse(const char *name);
int inc_op_parse(const char *name);
int inc_coll_parse(const char *name);

/* Bytes of one element; 0 for no such type. */
size_t inc_type_size(enum inc_type type);

/* ---- Block floats ------------------------------------------------------- */

/*
 * INC_TYPE_MXF8E4M3, INC_TYPE_MXF8E5M2, INC_TYPE_MXF4E2M1 and INC_TYPE_MXI8 are the formats MXFP8,
 * MXFP4 and MXINT8 of the OCP Microscaling Formats (MX) Specification v1.0. An element is a block
 * of INC_MX_VALUES (32) values: a byte of scale, 2^(byte - 127), and behind it the 32 values, 8
 * bits each, or 4 in MXF4E2M1, the first of two in the low bits. Counts of operations are of
 * blocks. Sum, avg, min and max are those of the values in f32; of these a block is made once, at
 * the end. No other type goes over the wire as one of them, nor they as another: inc_mx_pack()
 * before an operation and inc_mx_unpack() after it do that.
 *
 *	size_t n = inc_mx_blocks(values);
 *
 *	inc_mx_pack(INC_TYPE_MXF8E4M3, buf, x, values);
 *	inc_allreduce(g, INC_IN_PLACE, buf, n, INC_TYPE_MXF8E4M3, INC_OP_AVG);
 *	inc_mx_unpack(INC_TYPE_MXF8E4M3, x, buf, values);
 */

/*
 * Blocks that @values take, the last one may not be full; and their bytes: 0 for another type,
 * SIZE_MAX if that is too few.
 */
size_t inc_mx_blocks(size_t values);
size_t inc_mx_bytes(enum inc_type type, size_t values);

/*
 * @n f32 become inc_mx_blocks(@n) blocks at @blocks, inc_mx_bytes() long; what the last one has no
 * values for is 0. As section 6.3 of the specification has it, and as a node does it with what it
 * has reduced: the scale is the largest power of two that is not larger than the largest magnitude,
 * divided by that of the type's largest number (2^8, 2^15, 2^2, 1), but not less than 2^-127; each
 * value divided by it is rounded to nearest even, and to the largest number (448, 57344, 6, 127/64)
 * if it is larger. With a NaN or an infinity among its values a block is NaN: its scale is 255, all
 * else 0. A block of which no value is left is all 0. Errors: -EINVAL: @type is none of the four,
 * or a pointer is NULL and @n is not 0; inc_errmsg(NULL) says which.
 */
int inc_mx_pack(enum inc_type type, void *blocks, const float *values, size_t n);

/*
 * And back: the first @n values of the blocks. Exact, but what is larger than any f32 is an
 * infinity. -EINVAL: as above. In both functions the buffers must not overlap, and need no
 * alignment but that of float.
 */
int inc_mx_unpack(enum inc_type type, float *values, const void *blocks, size_t n);

/* Of this header; what it declares is in all later libraries of the same major version. */
#define INC_VERSION_MAJOR	0
#define INC_VERSION_MINOR	1
#define INC_VERSION_PATCH	0

/* "0.1.0" of the library in use. */
const char *inc_version(void);

#ifdef __cplusplus
}
#endif

#endif
