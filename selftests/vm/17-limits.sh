#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Limits: where each is met, which errno it gives, that all is given back. And a node that may keep
# next to nothing, with many children behind links that lose and reorder packets: folding in order
# must not stand still for it.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

# Blocks that were copied out of packets that were too much, or dropped.
in_want() {
	echo $(($(counter sw drop_memory) + $(counter sw unshared)))
}

# exact ARGUMENTS...: with the least memory that a node can have
exact() {
	run_ranks 16 inc-coll --quiet --seed "$RANDOM" --coll allreduce,reduce,scan \
		--type i32,f32,f64 "$@"
}

# The same, and it is not enough for all that comes: what is drawn at random may be short, but
# floats of which rank 0's are the last must wait.
least() {
	local before

	before=$(in_want)
	exact "$@" && run_ranks 16 inc-allreduce --count 4000 --iters 2 || return
	expect "blocks in want of memory" "$(in_want)" -gt "$before"
}

none_held() {
	[ "$(inc -n sw -j limits show | grep -o '"\(held\|slot\)_memory":{"use":[0-9]*' | json_sum use)" = 0 ]
}

# The same over links that lose packets, until they have lost one: of the few long ones it may be none.
exact_with_loss() {
	local before round

	before=$(lost_on_links) || return
	for ((round = 0; round < 20; round++)); do
		exact "$@" || return
		[ "$(lost_on_links)" = "$before" ] || return 0
	done
	expect "packets that links have lost" "$(lost_on_links)" -gt "$before"
}

# all_least GSO: the node's own limit, then the namespace's
all_least() {
	# one block of each rank is more than the node may keep
	inc_topology_create 8 "$1" 9000
	set_up neighbours_known
	# who waits for a window of four blocks and its losses on a busy machine is not dead
	set_up inc -n sw node set dev br0 max-memory 64K dead 20000
	# rank 0 is the last of each block
	set_up tc -n h1 qdisc replace dev eth0 root netem delay 5ms
	check "offloads $1: 16 ranks, 64 KiB" least --ops 4 --count 4000
	set_up set_links delay 2ms 1ms loss 1% reorder 25% 50%
	# on slow links not all ranks' blocks are here at once
	check "offloads $1: 16 ranks, 64 KiB, loss and reordering" \
		exact_with_loss --ops 2 --count 4000
	set_up inc -n sw node set dev br0 max-memory 64M
	set_up inc -n sw limits set held-memory 0
	check "offloads $1: 16 ranks, nothing but what the oldest block needs" least --ops 2 \
		--count 4000
	clear_links
	check "offloads $1: all is given back" wait_for 30 none_held
	inc_topology_destroy
}

inc_begin
inc_topology_create 3
lab limits.py
inc_topology_destroy
all_least on
all_least off
inc_end
