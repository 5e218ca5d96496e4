/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * In-network collectives: limits and numbers that packets (linux/inc_wire.h), sockets
 * (linux/inc_socket.h) and netlink (linux/inc_netlink.h) share.
 */
#ifndef _UAPI_LINUX_INC_H
#define _UAPI_LINUX_INC_H

#include <linux/types.h>

#define INC_PORT		5227	/* default UDP port of nodes and hosts */

#define INC_MAX_RANKS		4096	/* ranks of a group, children of a node */
#define INC_MAX_WINDOW		4096	/* blocks, a power of two */
#define INC_MIN_WINDOW		4
#define INC_MAX_COUNT		0xffffffffULL	/* elements of one operation */
#define INC_KEY_LEN		16
#define INC_MAX_STANDBY		3	/* nodes that a group may move to */
#define INC_MAX_TREES		32	/* of a group at the edge */
#define INC_MAX_STRIPES		8	/* of a group, each with a tree of nodes of its own */

/*
 * Which stripe of how many a rank joins, in 6 bits: 0 is the only one. A number that says a stripe
 * behind the last one is none.
 */
#define INC_STRIPE(index, count)	((index) | ((count) - 1) << 3)
#define INC_STRIPE_INDEX(stripe)	((stripe) & 7)
#define INC_STRIPE_COUNT(stripe)	(((stripe) >> 3 & 7) + 1)

/* Where a group goes when its node is lost. */
enum inc_fallback {
	INC_FALLBACK_NONE,	/* nowhere: its operations fail */
	INC_FALLBACK_STANDBY,	/* to the standby nodes */
	INC_FALLBACK_EDGE,	/* to standby nodes if there are any, then to the hosts */
	__INC_FALLBACK_MAX
};

/* Where a group is reduced. */
enum inc_placement {
	INC_PLACEMENT_NODE,	/* at the node that the ranks were connected to */
	INC_PLACEMENT_STANDBY,
	INC_PLACEMENT_EDGE,
};

/* The order in which a group's contributions are folded, where that makes a difference. */
enum inc_order {
	/* along one binary tree over the numbers of the ranks, wherever these are */
	INC_ORDER_CANONICAL,
	INC_ORDER_TREE,		/* along such a tree over the children of each node */
};

/* What happens when a rank that answers has not contributed for late_ms. */
enum inc_late_policy {
	INC_LATE_WAIT,		/* it is waited for; late_ms 0: reported after a second */
	INC_LATE_FAIL,		/* the group fails with INC_ERR_RANK_LATE */
	INC_LATE_PARTIAL,	/* reductions go on without it, others fail; no fallback */
	__INC_LATE_MAX
};

#define INC_LATE_MAX (__INC_LATE_MAX - 1)

enum inc_err_code {
	INC_ERR_NONE,
	INC_ERR_MISMATCH,	/* two ranks disagree about the operation: both descriptors given */
	INC_ERR_CANCELED,	/* an operation before this one failed */
	INC_ERR_RANK_DEAD,	/* no answer of a rank's endpoint within the `dead` limit */
	INC_ERR_RANK_ABORT,	/* a rank was killed, or ended the group: closed in mid-operation */
	INC_ERR_RANK_LATE,	/* a rank did not contribute within the `late` limit, policy fail */
	INC_ERR_RANK_FAULT,	/* a rank's buffer went away during the operation */
	INC_ERR_NODE_DEAD,	/* no answer of the node within the `dead` limit */
	INC_ERR_NODE_GONE,	/* the node was removed by its administrator */
	INC_ERR_LEFT,		/* a rank has left the group */
	INC_ERR_UNSUPPORTED,	/* the node cannot reduce this type like this: descriptor 0 */
	INC_ERR_COUNTS,		/* rank[0] sends rank[1] another count than that expects */
	INC_ERR_RANK_PATH,	/* short packets come through to the node, but no blocks: MTU? */
	__INC_ERR_MAX
};

#define INC_ERR_MAX (__INC_ERR_MAX - 1)

/* A rank's membership, as its own host sees it. */
enum inc_member_state {
	INC_STATE_CLOSED,	/* not connected */
	INC_STATE_JOINING,	/* no challenge yet */
	INC_STATE_WAITING,	/* accepted, other ranks are missing */
	INC_STATE_READY,
	INC_STATE_RESYNC,	/* after an error: joining the next epoch */
	INC_STATE_LEAVING,
	INC_STATE_FAILED,	/* group is over; see error */
};

enum inc_coll {
	INC_COLL_BARRIER = 1,
	INC_COLL_ALLREDUCE,
	INC_COLL_REDUCE,
	INC_COLL_REDUCE_SCATTER,
	INC_COLL_BROADCAST,
	INC_COLL_ALLGATHER,
	INC_COLL_GATHER,
	INC_COLL_SCATTER,
	INC_COLL_ALLTOALL,
	INC_COLL_SCAN,
	INC_COLL_EXSCAN,
	INC_COLL_LEAVE,		/* what close() contributes; not for SUBMIT */
	__INC_COLL_MAX
};

#define INC_COLL_MAX (__INC_COLL_MAX - 1)

/* Element types; little-endian on the wire and in buffers. For what nodes reduce see `inc caps`. */
enum inc_type {
	INC_TYPE_NONE,
	INC_TYPE_I8,
	INC_TYPE_I16,
	INC_TYPE_I32,
	INC_TYPE_I64,
	INC_TYPE_U8,
	INC_TYPE_U16,
	INC_TYPE_U32,
	INC_TYPE_U64,
	INC_TYPE_F16,
	INC_TYPE_BF16,
	INC_TYPE_F32,
	INC_TYPE_F64,
	INC_TYPE_F8E4M3,
	INC_TYPE_F8E5M2,
	INC_TYPE_BOOL,
	INC_TYPE_C32,		/* complex, two f32 */
	INC_TYPE_C64,		/* complex, two f64 */
	INC_TYPE_I32_I32,	/* value and index, for MINLOC and MAXLOC only: two i32 */
	INC_TYPE_F32_I32,	/* f32 value, i32 index */
	INC_TYPE_I64_I64,
	INC_TYPE_F64_I64,
	/*
	 * Block floats of the OCP Microscaling Formats (MX) Specification v1.0: an element is a
	 * block of INC_MX_VALUES values, a byte of scale (E8M0) and then the values, for SUM, AVG,
	 * MIN and MAX; counts are of blocks. inc_mx_pack() makes them of f32.
	 */
	INC_TYPE_MXF8E4M3,	/* 33 bytes */
	INC_TYPE_MXF8E5M2,	/* 33 bytes */
	INC_TYPE_MXF4E2M1,	/* 17 bytes; of two values in a byte the first is in the low bits */
	INC_TYPE_MXI8,		/* 33 bytes; two's complement, in units of 1/64 of the scale */
	__INC_TYPE_MAX
};

#define INC_TYPE_MAX (__INC_TYPE_MAX - 1)

#define INC_MX_VALUES		32	/* values of one block, see INC_TYPE_MXF8E4M3 */

/*
 * What type and operation do not say: bits of inc_submit.mode, inc_desc.mode and, INC_MODE_WIRE
 * only, inc_hdr.mode.
 */
#define INC_MODE_SATURATE	0x01	/* SUM of i8, i16, u8, u16: clamped once to the range */
#define INC_MODE_COUNTS		0x02	/* counts differ from rank to rank */
/* one part of an operation that is divided, by who submits, among groups: stripes */
#define INC_MODE_PART		0x04
#define INC_MODE_COUNTS_PHASE	0x80	/* the exchange of counts before it; not for SUBMIT */
#define INC_MODE_WIRE		INC_MODE_SATURATE

enum inc_op {
	INC_OP_NONE,
	INC_OP_SUM,
	INC_OP_PROD,
	INC_OP_MIN,
	INC_OP_MAX,
	INC_OP_BAND,
	INC_OP_BOR,
	INC_OP_BXOR,
	INC_OP_LAND,
	INC_OP_LOR,
	INC_OP_LXOR,
	INC_OP_MINLOC,
	INC_OP_MAXLOC,
	INC_OP_AVG,		/* the sum divided once by the number of ranks */
	INC_OP_WSUM,		/* sum of weight x element, a weight per rank; SUM at the node */
	__INC_OP_MAX		/* not an operation; INC_OP_MAX is */
};

#endif
