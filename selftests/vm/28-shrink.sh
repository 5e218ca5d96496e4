#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Ranks die or are cut off: the others go on in a smaller group, with new numbers and the right
# bits, as often as that happens, down to one; who comes back late is told that it is out.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

STOP=$INC_TMP/stop

# begin N: so many ranks in a job that goes on until it is told to stop
begin() {
	rm -f "$STOP"
	start_ranks "$1" inc-shrink --until "$STOP"
	goes_on
}

# The node has done 20 blocks more than when it was asked first.
going_on() {
	local blocks

	blocks=$(counter "${AT:-sw}" blocks)
	GOAL=${GOAL:-$((blocks + 20))}
	[ "$blocks" -ge "$GOAL" ]
}

goes_on() {
	GOAL=
	wait_for 60 going_on
}

# said TEXT RANK...: all of them
said() {
	local text=$1 r

	shift
	for r in "$@"; do
		grep -qF -- "$text" "$(rank_log "$r")" || return 1
	done
}

# say_all TEXT RANK...: sooner or later
say_all() {
	local r

	wait_for 60 said "$@" && return
	for r in "${@:2}"; do
		sed "s/^/  $r: /" "$(rank_log "$r")"
	done
	why_stuck
	return 1
}

# end RANK...: they stop, and all was right
end() {
	local r

	touch "$STOP"
	for r in "$@"; do
		wait_rank "$r" && said "iterations were right" "$r" || return
	done
}

one_is_killed() {
	begin 4 && kill -KILL "$(rank_pid 1)" && wait_rank 1 137 || return
	# behind what failed; "rank 2 is rank 1 of 3" is something else
	say_all "of 3 now: 0 2 3;" 0 2 3 && said ": rank 1 " 0 2 3 || return
	said "rank 2 is rank 1 of 3" 2 && said "rank 3 is rank 2 of 3" 3 && goes_on || return
	expect "number of failures that rank 0 saw" "$(grep -c ": operation" "$(rank_log 0)")" = 1
}

another_is_cut_off() {
	ip -n sw link set p4 down || return
	say_all "of 2 now: 0 2;" 0 2 && said "rank 2 does not answer" 0 2 && goes_on
}

comes_back_late() {
	ip -n sw link set p4 up || return
	wait_rank 3 3 && said "this rank is out: the group went on without it" 3
}

# Ranks that are killed together: only one of them is in the error, the others wait for the other a
# little.
two_at_once() {
	begin 4 && kill -KILL "$(rank_pid 0)" "$(rank_pid 3)" && wait_rank 0 137 &&
		wait_rank 3 137 || return
	say_all "of 2 now: 1 2;" 1 2 && goes_on && end 1 2
}

down_to_one() {
	begin 2 && kill -KILL "$(rank_pid 0)" && wait_rank 0 137 || return
	say_all "of 1 now: 1;" 1 && goes_on && end 1
}

placed_edge() {
	inc -n h1 -j group show | grep -q '"placement": *"edge"'
}

# The node is lost, the group goes on at the host of rank 0, and shrinks there.
at_the_edge() {
	local AT=h1

	# who is only slow is not to be taken for dead; nobody here is found so
	inc -n sw node set dev br0 dead 5000 fallback edge || return
	AT=sw begin 4 && inc -n sw node del dev br0 && wait_for 30 placed_edge && goes_on || return
	kill -KILL "$(rank_pid 2)" && wait_rank 2 137 || return
	say_all "of 3 now: 0 1 3;" 0 1 3 && goes_on && end 0 1 3
}

# still_asking NAMESPACE GOAL: the ranks at the node there have sent so many JOINs in all
still_asking() {
	[ "$(counter "$1" joins)" -ge "$2" ]
}

# vlan_of VID OLD PORT...: the network that these ports of the bridge are in
vlan_of() {
	local vid=$1 old=$2 port

	for port in "${@:3}"; do
		printf 'vlan add dev %s vid %s pvid untagged\nvlan del dev %s vid %s\n' "$port" "$vid" \
			"$port" "$old"
	done | bridge -n sw -batch -
}

# Three of five ranks do not reach the node any more, nor the other two, which do. The three go on
# at the edge, where nobody has heard of the two; the node, which has seen how it ended for them,
# does not let them go on: it has not heard of a majority.
away_from_the_node() {
	local AT=sw

	inc -n sw node set dev br0 dead 1000 fallback edge && begin 5 || return
	ip -n sw link set br0 type bridge vlan_filtering 1 && vlan_of 10 1 p1 p2 p3 || return
	AT=h1
	say_all "of 3 now: 0 1 2;" 0 1 2 && say_all "rank 3" 3 && say_all "rank 4" 4 && goes_on ||
		return
	wait_for 60 still_asking sw $(($(counter sw joins) + 300)) || return
	! said "of 2 now" 3 && ! said "of 2 now" 4 && end 0 1 2 || return
	kill -KILL "$(rank_pid 3)" "$(rank_pid 4)" && wait_rank 3 137 && wait_rank 4 137 || return
	vlan_of 1 10 p1 p2 p3 && ip -n sw link set br0 type bridge vlan_filtering 0
}

# Three of five ranks reach the node, two the standby node, and no one the others. The three go on.
# Where the run has never formed nothing is known of the others: the two must not go on, though
# nobody else comes for much longer than the dead limit.
two_parts() {
	ip netns add sw2 && second_bridge sw2 && inc -n sw node set dev br0 dead 1000 fallback standby \
		standby "$INC_NODE2" && begin 5 || return
	printf 'link set %s down\n' p4 p5 | ip -n sw -batch - || return
	printf 'link set %s down\n' q1 q2 q3 | ip -n sw2 -batch - || return
	say_all "of 3 now: 0 1 2;" 0 1 2 && say_all "rank 3" 3 && say_all "rank 4" 4 && goes_on ||
		return
	wait_for 60 still_asking sw2 $(($(counter sw2 joins) + 300)) || return
	! said "of 2 now" 3 && ! said "of 2 now" 4 && end 0 1 2 || return
	kill -KILL "$(rank_pid 3)" "$(rank_pid 4)" && wait_rank 3 137 && wait_rank 4 137
}

inc_begin
inc_topology_create 4
check "a rank is killed, the others go on" one_is_killed
check "another one is cut off" another_is_cut_off
check "it comes back and is told that it is out" comes_back_late
check "the others have gone on" end 0 2
check "two are killed at once" two_at_once
check "one is left" down_to_one
check "no group stays" wait_for 30 no_groups
check "at the edge" at_the_edge
check "no group stays at the edge" wait_for 30 no_groups
inc_topology_destroy
inc_topology_create 5
check "of those who lost the node and those at it one part goes on" away_from_the_node
check "no group stays, whoever was away" wait_for 30 no_groups
EXTRA_NETNS=(sw2)
check "of two parts only the larger one goes on" two_parts
inc_topology_destroy
inc_end
