/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * AF_INC sockets: a socket is one rank of one group.
 *
 *	fd = socket(af, SOCK_SEQPACKET, 0)	af: INC_A_CAPS_FAMILY_NUMBER of netlink family "inc"
 *	setsockopt(fd, SOL_INC, INC_SO_KEY, __u8[INC_KEY_LEN])	the key, where the node wants one
 *	setsockopt(fd, SOL_INC, INC_SO_REDUCES, struct inc_reduces)	what nodes have to reduce
 *	connect(fd, struct sockaddr_inc)	joins; returns when all have, or EINPROGRESS + poll
 *	ioctl(fd, INC_IOC_SUBMIT, struct inc_submit)		starts an operation
 *	ioctl(fd, INC_IOC_WAIT, struct inc_wait)		waits for one
 *	ioctl(fd, INC_IOC_SUBMIT_AND_WAIT, struct inc_submit_wait)
 *	ioctl(fd, INC_IOC_SUBMIT_MANY, struct inc_submit_many)	starts several in their order
 *	ioctl(fd, INC_IOC_WAIT_MANY, struct inc_wait_many)	waits for several
 *	getsockopt(fd, SOL_INC, INC_SO_INFO, struct inc_info)	what this rank is and how it fares
 *	ioctl(fd, INC_IOC_CONTRIBUTED, struct inc_contributed)	ranks of a partial result, or ENOENT
 *	ioctl(fd, INC_IOC_REGISTER, struct inc_register)	memory that stays pinned
 *	ioctl(fd, INC_IOC_UNREGISTER, __u32 *id)		until this, or close()
 *	recv(fd, struct inc_completion)		collects one, too; send() and write() are EOPNOTSUPP
 *	connect(fd, ... INC_SA_SHRINK)		after a failure: goes on with the ranks left
 *	shutdown(fd, SHUT_RDWR)			ends the group, for all ranks; any thread may
 *	close(fd)				leaves; in mid-operation aborts it for all ranks
 *
 * SO_BINDTODEVICE (a device or a VRF), SO_MARK and SO_PRIORITY are of all that the rank sends,
 * from the moment on that they are set; the VRF that the rank is in is that of the device at
 * connect(). What this host sends where it reduces itself (INC_SA_EDGE, INC_FALLBACK_EDGE) goes by
 * the same VRF, without mark and priority.
 *
 * There is no constant AF_INC: Linux has no number for it. The module borrows one of a protocol
 * that Linux does not have, 19 (AF_ECONET) unless another module has it; its parameter family, or
 * INC_FAMILY=N when it is built, says another. Programs ask for it: INC_CMD_CAPS_GET.
 *
 * One layout for 32 and 64 bit. Reserved fields and unknown flags must be 0, else EINVAL. What is
 * behind struct sockaddr_inc in a longer address must be 0, else E2BIG.
 */
#ifndef _UAPI_LINUX_INC_SOCKET_H
#define _UAPI_LINUX_INC_SOCKET_H

#include <linux/inc.h>
#include <linux/ioctl.h>
#include <linux/socket.h>

/*
 * Level of setsockopt() and getsockopt(): no number of Linux, whose own are below 512, but that of
 * INC's UDP port.
 */
#define SOL_INC		5227

/*
 * __u8[INC_KEY_LEN], set only: the next connect() proves to the node that we have its key. It is
 * the socket's until it is closed; zeros: none (default). EINVAL: another length. EISCONN: the
 * socket is in a group that has not failed, or joins one.
 */
#define INC_SO_KEY	1
/*
 * struct inc_info, read only. It grows at its end: a program gets as many bytes as both it and the
 * kernel know, how many that are in optlen, and zeros behind them. EINVAL: more than
 * INC_SO_MAX_LEN bytes asked for.
 */
#define INC_SO_INFO	2
#define INC_SO_MAX_LEN	4096
/*
 * struct inc_reduces, set only: connect() joins only where all of that is reduced, by every node of
 * the group; else EPROTONOSUPPORT, and INC_SO_INFO says what is lacking. It is the socket's until
 * it is closed; 0: nothing (default). EINVAL: another length, no such type or operation. EISCONN:
 * as INC_SO_KEY.
 */
#define INC_SO_REDUCES	3

/* Bit i: number i of enum inc_type, or enum inc_op; INC_OP_WSUM is INC_OP_SUM. */
struct inc_reduces {
	__u32	types;
	__u32	ops;
};

/*
 * The socket's group has failed: go on with the ranks that are left, numbered anew in their old
 * order. Group, rank and size are the old ones; no parent: where the group was last. The key is
 * the socket's. INC_SO_INFO and getsockname() tell the new rank and size. Completions that have not
 * been collected are gone. ESTALE: the others went on without this rank. EISCONN: the group has not
 * failed. ENOTCONN: the socket was no member of one. After another failure try again.
 */
#define INC_SA_SHRINK	0x0001
/*
 * There is no node: the group meets at the host of its rank 0, which reduces for all. All ranks say
 * so, and the parent is an address of that host, also for rank 0 itself. Ranks may come before
 * rank 0. The fallback is INC_FALLBACK_EDGE.
 */
#define INC_SA_EDGE	0x0002
/*
 * Sums and products of floats are made in one order wherever the ranks are (INC_ORDER_CANONICAL),
 * also where nodes have to send more for that. One rank is enough to ask for it. EDOM: a node would
 * need more than INC_MAX_PARTS parts of a block.
 */
#define INC_SA_CANONICAL	0x0004
/*
 * INC_STRIPE(index, count), shifted: a striped group is `count` groups with one job, number, rank
 * and size, each with a tree of nodes of its own, to which the rank has a socket each. All ranks
 * say the same count, else EPROTOTYPE. What goes by which of them is theirs to say.
 */
#define INC_SA_STRIPE		0x3f00
#define INC_SA_STRIPE_SHIFT	8

struct sockaddr_inc {
	__kernel_sa_family_t sinc_family;
	__u16	sinc_flags;		/* INC_SA_* */
	__u32	sinc_group;		/* any number, the same at all ranks of the job */
	__u32	sinc_rank;		/* 0 .. size - 1 */
	__u32	sinc_size;		/* 1 .. INC_MAX_RANKS */
	__u16	sinc_parent_family;	/* AF_INET, AF_INET6; 0: netns default (`inc parent`) */
	/* 0, or the module's own (its parameter port), which is that of all hosts; else ERANGE */
	__be16	sinc_parent_port;
	__u32	sinc_scope_id;		/* interface of a link-local parent address, else 0 */
	__u8	sinc_parent[16];	/* address, network order; IPv4 in the first 4 bytes */
	__u64	sinc_job;		/* any number; groups of different jobs never meet */
};

/*
 * One operation. Both buffers must stay valid and untouched until it has completed. N is the size
 * of the group; what the table calls "-" is not looked at.
 *
 *	coll		@send, elements		@recv, elements		in place (@send == @recv)
 *	allreduce	count			count			yes
 *	reduce		count			root: count		root
 *	reduce-scatter	N x count		count			yes: result at the front
 *	broadcast	root: count		others: count		root
 *	allgather	count			N x count		yes: own share in its place
 *	gather		count			root: N x count		root, likewise
 *	scatter		root: N x count		count			root: its share stays
 *	alltoall	N x count		N x count		no
 *	scan, exscan	count			count			yes; exscan: rank 0's stays
 *	barrier		-			-
 *
 * Buffers that are not the same must not overlap. The root of a broadcast whose @wire differs from
 * its @type gets what the others get, and gives @recv too.
 *
 * With INC_MODE_COUNTS, which all ranks give or none, shares differ from rank to rank; @recv_counts
 * and @send_counts are addresses of arrays of N __u64 (elements), @recv_displs and @send_displs
 * likewise say where a rank's share begins in the buffer (elements; 0: they follow one another):
 *
 *	coll		counts				displacements		@count
 *	reduce-scatter	@recv_counts, all the same	-			0
 *	allgather	@recv_counts, all the same	@recv_displs		recv_counts[rank]
 *	gather		root: @recv_counts		root: @recv_displs	what this rank sends
 *	scatter		root: @send_counts		root: @send_displs	what this rank gets
 *	alltoall	@send_counts, @recv_counts	both			0
 *
 * Shares of one buffer that is written to must not overlap. Where ranks cannot know one another's
 * counts (gather, scatter, alltoall), these are exchanged first, inside the operation.
 *
 * With INC_MODE_PART, where shares do not differ and there are some elements, it is one part of an
 * operation: ranks that divide it, and others that do not, disagree.
 */
struct inc_submit {
	__u8	coll;		/* enum inc_coll */
	__u8	type;		/* enum inc_type; 0 for barrier */
	__u8	op;		/* enum inc_op; 0 where nothing is reduced */
	__u8	wire;		/* enum inc_type on the wire; 0: as @type */
	__u8	mode;		/* INC_MODE_SATURATE | INC_MODE_COUNTS | INC_MODE_PART */
	__u8	resv0[3];
	__u32	root;		/* rank; 0 where the collective has none */
	__u32	flags;		/* 0 */
	__u64	count;		/* elements; what a buffer holds: 0 .. INC_MAX_COUNT */
	__u64	send;		/* user address */
	__u64	recv;		/* user address */
	__u64	send_counts;	/* user addresses of __u64[N], or 0 */
	__u64	send_displs;
	__u64	recv_counts;
	__u64	recv_displs;
	__u64	weight;		/* INC_OP_WSUM: this rank's, an IEEE 754 binary64; 0 otherwise */
	__u64	user_data;	/* comes back in the completion */
	__u64	handle;		/* out: names the operation in INC_IOC_WAIT; never 0 */
	/* ids of registered memory that @send and @recv lie in; 0: none */
	__u32	send_reg;
	__u32	recv_reg;
};

/*
 * Memory whose pages are pinned from now on, so that operations on it need not do that. They give
 * its id as @send_reg or @recv_reg, both if their buffers are one. What does not lie in it, all
 * shares of a buffer that is more than 112 bytes, is pinned for the operation as if there was no
 * id, and so is what another process submits, as a child of fork(): ids are of the process that has
 * registered. ENOENT: there is no such id, or for INC_IOC_UNREGISTER it is another process's.
 *
 * It must be readable, and writable with INC_REGISTER_WRITE, of which the pages of @recv have to
 * be; registrations may overlap. It must not be unmapped, or be made writable that was not, as long
 * as operations name it: they go on with the pages that were there, as remote DMA does.
 *
 * Pages count as those of operations do, but with what is registered no more than half of any
 * limit may be in use: of `inc limits` (ENOBUFS, EDQUOT), and of RLIMIT_MEMLOCK (ENOMEM) without
 * CAP_IPC_LOCK. ENOSPC: the socket has INC_MAX_REGISTERED. EFAULT: no such memory, or none that can
 * be pinned. INC_IOC_UNREGISTER: EBUSY: an operation that has not been collected names it. A socket
 * need not be connected for either, and keeps what it has with INC_SA_SHRINK.
 */
#define INC_REGISTER_WRITE	0x0001

#define INC_MAX_REGISTERED	4096

struct inc_register {
	__u64	addr;		/* any alignment */
	__u64	len;		/* bytes */
	__u32	flags;		/* INC_REGISTER_WRITE */
	__u32	id;		/* 0; out: never 0 */
	__u64	resv;
};

/* What an operation's failure was about; all zero after success. */
struct inc_error_info {
	__u16	code;		/* enum inc_err_code */
	__u16	resv;
	__u32	opseq;		/* operation that failed first */
	__u32	rank[2];	/* ranks concerned; ~0: none */
	struct {		/* theirs, for INC_ERR_MISMATCH */
		__u8	coll, type, op, wire;
		__u32	root;
		__u64	count;
		__u8	mode, resv[3];
		/* with INC_MODE_COUNTS: a hash of what this rank said the counts are */
		__u32	counts;
	} desc[2];
};

struct inc_completion {
	__u64	handle;
	__u64	user_data;
	__s32	result;		/* 0 or a negative errno */
	__u32	missing;	/* result 0: ranks that are not in it (late-policy partial) */
	struct inc_error_info error;
};

struct inc_wait {
	__u64	handle;		/* 0: any operation */
	__s64	timeout_ms;	/* -1: no limit; 0: only look (EAGAIN: not done); else ETIMEDOUT */
	struct inc_completion completion;	/* out */
};

/*
 * Memory of at most 112 bytes a side is not pinned: the result is copied to its address when the
 * completion is collected, here or by who waits for it after EINTR or ETIMEDOUT. If it is not there
 * any more, or in another process, the completion's result is -EFAULT.
 */
struct inc_submit_wait {
	struct inc_submit submit;
	/* timeout_ms in; the rest out. After EINTR or ETIMEDOUT submit.handle is valid */
	struct inc_wait	wait;
};

#define INC_MAX_MANY	1024	/* operations of one INC_IOC_SUBMIT_MANY, INC_IOC_WAIT_MANY */

/*
 * Several operations, as if each was submitted behind the one before it; short ones share packets.
 * Memory of at most 112 bytes a side is not pinned: the result is at its address when the
 * completion has been collected, in whatever way, by a thread of the process that has submitted
 * it; else the completion's result is -EFAULT.
 *
 * The first @taken are under way and have their handles, those behind them have not begun. 0: that
 * is all; else errno is what ops[taken] got, or EINTR or EFAULT of what was between. ENOTCONN,
 * EAGAIN and all that INC_IOC_SUBMIT says, and EINVAL: @n is 0 or more than INC_MAX_MANY, or @size
 * is less than that of struct inc_submit here or more than INC_SO_MAX_LEN. An operation grows at
 * its end: what is behind the part that the kernel knows must be 0, else E2BIG.
 */
struct inc_submit_many {
	__u64	ops;		/* address of struct inc_submit[n] */
	__u32	n;
	__u32	size;		/* bytes of each: sizeof(struct inc_submit) */
	__u32	flags;		/* 0 */
	__u32	taken;		/* out */
};

/*
 * Collects the completions of operations by the handles that stand in @completions, 0: any, one
 * after the other, and waits for each if need be. 0: all; else the first @collected are, and errno
 * is what INC_IOC_WAIT says for the one behind them. @size as above: what is behind the part that
 * the kernel knows is cleared.
 */
struct inc_wait_many {
	__u64	completions;	/* address of struct inc_completion[n], handle in, the rest out */
	__s64	timeout_ms;	/* as in struct inc_wait, for all together */
	__u32	n;
	__u32	size;		/* bytes of each: sizeof(struct inc_completion) */
	__u32	flags;		/* 0 */
	__u32	collected;	/* out */
};

/* Whose contributions the result of an operation with `missing` has; the last few are known. */
struct inc_contributed {
	__u64	handle;		/* in: of a collected completion; 0: of the last with `missing` */
	__u64	ranks;		/* address of __u32[words]: bit rank % 32 of rank / 32: is in it */
	__u32	words;		/* room there; no more is written than the group has ranks */
	__u32	size;		/* out: ranks of the group */
	__u32	missing;	/* out */
	__u32	resv;		/* 0 */
};

/* Of INC_SO_INFO: new fields are added at the end, in multiples of 8 bytes. */
struct inc_info {
	__u32	group;
	__u32	rank;
	__u32	size;
	__u32	state;		/* enum inc_member_state */
	__u32	epoch;
	__u32	window;		/* blocks */
	__u32	block;		/* bytes of payload of a full block */
	__u32	joined;		/* while WAITING: ranks that are there */
	/* while WAITING or with an operation under way: lowest rank waited for; ~0: none */
	__u32	missing;
	__u32	srtt_us;
	__u64	submitted;	/* operations */
	__u64	completed;
	__u64	blocks_sent;
	__u64	blocks_resent;
	struct inc_error_info error;	/* the last one */
	__u16	parent_family;
	__be16	parent_port;
	__u32	moves;		/* the move that the group is at: 0 if it was never elsewhere */
	__u8	parent[16];
	__u8	placement;	/* enum inc_placement */
	__u8	fallback;	/* enum inc_fallback */
	__u8	order;		/* enum inc_order, valid with epoch > 0 */
	__u8	stripe;		/* INC_STRIPE() */
	__u8	resv[4];
	/*
	 * what a node of the group does not reduce, so that operations with it are EOPNOTSUPP at
	 * all ranks; after EPROTONOSUPPORT what INC_SO_REDUCES has asked for and a node lacks
	 */
	struct inc_reduces lacks;
};

#define INC_IOC_SUBMIT		_IOWR('i', 0xc0, struct inc_submit)
#define INC_IOC_WAIT		_IOWR('i', 0xc1, struct inc_wait)
#define INC_IOC_SUBMIT_AND_WAIT	_IOWR('i', 0xc2, struct inc_submit_wait)
#define INC_IOC_CONTRIBUTED	_IOWR('i', 0xc3, struct inc_contributed)
#define INC_IOC_REGISTER	_IOWR('i', 0xc4, struct inc_register)
#define INC_IOC_UNREGISTER	_IOW('i', 0xc5, __u32)
#define INC_IOC_SUBMIT_MANY	_IOWR('i', 0xc6, struct inc_submit_many)
#define INC_IOC_WAIT_MANY	_IOWR('i', 0xc7, struct inc_wait_many)

#endif
