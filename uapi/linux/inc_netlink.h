/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Generic netlink family "inc". Specification: Documentation/netlink/specs/inc.yaml; a test holds
 * the two together.
 *
 * GET commands answer a request or a dump; ADD, SET and DEL need CAP_NET_ADMIN in the socket's
 * network namespace.
 */
#ifndef _UAPI_LINUX_INC_NETLINK_H
#define _UAPI_LINUX_INC_NETLINK_H

#define INC_GENL_NAME		"inc"
#define INC_GENL_VERSION	1
#define INC_GENL_MCGRP		"events"
/* the same with what may disturb a group, for who has CAP_NET_ADMIN */
#define INC_GENL_MCGRP_DETAILS	"details"

enum {
	INC_CMD_UNSPEC,
	INC_CMD_CAPS_GET,	/* do: what this module can do: INC_A_CAPS_* */
	INC_CMD_NODE_GET,	/* dump: INC_A_NODE; do with INC_A_NODE_IFINDEX or _IFNAME */
	INC_CMD_NODE_ADD,	/* INC_A_NODE with IFINDEX or IFNAME, limits optional; REPLACE */
	INC_CMD_NODE_SET,	/* the same; limits of groups formed later */
	INC_CMD_NODE_DEL,
	INC_CMD_PARENT_GET,	/* do: INC_A_PARENT, the default of this netns */
	INC_CMD_PARENT_SET,
	INC_CMD_PARENT_DEL,
	INC_CMD_GROUP_GET,	/* dump: INC_A_GROUP of nodes and sockets; filter INC_A_GROUP_ID */
	INC_CMD_MEMBER_GET,	/* dump: INC_A_MEMBER, nodes' children; filter INC_A_GROUP_ID */
	INC_CMD_STATS_GET,	/* do: INC_A_STATS of the netns */
	INC_CMD_PORT_GET,	/* dump: INC_A_PORT, traffic of nodes per port */
	INC_CMD_EVENT,		/* notification: INC_A_EVENT */
	INC_CMD_LIMIT_GET,	/* dump: INC_A_LIMIT of the netns, then of every user there is */
	INC_CMD_LIMIT_SET,	/* INC_A_LIMIT: SCOPE, VALUES; of users: initial userns only */
	INC_CMD_TENANT_GET,	/* dump: INC_A_TENANT, in the order in which a JOIN meets them */
	/* INC_A_TENANT: NAME; then only ranks that one takes may join; REPLACE */
	INC_CMD_TENANT_ADD,
	INC_CMD_TENANT_SET,	/* the same: what is given changes; groups that there are stay */
	INC_CMD_TENANT_DEL,	/* INC_A_TENANT: NAME; its groups stay, and count for nobody */
	__INC_CMD_MAX
};

#define INC_CMD_MAX (__INC_CMD_MAX - 1)

/* Top level. */
enum {
	INC_A_UNSPEC,
	INC_A_CAPS,		/* nest INC_A_CAPS_* */
	INC_A_NODE,		/* nest INC_A_NODE_* */
	INC_A_PARENT,		/* nest INC_A_PARENT_* */
	INC_A_GROUP,		/* nest INC_A_GROUP_* */
	INC_A_MEMBER,		/* nest INC_A_MEMBER_* */
	INC_A_STATS,		/* nest: attribute type = enum inc_counter, u64 */
	INC_A_PORT,		/* nest INC_A_PORT_* */
	INC_A_EVENT,		/* nest INC_A_EVENT_* */
	INC_A_GROUP_ID,		/* u32: filter of dumps */
	INC_A_LIMIT,		/* nest INC_A_LIMIT_* */
	INC_A_TENANT,		/* nest INC_A_TENANT_* */
	/*
	 * flag, of ADD: one that is there already gets the settings of a new one, and keeps its
	 * groups and counters. An attribute, as generic netlink refuses NLM_F_REPLACE.
	 */
	INC_A_REPLACE,
	__INC_A_MAX
};

#define INC_A_MAX (__INC_A_MAX - 1)

enum {
	INC_A_CAPS_UNSPEC,
	INC_A_CAPS_FAMILY_NUMBER,	/* u32: AF_INC of this machine */
	INC_A_CAPS_WIRE_VERSION,	/* u32 */
	INC_A_CAPS_PORT,		/* u32 */
	INC_A_CAPS_KERNEL,		/* multi, nest INC_A_KERNEL_*: reduction kernels */
	INC_A_CAPS_MAX_RANKS,		/* u32 */
	__INC_A_CAPS_MAX
};

#define INC_A_CAPS_MAX (__INC_A_CAPS_MAX - 1)

enum {
	INC_A_KERNEL_UNSPEC,
	INC_A_KERNEL_TYPE,	/* string */
	INC_A_KERNEL_OP,	/* string */
	INC_A_KERNEL_VARIANT,	/* string: name of the fastest variant in use */
	INC_A_KERNEL_MODE,	/* string: "saturate"; not there if the mode is 0 */
	__INC_A_KERNEL_MAX
};

#define INC_A_KERNEL_MAX (__INC_A_KERNEL_MAX - 1)

enum {
	INC_A_NODE_UNSPEC,
	INC_A_NODE_IFINDEX,	/* u32; 0: the node of all devices */
	INC_A_NODE_IFNAME,	/* string; "all": the node of all devices */
	INC_A_NODE_DEAD_MS,	/* u32: 100..60000, default 10000 */
	INC_A_NODE_LATE_MS,	/* u32: 0 = off, else 10..3600000; default 0 */
	INC_A_NODE_WINDOW,	/* u32: 2^n blocks, INC_MIN_WINDOW..INC_MAX_WINDOW; default 512 */
	INC_A_NODE_MAX_GROUPS,	/* u32: default 64 */
	INC_A_NODE_MAX_MEMORY,	/* u64: bytes of held packets per group; default 64 MiB */
	INC_A_NODE_GROUPS,	/* u32, out: groups now */
	INC_A_NODE_MEMORY,	/* u64, out: bytes held now */
	INC_A_NODE_KEY,		/* binary, INC_KEY_LEN, in: what ranks must have; zero: nothing */
	INC_A_NODE_KEYED,	/* flag, out: a key is set */
	INC_A_NODE_FALLBACK,	/* u32: enum inc_fallback, default none; of groups formed later */
	INC_A_NODE_STANDBY,	/* multi, nest INC_A_PARENT_*, up to INC_MAX_STANDBY; in: all */
	INC_A_NODE_LATE_POLICY,	/* u32: enum inc_late_policy; default wait, fail if LATE_MS > 0 */
	/*
	 * multi, nest INC_A_PARENT_*, up to INC_MAX_STRIPES: the nodes above, asked for groups of
	 * which not all ranks come here: for stripe i of a group number i modulo how many there
	 * are; in: all, one address of zeros: there is none (default)
	 */
	INC_A_NODE_PARENT,
	/*
	 * nest INC_A_PREFIX_*: IPv4 multicast groups of which one is chosen for each group whose
	 * ranks come by one port, and results go there; length 0: none is (default)
	 */
	INC_A_NODE_MULTICAST,
	/*
	 * u32: what the node does not reduce, of groups formed later: bit i is enum inc_type, or
	 * enum inc_op, number i, but INC_OP_WSUM, and not all of them; default 0: it reduces all
	 */
	INC_A_NODE_LACKS_TYPES,
	INC_A_NODE_LACKS_OPERATIONS,
	__INC_A_NODE_MAX
};

#define INC_A_NODE_MAX (__INC_A_NODE_MAX - 1)

enum {
	INC_A_PARENT_UNSPEC,
	INC_A_PARENT_ADDR,	/* binary, 4 or 16 bytes, network order */
	INC_A_PARENT_PORT,	/* u32, host order: default the module's (parameter port) */
	INC_A_PARENT_IFINDEX,	/* u32: of a link-local address */
	__INC_A_PARENT_MAX
};

#define INC_A_PARENT_MAX (__INC_A_PARENT_MAX - 1)

enum inc_role {
	INC_ROLE_NODE,		/* this box reduces for the group */
	INC_ROLE_RANK,		/* a socket of this netns is a rank of it */
};

enum inc_group_state {
	INC_GROUP_JOINING,	/* ranks are missing */
	INC_GROUP_ACTIVE,
	INC_GROUP_RESYNC,	/* an operation failed; ranks are joining the next epoch */
	INC_GROUP_FAILED,	/* over: see the error */
	INC_GROUP_LEFT,		/* all ranks have left */
};

enum {
	INC_A_GROUP_UNSPEC,
	INC_A_GROUP_GROUP,	/* u32 */
	INC_A_GROUP_ROLE,	/* u32: enum inc_role */
	INC_A_GROUP_STATE,	/* u32: enum inc_group_state (node), enum inc_member_state (rank) */
	INC_A_GROUP_IFINDEX,	/* u32: the node's device, 0: all (node) */
	INC_A_GROUP_INCARNATION,/* u32 */
	INC_A_GROUP_EPOCH,	/* u32 */
	INC_A_GROUP_SIZE,	/* u32 */
	INC_A_GROUP_JOINED,	/* u32 */
	INC_A_GROUP_RANK,	/* u32 (rank) */
	INC_A_GROUP_WINDOW,	/* u32 */
	INC_A_GROUP_BLOCK,	/* u32: bytes */
	INC_A_GROUP_NEXT,	/* u64: first block that is not complete */
	INC_A_GROUP_WAITING,	/* u32: lowest rank that is waited for; absent: none */
	INC_A_GROUP_WAITED_MS,	/* u32: for how long */
	INC_A_GROUP_LATE,	/* flag: longer than a second */
	INC_A_GROUP_MEMORY,	/* u64: bytes of packets held */
	INC_A_GROUP_ERROR,	/* nest INC_A_ERROR_*: absent: none */
	INC_A_GROUP_STATS,	/* nest: attribute type = enum inc_counter, u64 */
	INC_A_GROUP_PARENT,	/* nest INC_A_PARENT_* (rank; node that is not the root) */
	INC_A_GROUP_SRTT,	/* u32: microseconds (rank) */
	INC_A_GROUP_CWND,	/* u32: blocks (rank) */
	INC_A_GROUP_PID,	/* u32: of the process that joined (rank), as the reader sees it */
	INC_A_GROUP_FALLBACK,	/* u32: enum inc_fallback */
	INC_A_GROUP_PLACEMENT,	/* u32: enum inc_placement (rank) */
	INC_A_GROUP_MOVES,	/* u32: the move that the group is at */
	INC_A_GROUP_TREES,	/* u32: how many share the blocks, at the edge; absent: one */
	INC_A_GROUP_TREE,	/* u32: number of this tree, if the root is elsewhere (node) */
	INC_A_GROUP_TENANT,	/* string: whose it is; absent: nobody's (node) */
	INC_A_GROUP_JOB,	/* u64: absent: 0 */
	INC_A_GROUP_MISSING,	/* binary, 4 or more bytes: u32s, ranks that are missing (node) */
	INC_A_GROUP_VRF,	/* u32: ifindex of the VRF of its ranks; absent: none (node) */
	INC_A_GROUP_LEVELS,	/* u32: levels of nodes below the root; absent: none */
	INC_A_GROUP_UNANSWERED_MS,/* u32: for which the parent has not answered; absent: it has */
	INC_A_GROUP_ORDER,	/* u32: enum inc_order; absent: no epoch has begun */
	INC_A_GROUP_PARTS,	/* u32: of what goes up of a sum of floats; absent: one (node) */
	INC_A_GROUP_UID,	/* u32: of that process's user (rank), as the reader sees it */
	INC_A_GROUP_STRIPE,	/* u32: which stripe of the group it is; absent: the only one */
	INC_A_GROUP_STRIPES,	/* u32: of so many; absent: of one */
	INC_A_GROUP_MULTICAST,	/* binary, 4 bytes: results go there (node), or are heard there */
	INC_A_GROUP_HEARING,	/* u32, of a node with MULTICAST: ranks that hear there */
	__INC_A_GROUP_MAX
};

#define INC_A_GROUP_MAX (__INC_A_GROUP_MAX - 1)

enum {
	INC_A_ERROR_UNSPEC,
	INC_A_ERROR_CODE,	/* u32: enum inc_err_code */
	INC_A_ERROR_OPSEQ,	/* u32 */
	INC_A_ERROR_RANK0,	/* u32 */
	INC_A_ERROR_RANK1,	/* u32 */
	INC_A_ERROR_TEXT,	/* unused */
	INC_A_ERROR_DESC0,	/* nest INC_A_DESC_*: what RANK0 has asked for; absent: unknown */
	INC_A_ERROR_DESC1,	/* nest INC_A_DESC_*: what RANK1 has asked for */
	__INC_A_ERROR_MAX
};

#define INC_A_ERROR_MAX (__INC_A_ERROR_MAX - 1)

/* An operation as one rank has asked for it; all but COUNTS_HASH are always there. */
enum {
	INC_A_DESC_UNSPEC,
	INC_A_DESC_COLL,	/* u32: enum inc_coll */
	INC_A_DESC_TYPE,	/* u32: enum inc_type of the buffers */
	INC_A_DESC_OP,		/* u32: enum inc_op */
	INC_A_DESC_WIRE,	/* u32: enum inc_type on the wire */
	INC_A_DESC_MODE,	/* u32: INC_MODE_* */
	INC_A_DESC_ROOT,	/* u32: rank; 0 where the collective has none */
	INC_A_DESC_OPSEQ,	/* u32: which operation of its rank this is */
	INC_A_DESC_COUNT,	/* u64: elements */
	INC_A_DESC_COUNTS_HASH,	/* u32: hash of per-rank counts, with INC_MODE_COUNTS */
	__INC_A_DESC_MAX
};

#define INC_A_DESC_MAX (__INC_A_DESC_MAX - 1)

enum {
	INC_A_MEMBER_UNSPEC,
	INC_A_MEMBER_GROUP,	/* u32 */
	INC_A_MEMBER_INCARNATION,	/* u32 */
	INC_A_MEMBER_RANK,	/* u32 */
	INC_A_MEMBER_ADDR,	/* binary, 4 or 16 bytes */
	INC_A_MEMBER_UDP_PORT,	/* u32, host order */
	INC_A_MEMBER_IFINDEX,	/* u32: the port it is bound to */
	INC_A_MEMBER_STATE,	/* u32: enum inc_member_state */
	INC_A_MEMBER_HEARD_MS,	/* u32: since its last packet */
	INC_A_MEMBER_NEXT,	/* u64: first block that it has not contributed */
	INC_A_MEMBER_SRTT,	/* u32: microseconds */
	INC_A_MEMBER_LATE,	/* nest INC_A_LATE_*: how late its contributions are */
	INC_A_MEMBER_RANKS,	/* u32: it is a node, with so many ranks below; absent: a rank */
	INC_A_MEMBER_JOB,	/* u64: absent: 0 */
	INC_A_MEMBER_TREE,	/* u32: number of the group's tree; absent: 0 */
	INC_A_MEMBER_STRIPE,	/* u32: which stripe of the group it is in; absent: the only one */
	INC_A_MEMBER_HEARS,	/* flag: it hears what is sent by multicast */
	__INC_A_MEMBER_MAX
};

#define INC_A_MEMBER_MAX (__INC_A_MEMBER_MAX - 1)

#define INC_LATE_BUCKETS	24	/* of INC_A_LATE_HIST */

/*
 * The child whose contribution completed a block is charged with the time for which all others had
 * been there by then. Microseconds, over the life of the group.
 */
enum {
	INC_A_LATE_UNSPEC,
	INC_A_LATE_BLOCKS,	/* u64: blocks that it was the last one for */
	INC_A_LATE_SUM_US,	/* u64: all times together; mean = sum / blocks */
	INC_A_LATE_MAX_US,	/* u64: the longest */
	INC_A_LATE_HIST,	/* binary: INC_LATE_BUCKETS u64, blocks with 0, 1, 2..3, ... us */
	INC_A_LATE_MISSED,	/* u64: blocks that were completed without it */
	__INC_A_LATE_MAX
};

#define INC_A_LATE_MAX (__INC_A_LATE_MAX - 1)

enum {
	INC_A_PORT_UNSPEC,
	INC_A_PORT_NODE,	/* u32: ifindex of the node's device */
	INC_A_PORT_IFINDEX,	/* u32 */
	INC_A_PORT_IFNAME,	/* string */
	INC_A_PORT_RX_PACKETS,	/* u64: INC packets, super-packets counted as their segments */
	INC_A_PORT_RX_BYTES,	/* u64: IP bytes, the headers of every segment included */
	INC_A_PORT_RX_SKBS,	/* u64: as received: less than packets if super-packets are whole */
	INC_A_PORT_TX_PACKETS,
	INC_A_PORT_TX_BYTES,
	INC_A_PORT_TX_SKBS,
	__INC_A_PORT_MAX
};

#define INC_A_PORT_MAX (__INC_A_PORT_MAX - 1)

enum inc_event {
	INC_EVENT_NODE_ADD = 1,
	INC_EVENT_NODE_DEL,
	INC_EVENT_PARENT,	/* default parent set or deleted */
	INC_EVENT_GROUP_FORMED,	/* all ranks are there */
	INC_EVENT_GROUP_ERROR,	/* ERROR says what */
	INC_EVENT_GROUP_EPOCH,	/* the group works again */
	INC_EVENT_GROUP_LEFT,	/* and is gone */
	INC_EVENT_RANK_LATE,	/* others have waited for RANK for more than a second, with BLOCK */
	INC_EVENT_RANK_BACK,	/* and has come */
	INC_EVENT_RANK_DEAD,
	INC_EVENT_MOVING,	/* a rank here has lost its parent, or is called: to PARENT */
	INC_EVENT_MOVED,	/* and the group works there */
	INC_EVENT_NODE_SET,	/* a node has got settings: by SET, or ADD with REPLACE */
	INC_EVENT_TENANT_ADD,	/* TENANT */
	INC_EVENT_TENANT_SET,	/* by SET, or ADD with REPLACE */
	INC_EVENT_TENANT_DEL,
	INC_EVENT_LIMIT_SET,	/* SCOPE; of users in the network namespace of who has set them */
	/* PARENT has not answered a rank (RANK) or node (IFINDEX) here for more than a second */
	INC_EVENT_PARENT_SILENT,
	INC_EVENT_PARENT_BACK,	/* and is heard again */
	__INC_EVENT_MAX
};

enum {
	INC_A_EVENT_UNSPEC,
	INC_A_EVENT_TYPE,	/* u32: enum inc_event */
	INC_A_EVENT_IFINDEX,	/* u32 */
	INC_A_EVENT_GROUP,	/* u32 */
	INC_A_EVENT_INCARNATION,	/* u32 */
	INC_A_EVENT_RANK,	/* u32 */
	INC_A_EVENT_EPOCH,	/* u32 */
	INC_A_EVENT_TEXT,	/* unused */
	INC_A_EVENT_ERROR,	/* nest INC_A_ERROR_*: of GROUP_ERROR */
	INC_A_EVENT_BLOCK,	/* u64: that is waited for, of RANK_LATE and RANK_BACK */
	INC_A_EVENT_WAITED_MS,	/* u32: for how long, of the same and of PARENT_SILENT, _BACK */
	INC_A_EVENT_PLACEMENT,	/* u32: enum inc_placement, of MOVING and MOVED */
	/* nest INC_A_PARENT_*: of them, of PARENT and PARENT_SILENT and _BACK; absent: none */
	INC_A_EVENT_PARENT,
	INC_A_EVENT_TENANT,	/* string: its name, of TENANT_ADD, _SET and _DEL */
	INC_A_EVENT_SCOPE,	/* u32: enum inc_limit_scope, of LIMIT_SET */
	INC_A_EVENT_STRIPE,	/* u32: which stripe of the group it is; absent: the only one */
	INC_A_EVENT_STRIPES,	/* u32: of so many; absent: of one */
	__INC_A_EVENT_MAX
};

#define INC_A_EVENT_MAX (__INC_A_EVENT_MAX - 1)

enum inc_limit_scope {
	INC_SCOPE_NETNS,	/* this network namespace */
	INC_SCOPE_USER,		/* each user of this machine */
};

enum {
	INC_A_LIMIT_UNSPEC,
	INC_A_LIMIT_SCOPE,	/* u32: enum inc_limit_scope */
	INC_A_LIMIT_UID,	/* u32, out: whose (user) */
	INC_A_LIMIT_VALUES,	/* nest: attribute type = enum inc_limit, u64: the limits */
	INC_A_LIMIT_USE,	/* nest, out: the same: in use now */
	INC_A_LIMIT_REFUSED,	/* nest, out: the same: times that the limit was met */
	__INC_A_LIMIT_MAX
};

#define INC_A_LIMIT_MAX (__INC_A_LIMIT_MAX - 1)

#define INC_TENANT_NAME		16	/* bytes of a tenant's name, with the 0 behind it */
#define INC_TENANT_RATE_MIN	1000ULL	/* bits per second */
#define INC_TENANT_RATE_MAX	1000000000000000ULL
#define INC_TENANT_PLACES	8	/* at most so many prefixes, and ports */

/*
 * A tenant: who it is (all that is given must fit: prefix, port, key), and what it may have at the
 * nodes of the network namespace.
 */
enum {
	INC_A_TENANT_UNSPEC,
	INC_A_TENANT_NAME,	/* string: letters, digits, dots, dashes and underscores */
	INC_A_TENANT_KEY,	/* binary, INC_KEY_LEN, in: instead of the node's; zero: that */
	INC_A_TENANT_KEYED,	/* flag, out: a key is set */
	INC_A_TENANT_PREFIX,	/* multi, nest INC_A_PREFIX_*; in: all; an empty one: anywhere */
	INC_A_TENANT_PORT,	/* multi, u32: ifindex of port, bridge or VRF; in: all; 0: any */
	INC_A_TENANT_MAX_GROUPS,	/* u32: 1..65536; default 65536 */
	INC_A_TENANT_MAX_SLOTS,		/* u32: two windows for a group; 8..2^29, default 2^29 */
	INC_A_TENANT_MAX_MEMORY,	/* u64: bytes reserved for groups and held; default 1 TiB */
	INC_A_TENANT_CPU,		/* u32: contributions: percent of a CPU, 0: no limit */
	INC_A_TENANT_RATE,		/* u64: bits per second, INC_TENANT_RATE_*; 0: no limit */
	INC_A_TENANT_GROUPS,	/* u32, out: groups now */
	INC_A_TENANT_SLOTS,	/* u32, out: slots now */
	INC_A_TENANT_MEMORY,	/* u64, out: bytes now */
	INC_A_TENANT_CPU_NSEC,	/* u64, out: nanoseconds spent on its packets */
	INC_A_TENANT_BYTES,	/* u64, out: IP bytes of contributions taken */
	INC_A_TENANT_REFUSED_GROUPS,	/* u64, out: times that MAX_GROUPS was met */
	INC_A_TENANT_REFUSED_SLOTS,	/* u64, out: times that MAX_SLOTS was met */
	INC_A_TENANT_REFUSED_MEMORY,	/* u64, out: times that MAX_MEMORY was met */
	INC_A_TENANT_REFUSED_CPU,	/* u64, out: buffers with contributions that CPU dropped */
	INC_A_TENANT_REFUSED_RATE,	/* u64, out: the same for RATE */
	__INC_A_TENANT_MAX
};

#define INC_A_TENANT_MAX (__INC_A_TENANT_MAX - 1)

enum {
	INC_A_PREFIX_UNSPEC,
	INC_A_PREFIX_ADDR,	/* binary, 4 or 16 bytes, network order */
	INC_A_PREFIX_LEN,	/* u32: bits that count */
	__INC_A_PREFIX_MAX
};

#define INC_A_PREFIX_MAX (__INC_A_PREFIX_MAX - 1)

/* See inc_limits.h. */
enum inc_limit {
	INC_LIMIT_UNSPEC,
#define INC_LIMIT(name, text) INC_LIMIT_##name,
#include <linux/inc_limits.h>
#undef INC_LIMIT
	__INC_LIMIT_MAX
};

#define INC_LIMIT_MAX (__INC_LIMIT_MAX - 1)

/* See inc_counters.h. */
enum inc_counter {
	INC_C_UNSPEC,
#define INC_COUNTER(name, text) INC_C_##name,
#include <linux/inc_counters.h>
#undef INC_COUNTER
	__INC_C_MAX
};

#define INC_C_MAX (__INC_C_MAX - 1)

#endif
