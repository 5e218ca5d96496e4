#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Ranks that disagree, die, are killed or cut off, close their sockets in mid-operation, whose links
# lose all that is long: the others are told who it was, in time, and nobody hangs.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

VM=$(cd "$(dirname "$0")" && pwd)

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
	local why="rank 1 has ended the group: it was killed"

	# so long that it cannot end between the signal and its delivery
	rank_args 1 "--kill-at 1"
	start_ranks 3 inc-allreduce --count 2000000 --iters 1000 --no-check
	wait_rank 1 137 || return
	wait_rank 0 1 && wait_rank 2 1 && says 0 "$why" && says 2 "$why"
}

exits_without_leaving() {
	rank_args 1 "--iters 3 --abort"
	start_ranks 3 inc-allreduce --count 1000 --iters 1000
	wait_rank 1 0 || return
	wait_rank 0 1 && wait_rank 2 1 && says 0 "rank 1" && says 2 "rank 1"
}

# The link goes away: no packet, no goodbye. The others have ended within `dead`, 2 s in these tests
# (its exact meaning is in unit/test_group_end.c), and six more, for the programs to end and for a
# machine that is busy.
cut_off() {
	local clock status=0

	start_ranks 3 inc-allreduce --count 100000 --iters 100000 --no-check
	wait_for 60 operations_done sw 5 || return
	python3 -s -S "$VM/inc_clock.py" 8 "${RANK_PIDS[0]}" "${RANK_PIDS[2]}" >"$INC_TMP/clock" &
	clock=$!
	wait_for 30 test -s "$INC_TMP/clock" && ip -n sw link set p2 down || return
	wait_rank 0 1 && wait_rank 2 1 && says 0 "rank 1 does not answer" &&
		says 2 "rank 1 does not answer" || return
	wait_rank 1 1 && says 1 "node does not answer" || return
	wait "$clock" || status=$?
	cat "$INC_TMP/clock"
	return "$status"
}

operations_done() {
	[ "$(counter "$1" blocks)" -ge "$2" ]
}

node_removed() {
	start_ranks 3 inc-allreduce --count 100000 --iters 100000 --no-check
	wait_for 60 operations_done sw 5 || return
	inc -n sw node del dev br0 || return
	wait_rank 0 1 && wait_rank 1 1 && wait_rank 2 1 && says 0 "removed" && says 1 "removed" &&
		says 2 "removed"
}

# The link of rank 1 carries nothing longer than this, up (a limit at the host) or down (at its
# port), but short packets: tbf drops what is longer than its bucket.
carries() {
	tc -n "$1" qdisc replace dev "$2" root tbf rate 10gbit burst "$3" latency 1s
}

# no_blocks COMMAND...: has cut them off in mid-operation: all are told which rank it is
no_blocks() {
	local before

	before=$(counter sw blocks)
	start_ranks 3 inc-allreduce --count 100000 --iters 100000 --no-check
	wait_for 60 operations_done sw $((before + 100)) && "$@" || return
	told_no_blocks
}

told_no_blocks() {
	local r

	for r in 0 1 2; do
		wait_rank "$r" 1 &&
			says "$r" \
				"rank 1 exchanges short packets with the node, but no blocks get through" || return
	done
}

# As where somebody has forgotten a port of the switch.
never_any_blocks() {
	ip -n sw link set p2 mtu 1500 || return
	start_ranks 3 inc-allreduce --count 1000 --iters 3
	told_no_blocks
}

# Elsewhere it is no better: all meet there, perhaps once more at the node, since rank 0 lacks
# results of the tree at rank 1, and are told so.
nor_at_the_edge() {
	local moves

	inc -n sw node set dev br0 fallback edge && no_blocks carries h2 eth0 3000 || return
	moves=$(counter h2 moves)
	expect "moves of rank 1" "$moves" -ge 1 && expect "moves of rank 1" "$moves" -le 3
}

links_repaired() {
	clear_links
	ip -n sw link set p2 mtu 9000 && ip -n h2 link set eth0 mtu 9000 &&
		inc -n sw node set dev br0 fallback none || return
	run_ranks 3 inc-allreduce --count 100000 --iters 3
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
inc_topology_create 3 off 9000
check "a link that carries no blocks up: all are told whose" no_blocks carries h2 eth0 3000
check "it does again" links_repaired
check "a link that carries no blocks down" no_blocks carries sw p2 3000
check "it does again, too" links_repaired
check "the port's MTU is less than the hosts': from the start" never_any_blocks
check "the port has the hosts' MTU" links_repaired
check "a host's MTU gets less in mid-operation" no_blocks ip -n h2 link set eth0 mtu 1500
check "the host has its MTU again" links_repaired
check "no blocks come through, nor do they at the edge" nor_at_the_edge
check "all links are as they were" links_repaired
check "groups that could not go on go" wait_for 30 no_groups
inc_topology_destroy
inc_topology_create 3
check "the node is removed in mid-operation" node_removed
check "no group stays" wait_for 30 no_groups
inc_end
