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

# The same calls on groups that are two.
two_stripes() {
	INC_STRIPES=2 SAID=$SAID.2 run_ranks 2 "$api" nonblock persistent timeout group_timeout cancel mismatch \
		threads fork signals arguments wait_any
}

split_stripes() {
	INC_STRIPES=2 run_ranks 4 "$api" split && tested split 4
}

split_default() {
	NODE=$INC_NODE4 run_ranks 2 "$api" split_default && tested split_default
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

# verdict CONDITION ARGUMENTS...: `inc why` on host h1 says that this is in the way; none: nothing
verdict() {
	local condition=$1 out status=0 wanted=2

	shift
	out=$(in_ns h1 "${AS[@]}" inc -j why "$@") || status=$?
	[ "$condition" != none ] || wanted=0
	echo "$out"
	expect "exit status" "$status" = "$wanted" || return
	if [ "$condition" = none ]; then
		grep -q '"in_network":true,"reason":"yes, in the network: the node is '"$INC_NODE4" \
			<<<"$out"
	else
		grep -q '"in_network":false,"condition":"'"$condition"'"' <<<"$out"
	fi
}

AS=()

# Everything that a program can ask for, as one of each is done.
every_collective() {
	local coll

	for coll in allreduce reduce reduce-scatter broadcast allgather gather scatter alltoall \
		scan exscan; do
		verdict none "$coll" type f16 count 1000 || return
	done
	verdict none barrier && verdict none allreduce type i32 op bxor count 0 && verdict none allreduce op wsum
}

# The node's administrator lets nobody in who has not the key, or is of no tenant.
let_in() {
	local key=000102030405060708090a0b0c0d0e0f ret=0

	inc -n sw node set dev br0 key "$key" && verdict key && verdict none allreduce key "$key" ||
		ret=1
	inc -n sw node set dev br0 key none && inc -n sw tenant add lab from 10.7.0.2/32 || return
	verdict tenant || ret=1
	inc -n sw tenant del lab && verdict none || ret=1
	return "$ret"
}

# A user who may pin nothing.
no_memory() {
	local ret=0

	AS=(setpriv --reuid 65534 --clear-groups sh -c 'ulimit -l 0; exec "$@"' sh)
	verdict memory || ret=1
	AS=()
	return "$ret"
}

waits_in_group() {
	inc -n h1 group show group 77 | grep -q 'rank 0'
}

# One of two ranks is there, with nobody to be ready with.
half_a_group() {
	local pid ret=0

	INC_RANK=0 INC_SIZE=2 INC_GROUP=77 ip netns exec h1 inc-allreduce >/dev/null 2>&1 &
	pid=$!
	wait_for 60 waits_in_group && verdict group allreduce group 77 || ret=1
	kill "$pid"
	wait "$pid" 2>/dev/null
	return "$ret"
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
check "groups made of a group, and another default parent" split_default
check "two stripes: all of that" two_stripes
check "two stripes: groups made of a group" split_stripes
check "groups made of a group that has no node" split_at_edge
check "why: it would be" why "yes, in the network: the node is $INC_NODE4"
check "why: what is saved" why "reduced there, every byte goes up once"
check "why: what makes no sense" why "bool has no sum" --type bool
check "inc why: every collective is done at the node" every_collective
check "inc why: what no type has" verdict operation allreduce type bool op sum
check "inc why: a key, a tenant" let_in
check "inc why: a user who may pin no memory" no_memory
check "inc why: a group that is not complete" half_a_group
check "inc why: a group without a node" verdict fallback parent edge:10.7.0.1
set_up inc -n h1 parent del
check "inc why: no parent" verdict parent
check "why: no parent" why "no parent is named"
check "why: the parent that INC_PARENT names" env INC_PARENT="$INC_NODE4" \
	ip netns exec h1 inc-allreduce --why
check "inc why: a parent that can be none" verdict parent parent 0.0.0.0
check "inc why: no such interface" verdict parent parent fe80::1%none
check "inc why: no route" verdict parent parent 192.0.2.1
check "inc why: a key's file that is not there" verdict key parent "$INC_NODE4" key @/none
check "inc why: another port" verdict port parent "$INC_NODE4:99"
set_up inc -n h1 parent set 10.7.0.2
check "why: the parent is no node" why "is no node"
check "inc why: the parent is no node" verdict answer
set_up inc -n h1 parent set "$INC_NODE4"
check "groups are gone" wait_for 30 no_groups
inc_topology_destroy
unloading "the module unloads" module_unloads
unloading "why: no module" why_not_loaded
ktap_end
