#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# libinc's functions, as a program uses them: join and operations without blocking, limits of
# waiting, ranks that disagree, threads, fork, signals, bad arguments; and what inc_why() answers.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

api=$(cd "$(dirname "$0")" && pwd)/libinc_api.py

# tested TEST [RANKS]: all ranks, two if that is not said, have passed it
tested() {
	local r

	for ((r = 0; r < ${2:-2}; r++)); do
		if ! grep -qx "$1: passed" "$(rank_log "$r")"; then
			echo "rank $r:"
			cat "$(rank_log "$r")"
			return 1
		fi
	done
}

split_at_node() {
	run_ranks 4 "$api" split && tested split 4
}

# What meets at the edge has no node: each new group is at the host of its own rank 0.
split_at_edge() {
	INC_PARENT=edge:10.7.0.1 run_ranks 4 "$api" split && tested split 4
}

both_end_well() {
	cat "$INC_TMP/api.log"
	expect "status of the run" "$API" = 0
}

# why TEXT ARGUMENTS...: inc_why() says this on host h1
why() {
	local text=$1 out

	shift
	out=$(in_ns h1 inc-allreduce --why "$@")
	grep -qF -- "$text" <<<"$out" || { echo "expected \"$text\", got: $out"; return 1; }
}

# Whoever asks for its netlink family has the module loaded, where modprobe can.
why_not_loaded() {
	local out status=0 modprobe

	modprobe=$(cat /proc/sys/kernel/modprobe)
	echo /bin/false >/proc/sys/kernel/modprobe || return
	out=$(inc-allreduce --why 2>&1) || status=$?
	echo "$modprobe" >/proc/sys/kernel/modprobe || return
	expect "exit status" "$status" = 1 &&
		expect "answer" "$out" = "the module is not loaded: modprobe inc"
}

inc_begin
lib=$(dirname "$(command -v inc-allreduce)")/../lib
export SAID=$INC_TMP/said
export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
inc_topology_create 2
API=0
run_ranks 2 "$api" nonblock persistent timeout group_timeout cancel mismatch threads \
	fork signals arguments wait_any \
	>"$INC_TMP/api.log" || API=$?
check "join and operations without blocking" tested nonblock
check "persistent operations" tested persistent
check "limits of waiting" tested timeout
check "a timeout of blocking operations ends the group" tested group_timeout
check "another thread ends the group" tested cancel
check "ranks that disagree are named, and the group works on" tested mismatch
check "two groups in two threads" tested threads
check "fork" tested fork
check "signals do not disturb" tested signals
check "bad arguments" tested arguments
check "the first of several operations, and all" tested wait_any
check "both ranks end well" both_end_well
check "groups made of a group" split_at_node
check "groups made of a group that has no node" split_at_edge
check "why: it would be" why "yes, in the network: the node is $INC_NODE4"
check "why: what is saved" why "reduced there, every byte goes up once"
check "why: what makes no sense" why "bool has no sum" --type bool
set_up inc -n h1 parent del
check "why: no parent" why "no parent is named"
check "why: the parent that INC_PARENT names" env INC_PARENT="$INC_NODE4" \
	ip netns exec h1 inc-allreduce --why
set_up inc -n h1 parent set 10.7.0.2
check "why: the parent is no node" why "is no node"
set_up inc -n h1 parent set "$INC_NODE4"
check "groups are gone" wait_for 30 no_groups
inc_topology_destroy
unloading "the module unloads" module_unloads
unloading "why: no module" why_not_loaded
ktap_end
