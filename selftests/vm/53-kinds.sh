#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Nodes that do not reduce everything: how they are set so, what ranks hear of it, and who is
# refused.
#
#	          sw: lo 10.255.0.1, node "all"
#	    d1 |            | d2		10.2.L.254
#	   up0 |        up0 |			10.2.L.1
#	l1: br0 (node)   l2: br0 (node)		10.1.L.254, parent 10.255.0.1
#	      |              |
#	      h1             h2			10.1.L.L: a rank each

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

api=$(cd "$(dirname "$0")" && pwd)/libinc_api.py
SPINE=10.255.0.1
EXTRA_NETNS=(l1 l2)

leaf_create() {
	local l=$1

	ip netns add "l$l" && ip netns add "h$l" && ip -n "l$l" -batch - <<-END || return
		link set lo up
		link add br0 address $(mac $((200 + l))) type bridge
		link set br0 up
		addr add 10.1.$l.254/24 dev br0
		link add up0 type veth peer name d$l netns sw
		link set up0 up
		addr add 10.2.$l.1/24 dev up0
		route add default via 10.2.$l.254
		link add p$l type veth peer name eth0 netns h$l
		link set p$l up
		link set p$l master br0
	END
	ip -n sw -batch - <<-END && ip -n "h$l" -batch - <<-END2 || return
		link set d$l up
		addr add 10.2.$l.254/24 dev d$l
		route add 10.1.$l.0/24 via 10.2.$l.1
	END
		link set lo up
		link set eth0 up
		addr add 10.1.$l.$l/24 dev eth0
		route add default via 10.1.$l.254
	END2
	in_ns "l$l" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
}

fabric_create() {
	INC_HOSTS=2
	ip netns add sw && ip -n sw -batch - <<-END || return
		link set lo up
		addr add $SPINE/32 dev lo
	END
	in_ns sw sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward' && leaf_create 1 && leaf_create 2
}

nodes_create() {
	inc -n sw node add dev all &&
		inc -n l1 node add dev br0 parent "$SPINE" && inc -n h1 parent set 10.1.1.254 &&
		inc -n l2 node add dev br0 parent "$SPINE" && inc -n h2 parent set 10.1.2.254
}

no_groups_left() {
	local ns

	for ns in sw l1 l2 h1 h2; do [ -z "$(inc -n "$ns" group show)" ] || return; done
}

# What a node is set to reduce it shows, and is saved; `all` is what it is set to at first.
settings() {
	local out

	inc -n l2 node show | grep -q " types\| operations" && return 1
	inc -n l2 -j node show | grep -qF '"types":"all","operations":"all"' || return
	inc -n l2 node set dev br0 types f32,bf16 operations sum,max || return
	inc -n l2 node show | grep -qF " types bf16,f32 operations sum,max" || return
	inc -n l2 -j node show | grep -qF '"types":"bf16,f32","operations":"sum,max"' || return
	inc -n l2 save | grep -q "^node replace dev br0 .* types bf16,f32 operations sum,max" || return
	inc -n l2 node set dev br0 operations all || return
	inc -n l2 node show | grep -qF " types bf16,f32" || return
	inc -n l2 node show | grep -q " operations" && return 1
	for out in "types f33" "types f32,,i8" "types " "operations wsum" "operations sum,f32"; do
		# shellcheck disable=SC2086
		inc -n l2 node set dev br0 $out 2>"$INC_TMP/refused" && return 1
		grep -q "^inc: .*${out%% *}" "$INC_TMP/refused" || { cat "$INC_TMP/refused"; return 1; }
	done
	inc -n l2 node show | grep -qF " types bf16,f32" && inc -n l2 node set dev br0 types all
}

reduce() {
	run_ranks 2 inc-allreduce --iters 3 --timeout 20000 "$@" && wait_for 30 no_groups_left
}

# refused_to_all TEXT ARGUMENTS...: both ranks join, and their operation fails with this
refused_to_all() {
	local text=$1 r ret=0

	shift
	start_ranks 2 inc-allreduce --iters 3 --timeout 20000 "$@"
	for r in 0 1; do
		wait_rank "$r" any
		grep -qF -- "$text" "$(rank_log "$r")" || { cat "$(rank_log "$r")"; ret=1; }
	done
	wait_for 30 no_groups_left && return "$ret"
}

# What is refused is no operation: others go on in the same group, and their results are right.
group_goes_on() {
	local r lib

	lib=$(dirname "$(command -v inc-allreduce)")/../lib
	local -x LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

	inc -n l2 node set dev br0 types f32 && run_ranks 2 "$api" lacks || return
	for r in 0 1; do
		grep -qx "lacks: passed" "$(rank_log "$r")" || { cat "$(rank_log "$r")"; return 1; }
	done
	wait_for 30 no_groups_left && inc -n l2 node set dev br0 types all
}

# why HOST TEXT: the answer to who asks for sums of i32 there
why() {
	local out

	out=$(in_ns "$1" inc-allreduce --why --type i32)
	grep -qF -- "$2" <<<"$out" || { echo "$1: expected \"$2\", got: $out"; return 1; }
}

# What the lower node lacks, which rank 0 is not at, fails at both ranks when it is submitted.
lower_lacks_type() {
	inc -n l2 node set dev br0 types f32 &&
		refused_to_all "a node of the group does not reduce i32 (there: inc node show)" --type i32 &&
		why h2 "does not reduce i32" && why h1 "yes, in the network" &&
		in_ns h2 inc topo show | grep -q " lacks i8, .*, i32, .*f64" &&
		reduce --type f32 && inc -n l2 node set dev br0 types all && reduce --type i32
}

root_lacks_operation() {
	inc -n sw node set dev all operations max,prod &&
		refused_to_all "a node of the group does not reduce sum (there" --type i32 &&
		inc -n sw node set dev all operations all && reduce --type i32
}

# join_refused TEXT RANK...: ranks that ask for it hear this
join_refused() {
	local text=$1 r ret=0

	shift
	for r in "$@"; do
		wait_rank "$r" any
		grep -qF -- "$text" "$(rank_log "$r")" || { cat "$(rank_log "$r")"; ret=1; }
	done
	return "$ret"
}

# Who asks for what a node lacks is refused there, or, where another one lacks it, by that.
asked_for() {
	local -x INC_REDUCES=i32,sum

	inc -n l2 node set dev br0 types f32 || return
	start_ranks 2 inc-allreduce --iters 3 --timeout 20000 --type f32
	join_refused "a node of the group does not reduce i32, which a rank asks for (INC_REDUCES)" 1 || return
	kill "${RANK_PIDS[0]}" && wait_rank 0 any
	wait_for 30 no_groups_left || return
	INC_REDUCES=f32,sum reduce --type f32 && inc -n l2 node set dev br0 types all &&
		reduce --type i32
}

bad_names() {
	INC_REDUCES=f33 in_ns h1 inc-allreduce --group 1 --rank 0 --size 2 2>"$INC_TMP/bad" && return 1
	grep -qF 'INC_REDUCES: "f33": expected names of types and operations' "$INC_TMP/bad"
}

inc_begin
set_up fabric_create
set_up nodes_create
check "set, shown and saved" settings
check "all is reduced where nothing else is said" reduce --type i32
check "a type that the lower node lacks" lower_lacks_type
check "after one that is refused the group goes on" group_goes_on
check "an operation that the root lacks" root_lacks_operation
check "what ranks ask for" asked_for
check "names that there are not" bad_names
inc_end
