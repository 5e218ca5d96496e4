#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The node is lost in mid-operation: ranks go on at a standby node or at the edge and end with the right bits, or are
# told in time that there is no path left; when the node is there again they come back.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

NODE2=10.8.0.254

operations_done() {
	[ "$(counter "$1" blocks)" -ge "$2" ]
}

# A second bridge, with a node, that all hosts are on too.
second_bridge() {
	local h

	{
		echo "link add br1 address $(mac 253) type bridge"
		echo "addr add $NODE2/24 dev br1"
		echo "link set br1 up"
		for ((h = 1; h <= INC_HOSTS; h++)); do
			echo "link add q$h type veth peer name eth1 netns h$h"
			echo "link set q$h master br1 up"
		done
	} | ip -n sw -batch - || return
	for ((h = 1; h <= INC_HOSTS; h++)); do
		printf 'addr add 10.8.0.%d/24 dev eth1\nlink set eth1 up\n' "$h" | ip -n "h$h" -batch - || return
	done
	inc -n sw node add dev br1
}

# placed WHERE: all ranks are there
placed() {
	local h

	for ((h = 1; h <= INC_HOSTS; h++)); do
		inc -n "h$h" -j group show | grep -q "\"placement\": *\"$1\"" || return 1
	done
}

# start_job [OPS]: random collectives, every element compared; a good part of it is done when this returns
start_job() {
	start_ranks "$INC_HOSTS" inc-coll --ops "${1:-120}" --max 20000 --seed "$SEED" --quiet
	wait_for 60 operations_done sw 20
}

edge_after_node_del() {
	inc -n sw node set dev br0 fallback edge && start_job && inc -n sw node del dev br0 || return
	wait_for 20 placed edge && wait_ranks && expect "moves" "$(counter h1 moves)" -eq 1
}

standby_after_link_down() {
	inc -n sw node set dev br0 fallback standby standby "$NODE2" && start_job || return
	ip -n sw link set br0 down
	wait_for 20 placed standby && wait_ranks
}

standby_after_bridge_deleted() {
	inc -n sw node set dev br0 fallback edge standby "$NODE2" && start_job || return
	ip -n sw link del br0
	wait_for 20 placed standby && wait_ranks
}

# One host is cut off from the node that all others reach.
one_link_down() {
	inc -n sw node set dev br0 fallback standby standby "$NODE2" && start_job || return
	ip -n sw link set p2 down
	wait_for 20 placed standby && wait_ranks
}

# The node goes, the standby node goes, the edge is left; then the node is there again, and once more.
three_in_a_row() {
	inc -n sw node set dev br0 fallback edge standby "$NODE2" && start_job 400 || return
	inc -n sw node del dev br0 && wait_for 20 placed standby || return
	inc -n sw node del dev br1 && wait_for 20 placed edge || return
	wait_ranks
}

comes_back() {
	inc -n sw node set dev br0 fallback edge || return
	start_ranks "$INC_HOSTS" inc-coll --ops 60 --flight 1 --coll allreduce,barrier --late 4000 --seed "$SEED" --quiet
	wait_for 60 operations_done sw 5 && inc -n sw node del dev br0 && wait_for 20 placed edge || return
	inc -n sw node add dev br0 fallback edge && wait_for 40 placed node && wait_ranks
}

# No path is left: everybody is told, within the limits.
nowhere() {
	local r begin

	inc -n sw node set dev br0 fallback standby standby "$NODE2" && start_job 100000 || return
	inc -n sw node del dev br1 && begin=$SECONDS && ip -n sw link set br0 down || return
	for ((r = 0; r < INC_HOSTS; r++)); do
		wait_rank "$r" 1 && grep -q "node does not answer" "$(rank_log "$r")" || return
	done
	expect "seconds until all knew" "$((SECONDS - begin))" -le 20
}

# A rank is killed: no other place helps.
killed_rank() {
	inc -n sw node set dev br0 fallback edge standby "$NODE2" || return
	rank_args 1 "--ops 1000000"
	start_job 1000000 && kill -9 "$(rank_pid 1)" && wait_rank 1 137 || return
	wait_rank 0 1 && wait_rank 2 1 && wait_rank 3 1 && grep -q "rank 1 was killed" "$(rank_log 0)"
}

# with_two_bridges FUNCTION: with two bridges, made anew
with_two_bridges() {
	inc_topology_destroy
	inc_topology_create 4 && second_bridge && "$1"
}

inc_begin
inc_topology_create 4
check "node del: the job goes on at the edge" edge_after_node_del
check "no group stays" wait_for 30 no_groups
check "the node's link goes down: the job goes on at the standby node" with_two_bridges standby_after_link_down
check "the bridge is deleted: the same" with_two_bridges standby_after_bridge_deleted
check "one host is cut off from the node: all go to the standby node" with_two_bridges one_link_down
check "node and standby node go: the edge is left" with_two_bridges three_in_a_row
check "the node is there again: the group comes back" with_two_bridges comes_back
check "no path is left: all are told" with_two_bridges nowhere
check "a rank is killed: the others are told who" with_two_bridges killed_rank
check "no group stays" wait_for 30 no_groups
inc_topology_destroy
inc_end
