/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The counters, of a group (node or rank) and summed up of a netns: name and meaning. DROP_*:
 * packets (headers, where a super-packet holds several) that were not used, by reason; they are
 * also the reasons of the netinc_drop tracepoint.
 *
 * A list to be included where INC_COUNTER(name, text) is defined: no guard. Numbers are ABI: new
 * ones go to the end.
 */
INC_COUNTER(RX_PACKETS, "INC packets received, super-packets counted as their segments")
INC_COUNTER(RX_BYTES, "IP bytes received, the headers of every segment included")
INC_COUNTER(RX_SKBS, "buffers they came in")
INC_COUNTER(TX_PACKETS, "INC packets sent")
INC_COUNTER(TX_BYTES, "IP bytes sent")
INC_COUNTER(TX_SKBS, "buffers they left in")
INC_COUNTER(TX_ERRORS, "buffers that could not be built or routed")
INC_COUNTER(CONTRIBS, "contributions counted in")
INC_COUNTER(CONTRIBS_SENT, "blocks contributed for the first time")
INC_COUNTER(CONTRIBS_RESENT, "blocks contributed again")
INC_COUNTER(BLOCKS, "blocks completed by reduction or replication")
INC_COUNTER(RESULTS, "blocks whose result came")
INC_COUNTER(RESULTS_RESENT, "results sent again to one child")
INC_COUNTER(OPS, "operations completed")
INC_COUNTER(OPS_FAILED, "operations that ended in an error")
INC_COUNTER(PROBES, "PROBE packets")
INC_COUNTER(STATUSES, "STATUS packets")
INC_COUNTER(NACKS, "NACK packets")
INC_COUNTER(ERRORS, "ERROR packets")
INC_COUNTER(JOINS, "JOIN packets")
INC_COUNTER(FOLD_GENERIC, "blocks reduced without the FPU")
INC_COUNTER(FOLD_BOUNCED, "payloads copied because they did not lie in one piece")
INC_COUNTER(UNSHARED, "held payloads copied out of super-packets")
INC_COUNTER(DROP_MALFORMED, "length, field or reserved bit that no valid packet has")
INC_COUNTER(DROP_VERSION, "wire version unknown")
INC_COUNTER(DROP_CHECKSUM, "IP or UDP checksum wrong, or absent")
INC_COUNTER(DROP_FRAGMENT, "IP fragment")
INC_COUNTER(DROP_NO_NODE, "packet for a node where there is none")
INC_COUNTER(DROP_NO_GROUP, "group or incarnation unknown")
INC_COUNTER(DROP_COOKIE, "membership cookie wrong")
INC_COUNTER(DROP_PORT, "came in by another port or from another address than the member's")
INC_COUNTER(DROP_CHILD, "child index out of range")
INC_COUNTER(DROP_EPOCH, "another epoch")
INC_COUNTER(DROP_STATE, "packet type has no meaning in this state")
INC_COUNTER(DROP_DUPLICATE, "contribution or result that is already here")
INC_COUNTER(DROP_STALE, "block before the window")
INC_COUNTER(DROP_AHEAD, "block beyond the window")
INC_COUNTER(DROP_MISMATCH, "signature or length is not that of the operation")
INC_COUNTER(DROP_TYPE, "no reduction kernel for this type and operation")
INC_COUNTER(DROP_MEMORY, "limit of held memory reached or allocation failed")
INC_COUNTER(DROP_CHALLENGE, "challenge wrong or out of date")
INC_COUNTER(DROP_PROOF, "key wrong, or no tenant takes who has it")
INC_COUNTER(DROP_LIMIT, "limit of groups, members or replies reached")
INC_COUNTER(DROP_ERROR, "block is at or after the group's error")
INC_COUNTER(DROP_ORDER,
	    "result that must wait for others, before which it cannot be folded or written")
INC_COUNTER(CONGESTED,
	    "packets received that had met congestion (ECN), super-packets counted as one")
INC_COUNTER(CWND_CUTS, "times that a congestion window was reduced")
INC_COUNTER(MOVES, "moves to another node, or back")
INC_COUNTER(KEPT_SENT, "blocks contributed again after a move, from what was kept of them")
INC_COUNTER(BLOCKS_PARTIAL, "blocks completed without the contributions of late ranks")
INC_COUNTER(OPS_PARTIAL, "operations completed without the contributions of late ranks")
INC_COUNTER(DROP_TOO_LATE,
	    "contribution to a block that was completed without it, or to the rest of its operation")
INC_COUNTER(FOLD_BYTES, "bytes of payload reduced, those of all contributions")
INC_COUNTER(
	NODE_NSEC,
	"nanoseconds that the node spent on packets of the group, to where their results are queued")
INC_COUNTER(DROP_CPU, "contribution beyond the tenant's share of the processor")
INC_COUNTER(DROP_RATE, "contribution beyond the tenant's rate")
INC_COUNTER(
	DROP_WORK,
	"more than one received buffer may ask for: it would have cost too much, or has been answered")
INC_COUNTER(DROP_ADDRESS, "sent to many, or by an address that no other machine can have")
