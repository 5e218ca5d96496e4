/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What is limited, per network namespace and per user: name and meaning. Those whose names end in
 * MEMORY are bytes.
 *
 * A list to be included where INC_LIMIT(name, text) is defined: no guard. Numbers are ABI: new ones
 * go to the end.
 */
INC_LIMIT(SOCKETS, "AF_INC sockets")
INC_LIMIT(OPERATIONS, "operations under way, or done and not collected")
INC_LIMIT(OP_MEMORY, "kernel memory of these operations")
INC_LIMIT(PINNED_MEMORY, "user memory that may be pinned for operations at once")
INC_LIMIT(GROUPS, "groups at nodes")
INC_LIMIT(SLOT_MEMORY, "slots and what a group needs to get on, reserved when it is made")
INC_LIMIT(HELD_MEMORY, "received packets held at nodes")
INC_LIMIT(
	ANSWERS,
	"challenges per second to strangers, likewise refusals; of the namespace only, not counted")
INC_LIMIT(SOCKET_MEMORY,
	  "kernel memory of joined sockets, what they keep for another node included")
