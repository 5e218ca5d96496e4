#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Ranks that disagree, die, are killed or cut off, close their sockets in mid-operation: the others are told who it
# was, in time, and nobody hangs.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

# says RANK TEXT...: the rank's output has all of these
says() {
	local rank=$1 word

	shift
	for word in "$@"; do
		if ! grep -q -- "$word" "$(rank_log "$rank")"; then
			echo "rank $rank: expected \"$word\", it said:"
			sed 's/^/  /' "$(rank_log "$rank")"
			return 1
		fi
	done
}

disagree() {
	rank_args 2 "--extra 1"
	run_ranks 4 inc-allreduce --count 4096 --iters 6 --fail-at 3 || return
	local r
	for r in 0 1 2 3; do
		says "$r" "rank 2: allreduce f32 sum 4097" "allreduce f32 sum 4096" || return
	done
}

killed() {
	# so long that it cannot end between the signal and its delivery
	rank_args 1 "--kill-at 1"
	start_ranks 3 inc-allreduce --count 2000000 --iters 1000 --no-check
	wait_rank 1 137 || return
	wait_rank 0 1 && wait_rank 2 1 && says 0 "rank 1 was killed" && says 2 "rank 1 was killed"
}

exits_without_leaving() {
	rank_args 1 "--iters 3 --abort"
	start_ranks 3 inc-allreduce --count 1000 --iters 1000
	wait_rank 1 0 || return
	wait_rank 0 1 && wait_rank 2 1 && says 0 "rank 1" && says 2 "rank 1"
}

# The link goes away: no packet, no goodbye. `dead` is 2 s by default.
cut_off() {
	local begin

	start_ranks 3 inc-allreduce --count 100000 --iters 100000 --no-check
	wait_for 60 operations_done sw 5 || return
	begin=$SECONDS
	ip -n sw link set p2 down
	wait_rank 0 1 && wait_rank 2 1 && says 0 "rank 1 does not answer" && says 2 "rank 1 does not answer" &&
		expect "seconds until the others knew" "$((SECONDS - begin))" -le 15 &&
		wait_rank 1 1 && says 1 "node does not answer"
}

operations_done() {
	[ "$(counter "$1" blocks)" -ge "$2" ]
}

node_removed() {
	start_ranks 3 inc-allreduce --count 100000 --iters 100000 --no-check
	wait_for 60 operations_done sw 5 || return
	inc -n sw node del dev br0 || return
	wait_rank 0 1 && wait_rank 1 1 && wait_rank 2 1 && says 0 "removed" && says 1 "removed" && says 2 "removed"
}

inc_begin
inc_topology_create 4
check "ranks that disagree: both sides named, the next operation works" disagree
check "SIGKILL in mid-operation: the others are told who" killed
check "exit without leaving: the others are told who" exits_without_leaving
check "groups that failed go" wait_for 30 no_groups
inc_topology_destroy
inc_topology_create 3
check "a rank that is cut off is reported within the dead limit" cut_off
inc_topology_destroy
inc_topology_create 3
check "the node is removed in mid-operation" node_removed
check "no group stays" wait_for 30 no_groups
inc_end
