#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The node is lost in mid-operation: ranks go on at a standby node or at the edge and end with the
# right bits, or are told that there is no path left; when the node is there again they come back.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

operations_done() {
	[ "$(counter "$1" blocks)" -ge "$2" ]
}

# start_job ARGUMENTS...: random collectives, every element compared; a part of them is done when
# this returns
start_job() {
	inc -n h1 monitor >"$INC_TMP/h1.events" &
	MONITOR=$!
	start_ranks "$INC_HOSTS" inc-coll --max 10000 --seed "$SEED" --quiet "$@"
	wait_for 60 operations_done sw 10
}

# arrived WHERE: rank 0 has been there after a move
arrived() {
	grep -q "^moved .*: $1 " "$INC_TMP/h1.events"
}

# The job ends well, after a move to WHERE.
ends_well() {
	wait_ranks && wait_for 10 arrived "$1"
}

# Every host is the root of a tree there, and reduces blocks of its own.
edge_after_node_del() {
	local h

	inc -n sw node set dev br0 fallback edge && start_job --ops 300 &&
		inc -n sw node del dev br0 || return
	ends_well edge && expect "moves" "$(counter h1 moves)" -eq 1 || return
	for ((h = 1; h <= INC_HOSTS; h++)); do
		expect "blocks of the tree at h$h" "$(counter "h$h" blocks)" -gt 0 || return
	done
}

# Two trees at each host, and links that lose packets.
edge_of_two_on_each_host() {
	local before

	inc -n sw node set dev br0 fallback edge && set_loss 1% || return
	before=$(counter sw blocks)
	start_ranks $((2 * INC_HOSTS)) inc-coll --max 10000 --seed "$SEED" \
		--quiet --ops 60 --parent "$INC_NODE6"
	wait_for 60 operations_done sw $((before + 10)) &&
		inc -n sw node del dev br0 && wait_ranks &&
		expect "moves" "$(counter h1 moves)" -ge 2
}

# Results are the same also in place, and for ranks that have returned already and changed their
# buffers.
standby_after_link_down() {
	inc -n sw node set dev br0 dead 3000 fallback standby standby "$INC_NODE2" &&
		start_job --ops 300 || return
	ip -n sw link set br0 down
	ends_well standby
}

standby_after_bridge_deleted() {
	inc -n sw node set dev br0 dead 3000 fallback edge standby "$INC_NODE2" &&
		start_job --ops 300 || return
	ip -n sw link del br0
	ends_well standby
}

# One host is cut off from the node that all others reach.
one_link_down() {
	inc -n sw node set dev br0 dead 3000 fallback standby standby "$INC_NODE2" &&
		start_job --ops 300 || return
	ip -n sw link set p2 down
	ends_well standby
}

# The node goes, the standby node goes, the edge is left; the node that is there again goes once
# more.
three_in_a_row() {
	inc -n sw node set dev br0 fallback edge standby "$INC_NODE2" || return
	start_job --ops 100 --coll allreduce,barrier --flight 1 --late 3000 || return
	inc -n sw node del dev br0 && wait_for 30 arrived standby || return
	inc -n sw node del dev br1 && wait_for 30 arrived edge || return
	inc -n sw node add dev br0 && wait_for 60 arrived node &&
		inc -n sw node del dev br0 || return
	wait_ranks && expect "moves" "$(counter h1 moves)" -ge 4
}

has_moved() {
	[ "$(counter h1 moves)" -ge "$1" ]
}

# Both are removed, which is not for good: all have been refused everywhere for a while.
both_back() {
	inc -n sw node set dev br0 dead 10000 fallback standby standby "$INC_NODE2" &&
		start_job --ops 200 || return
	inc -n sw node del dev br0 && inc -n sw node del dev br1 &&
		wait_for 120 has_moved 6 && inc -n sw node add dev br1 || return
	ends_well standby
}

# No path is left: everybody is told.
nowhere() {
	local r

	inc -n sw node set dev br0 fallback standby standby "$INC_NODE2" &&
		start_job --ops 100000 || return
	inc -n sw node del dev br1 && ip -n sw link set br0 down || return
	for ((r = 0; r < INC_HOSTS; r++)); do
		wait_rank "$r" 1 && grep -q "node does not answer" "$(rank_log "$r")" || return
	done
}

# A rank is killed: another place does not help.
killed_rank() {
	inc -n sw node set dev br0 fallback edge standby "$INC_NODE2" &&
		start_job --ops 100000 || return
	kill -9 "$(rank_pid 1)" && wait_rank 1 137 || return
	wait_rank 0 1 && wait_rank 2 1 && wait_rank 3 1 &&
		grep -Eq "rank 1 (has ended the group: it was killed|has left)" "$(rank_log 0)"
}

# with FUNCTION: two bridges, made anew
with() {
	local ret=0

	inc_topology_destroy
	create_topology 4 && second_bridge sw && "$1" || ret=1
	[ -z "$MONITOR" ] || kill "$MONITOR" 2>/dev/null
	MONITOR=''
	return "$ret"
}

MONITOR=''
inc_begin
check "node del: the job goes on at the edge" with edge_after_node_del
check "two ranks on each host, IPv6, loss: at the edge" with edge_of_two_on_each_host
check "the bridge is deleted: it goes on at the standby node" with standby_after_bridge_deleted
check "one host is cut off from the node: all go to the standby node" with one_link_down
check "node and standby node go, the node comes back and goes again" with three_in_a_row
check "node and standby node are removed, and added again" with both_back
check "no path is left: all are told" with nowhere
check "a rank is killed: the others are told who" with killed_rank
if [ "$FULL" != 0 ]; then
	check "the node's link goes down: the job goes on at the standby node" \
		with standby_after_link_down
fi
inc_topology_destroy
inc_topology_create 3
lab edge.py
check "no group stays" wait_for 30 no_groups
inc_topology_destroy
inc_end
