#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Memory that hostile users have: page faults that are never answered, what is kept for another
# node, what one user may have of a machine, and whose cgroup pays for groups.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

inc_begin
inc_topology_create 3
# the default: so many speak within it on a kernel that looks for bugs, too
set_up inc -n sw node set dev br0 dead 10000
lab memory.py
# what that has done to hosts' parents is not this one's business
inc_topology_destroy
inc_topology_create 3
lab registered.py
# a rank needs nothing of the one buffer while others' shares go by
for coll in reduce-scatter allgather; do
	check "$coll: buffers that are longer than what is pinned at once" \
		run_ranks 2 inc-coll --quiet --timeout 20000 --coll "$coll" --type u8 --count 2000000 \
		--max 2000000 --ops 1
done
inc_topology_destroy
inc_end
