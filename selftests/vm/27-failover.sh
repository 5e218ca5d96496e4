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

jobs_of() {
	start_ranks "$INC_HOSTS" inc-coll --ops "${1:-150}" --max 20000 --seed "$SEED" --quiet
	wait_for 60 operations_done sw 20
}

edge_after_node_del() {
	inc -n sw node set dev br0 fallback edge || return
	jobs_of || return
	inc -n sw node del dev br0 || return
	wait_for 20 placed edge || return
	wait_ranks
}

inc_begin
inc_topology_create 4
check "node del: the job goes on at the edge" edge_after_node_del
check "no group stays" wait_for 30 no_groups
inc_topology_destroy
inc_end
