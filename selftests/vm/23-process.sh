#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The socket ABI by its bytes, and what processes do with it or have done to them: forks, kills,
# stops, little memory, namespaces and bridges that go away in mid-operation, a module that is to go
# while packets still come.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

# nobody, with the memory limit that a container may have, and far more to send
little_memory() {
	# shellcheck disable=SC2016
	run_ranks 3 sh \
		-c \
		'ulimit -l 64; exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
		--bounding-set=-all "$0" "$@"' inc-allreduce --count "$1" --nonblock "$2" --iters "$3" --seed "$SEED"
}

group_active() {
	inc -n "$1" -j group show | grep -q '"state":"active"'
}

# Packets of every kind keep coming, for the node and for a rank, while the last socket is closed
# and the module goes.
unload_under_traffic() {
	local pid ret=0

	run_ranks 3 inc-allreduce --count 700 --iters 3 || return
	python3 -s -S "$LAB_DIR/flood.py" h4 "$((INC_GROUP_NR + 1))" "$INC_TMP/flood" &
	pid=$!
	wait_for 60 test -e "$INC_TMP/flood" || ret=1
	start_ranks 3 inc-allreduce --count 5000 --iters 1000000 --no-check
	wait_for 60 group_active sw || ret=1
	kill -TERM "${RANK_PIDS[@]}"
	wait "${RANK_PIDS[@]}" 2>/dev/null
	RANK_PIDS=()
	module_unloads || ret=1
	kill -0 "$pid" || ret=1
	kill "$pid"
	wait "$pid" 2>/dev/null
	return "$ret"
}

loads_again() {
	local h

	load_module inc && inc -n sw node add dev br0 || return
	for h in 1 2 3 4; do
		inc -n "h$h" parent set "$INC_NODE4" || return
	done
	run_ranks 3 inc-allreduce --count 700 --iters 3
}

# The port is the module's everywhere where nothing else is said, and another one is of no use.
at_another_port() {
	local ret=0 out h

	insert_module inc port=5300 && inc -n sw node add dev br0 || return
	for h in 1 2 3; do
		inc -n "h$h" parent set "$INC_NODE4" || return
	done
	expect "the parent" "$(inc -n h1 parent show)" = "parent $INC_NODE4 port 5300" || ret=1
	run_ranks 3 inc-allreduce --count 700 --iters 3 || ret=1
	INC_PARENT=$INC_NODE4 run_ranks 3 inc-allreduce --count 700 --iters 3 || ret=1
	inc -n h1 ping "$INC_NODE4" count 1 && inc -n h1 topo show || ret=1
	out=$(inc -n h1 parent set "$INC_NODE4" port 5227 2>&1) && ret=1
	expect "the answer" "$out" = \
		"inc: parent set: port 5227: expected 5300, the module's here (its parameter port)" ||
		ret=1
	out=$(INC_PARENT=$INC_NODE4:5227 in_ns h1 inc-allreduce --rank 0 --size 2 2>&1) && ret=1
	grep -q "its port is not INC's on this machine" <<<"$out" || { echo "$out"; ret=1; }
	module_unloads || ret=1
	return "$ret"
}

# logged_since MARK TEXT: the kernel has said it since MARK was written to its log, which may be so
# full that its lines cannot be counted
logged_since() {
	dmesg | sed -n "/$1/,\$p" | grep -qF "$2" || { dmesg | tail -n 3; return 1; }
}

# The module refuses a number of AF_INC, and says why in the kernel's log.
no_number() {
	echo "family=$1 is tried" >/dev/kmsg
	insert_module inc "family=$1" 2>/dev/null && { echo "family=$1 was taken"; return 1; }
	logged_since "family=$1 is tried" "inc: parameter family=$1: $2"
}

# The number of AF_INC is borrowed: which one, is said, can be chosen, and programs learn it.
at_another_number() {
	local ret=0 h

	no_number 2 "another protocol has that number: expected a free one, or 0" &&
		no_number 46 "expected 1..45, or 0" || ret=1
	echo "no family is named" >/dev/kmsg
	insert_module inc || return
	logged_since "no family is named" \
		"inc: AF_INC is 19, the number of AF_ECONET, which Linux does not have" || ret=1
	module_unloads && insert_module inc family=25 && inc -n sw node add dev br0 || return
	for h in 1 2 3; do
		inc -n "h$h" parent set "$INC_NODE4" || return
	done
	expect "the number" "$(inc -j caps show | grep -o '"family_number":[0-9]*')" = \
		'"family_number":25' || ret=1
	run_ranks 3 inc-allreduce --count 700 --iters 3 || ret=1
	module_unloads || ret=1
	return "$ret"
}

both_forward() {
	[ "$(bridge -n sw link show | grep -c 'state forwarding')" = 2 ]
}

bridge_again() {
	ip -n sw -batch - <<-END && wait_for 60 both_forward || return
		link add br0 type bridge
		addr add $INC_NODE4/24 dev br0
		link set br0 up
		link set p1 master br0
		link set p2 master br0
	END
	ip -n h1 neigh flush all
	ip -n h2 neigh flush all
	inc -n sw node add dev br0 && INC_HOSTS=2 run_ranks 2 inc-allreduce --count 700 --iters 2
}

inc_begin
inc_topology_create 4
lab socket_abi.py
lab process.py process:
check "ulimit -l 64: 64 KiB to 1 MiB, 6 operations in flight" little_memory 16384,100000,262144 6 3
[ "$FULL" = 0 ] || check "ulimit -l 64: 4 MiB, 2 operations in flight" little_memory 1048576 2 2
unloading "the module goes while packets come" unload_under_traffic
unloading "another UDP port is that of all who name none" at_another_port
unloading "the number of AF_INC is told, can be another one, and is learned" at_another_number
unloading "it can be loaded again, and works" loads_again
lab process.py "gone: a host" "gone: the bridge"
check "another bridge in its place" bridge_again
lab process.py "gone: the node"
inc_end
