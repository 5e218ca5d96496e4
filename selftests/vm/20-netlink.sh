#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Generic netlink and the inc tool against the loaded module: the spec, nodes and parents, what is
# refused, dumps that do not fit into one buffer, events, and that every object's JSON is JSON.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

HERE=$(cd "$(dirname "$0")" && pwd)
OBJECTS="node parent group member stats port caps limits tenant qdisc"

# The first node of sw, as "dead late window max-groups max-memory".
node_limits() {
	local node key

	node=$(inc -n sw -j node show)
	for key in dead_ms late_ms window max_groups max_memory; do
		printf '%s ' "$(first_number "$key" "$node")"
	done
	grep -o '"keyed":[a-z]*' <<<"$node" | cut -d: -f2
}

# told STATUS TEXT COMMAND...: it ends with this status and says this on stderr
told() {
	local status=0 out want=$1 text=$2

	shift 2
	out=$("$@" 2>&1 >/dev/null) || status=$?
	expect "exit status of $*" "$status" = "$want" && expect "error of $*" "$out" = "$text"
}

defaults() {
	expect limits "$(node_limits)" = "2000 0 512 64 67108864 false"
}

set_some() {
	inc -n sw node set dev br0 late 500 window 16 || return
	expect limits "$(node_limits)" = "2000 500 16 64 67108864 false" || return
	inc -n sw node set dev br0 dead 100 max-groups 3 max-memory 1M || return
	expect limits "$(node_limits)" = "100 500 16 3 1048576 false"
}

set_key() {
	inc -n sw node set dev br0 key 000102030405060708090a0b0c0d0e0f || return
	expect limits "$(node_limits)" = "100 500 16 3 1048576 true" || return
	! inc -n sw -j node show | grep -q 0a0b || return
	inc -n sw node set dev br0 key none || return
	expect limits "$(node_limits)" = "100 500 16 3 1048576 false"
}

# A fallback and standby nodes, in the order in which they are named; a list replaces the one
# before.
set_fallback() {
	local ret=0 json

	grep -q '"fallback":"none"' <<<"$(inc -n sw -j node show)" || return
	told 2 "inc: node set: fallback standby: expected the address of a standby node" \
		inc -n sw node set dev br0 fallback standby || return
	inc -n sw node set dev br0 fallback edge || return
	inc -n sw node set dev br0 standby 10.8.0.254,fd00:8::fe,10.9.0.254 || return
	json='{"addr":"10.8.0.254","port":5227},{"addr":"fd00:8::fe","port":5227},{"addr":"10.9.0.254","port":5227}'
	node_has "\"fallback\":\"edge\",\"standby\":[$json]" \
		" fallback edge standby 10.8.0.254 standby fd00:8::fe standby 10.9.0.254 " || ret=1
	inc -n sw node set dev br0 fallback standby standby 10.8.0.253 || return
	node_has '"fallback":"standby","standby":[{"addr":"10.8.0.253","port":5227}]' \
		" fallback standby standby 10.8.0.253 " || ret=1
	# the standby node stays, so that it needs not be named again
	inc -n sw node set dev br0 fallback none &&
		inc -n sw node set dev br0 fallback standby || return
	inc -n sw node set dev br0 fallback none || return
	told 2 "inc: node set: 224.0.0.1: expected a unicast address" \
		inc -n sw node set dev br0 standby 10.8.0.1,224.0.0.1 || ret=1
	return "$ret"
}

# The node above: at an address, at a link-local one with its interface, or none.
set_parent() {
	local ret=0 index

	index=$(ip netns exec sw cat /sys/class/net/br0/ifindex) || return
	inc -n sw node set dev br0 parent 10.9.0.254 port 7000 || return
	node_has '"parent":{"addr":"10.9.0.254","port":7000}' " parent 10.9.0.254 port 7000 " ||
		ret=1
	expect "the command" \
		"$(inc -n sw -commands node show | grep -o ' parent .*')" = \
		" parent 10.9.0.254 port 7000" || ret=1
	# the port is that of the address: one without it is at the usual one
	inc -n sw node set dev br0 parent fe80::9%br0 || return
	node_has \
		"\"parent\":{\"addr\":\"fe80::9\",\"port\":5227,\"ifindex\":$index,\"dev\":\"br0\"}" \
		" parent fe80::9 port 5227 via br0 " || ret=1
	expect "the command" \
		"$(inc -n sw -commands node show | grep -o ' parent .*')" = " parent fe80::9%br0" || ret=1
	inc -n sw node set dev br0 dead 100 || return
	node_has '"parent":{"addr":"fe80::9"' " parent fe80::9 " || ret=1
	told 2 "inc: node set: 224.0.0.1: expected a unicast address" \
		inc -n sw node set dev br0 parent 224.0.0.1 || ret=1
	inc -n sw node set dev br0 parent none || return
	! grep -q parent <<<"$(inc -n sw -j node show; inc -n sw node show)" || ret=1
	return "$ret"
}

link_local() {
	ip -n sw -6 -o addr show dev br0 scope link | sed 's/.*inet6 \([^/]*\).*/\1/'
}

# An address of the box is none of another one; that of a VRF is not seen outside of it, and another
# port is another program's. A rank's node may well be on its own box.
own_parent() {
	local addr ret=0 before long=2001:db8:1111:2222:3333:4444:5555:6666

	before=$(inc -n sw -j node show)
	in_ns sw ip addr add "$long/64" dev br0 nodad || return
	for addr in "$INC_NODE4" "$INC_NODE6" "$long" 127.0.0.1 ::1 "$(link_local)%br0"; do
		told 2 "inc: node set: parent ${addr%%%*}: is this box; expected another" \
			inc -n sw node set dev br0 parent "10.9.0.254,$addr" || ret=1
	done
	told 2 "inc: node add: parent $INC_NODE4: is this box; expected another" \
		inc -n sw node add dev all parent "$INC_NODE4" || ret=1
	expect "state afterwards" "$(inc -n sw -j node show)" = "$before" || ret=1
	in_ns sw ip addr del "$long/64" dev br0 || ret=1
	inc -n sw node set dev br0 parent "$INC_NODE4" port 7000 || ret=1
	inc -n sw node set dev br0 parent none || return
	in_ns sw ip link add red type vrf table 10 && in_ns sw ip link set red up &&
		in_ns sw ip link add d0 type dummy && in_ns sw ip link set d0 master red up &&
		in_ns sw ip addr add 10.9.1.1/24 dev d0 || ret=1
	inc -n sw node set dev br0 parent 10.9.1.1 && inc -n sw node set dev br0 parent none || ret=1
	inc -n sw node add dev d0 parent "$INC_NODE4" && inc -n sw node del dev d0 || ret=1
	told 2 "inc: node add: parent 10.9.1.1: is this box; expected another" \
		inc -n sw node add dev d0 parent 10.9.1.1 || ret=1
	in_ns sw ip link del d0 && in_ns sw ip link del red || ret=1
	inc -n sw parent set "$INC_NODE4" && inc -n sw parent del || ret=1
	return "$ret"
}

# Multicast groups for results, or none; what is refused changes nothing.
set_multicast() {
	local ret=0 bad

	inc -n sw node set dev br0 multicast 239.1.0.0/16 || return
	node_has '"multicast":"239.1.0.0","multicast_len":16' " multicast 239.1.0.0/16" || ret=1
	expect "the command" "$(inc -n sw -commands node show | grep -o ' multicast .*')" = \
		" multicast 239.1.0.0/16" || ret=1
	for bad in 10.0.0.0/8 232.1.0.0/16; do
		told 2 "inc: node set: multicast $bad: expected groups as 239.1.0.0/16, not 232.0.0.0/8" \
			inc -n sw node set dev br0 multicast "$bad" || ret=1
	done
	for bad in 224.0.0.0/24 224.0.0.5/32 239.128.0.0/24; do
		told 2 "inc: node set: multicast $bad: has link addresses of 224.0.0.0/24" \
			inc -n sw node set dev br0 multicast "$bad" || ret=1
	done
	told 2 "inc: node set: multicast: prefix of 4 bits: expected 8..32" \
		inc -n sw node set dev br0 multicast 224.0.0.0/4 || ret=1
	told 2 "inc: node set: multicast: address of 16 bytes: expected 4 (IPv4)" \
		inc -n sw node set dev br0 multicast ff15::/64 || ret=1
	told 1 "inc: node set: multicast x: expected none, or an IPv4 or IPv6 prefix" \
		inc -n sw node set dev br0 multicast x || ret=1
	node_has '"multicast":"239.1.0.0","multicast_len":16' " multicast 239.1.0.0/16" || ret=1
	inc -n sw node set dev br0 multicast none || return
	! grep -q multicast <<<"$(inc -n sw -j node show; inc -n sw node show)" || ret=1
	return "$ret"
}

# A node that is there gets what a new one would have: what is not given is the default again, and
# what is refused changes nothing. Where there is none, one is made.
replace_node() {
	local ret=0 replaced added

	inc -n sw node set dev br0 dead 100 late 500 late-policy fail window 16 max-groups 3 \
		max-memory 1M key 000102030405060708090a0b0c0d0e0f \
		fallback edge standby 10.8.0.254 parent 10.9.0.254 || return
	added=$(inc -n sw -j node show)
	told 2 "inc: node replace: fallback standby: expected the address of a standby node" \
		inc -n sw node replace dev br0 window 8 fallback standby || ret=1
	expect "the node after that" "$(inc -n sw -j node show)" = "$added" || ret=1
	inc -n sw node replace dev br0 window 32 || return
	replaced=$(inc -n sw -j node show)
	expect limits "$(node_limits)" = "2000 0 32 64 67108864 false" || ret=1
	inc -n sw node del dev br0 && inc -n sw node replace dev br0 window 32 || return
	added=$(inc -n sw -j node show)
	expect "a node that is replaced" "$replaced" = "$added" || ret=1
	inc -n sw node replace dev br0 late 300 fallback edge || return
	node_has '"late_ms":300,"late_policy":"fail","window":512' " fallback edge " || ret=1
	inc -n sw node replace dev br0
	return "$ret"
}

# The command that makes a node is the one that changes it, so that all can be run once more.
run_again() {
	local before

	inc -n sw node set dev br0 dead 700 fallback edge parent 10.9.0.254 || return
	before=$(inc -n sw -j node show)
	inc -n sw save >"$INC_TMP/saved" || return
	inc -n sw node set dev br0 dead 800 late 900 fallback none parent none || return
	inc -n sw -b "$INC_TMP/saved" &&
		expect "the node" "$(inc -n sw -j node show)" = "$before" || return
	inc -n sw node replace dev br0
}

# node_has JSON TEXT: both outputs hold it
node_has() {
	local json text

	json=$(inc -n sw -j node show) || return
	text=$(inc -n sw node show | tr -s '\n ' ' ') || return
	[[ $json == *"$1"* ]] || { echo "not in $json: $1"; return 1; }
	[[ $text == *"$2"* ]] || { echo "not in $text: $2"; return 1; }
}

# The same requests again find the same state.
bad_requests() {
	local before after

	before=$(inc -n sw -j node show; inc -n sw -j parent show)
	in_ns sw "$HERE/netlink_raw.py" bad br0 || return
	after=$(inc -n sw -j node show; inc -n sw -j parent show)
	expect "state afterwards" "$after" = "$before"
}

refusals() {
	told 2 "inc: node add: dev br0: is a node already; \`set\` changes it" \
		inc -n sw node add dev br0 &&
	told 2 "inc: node add: dev br7: no such interface in this network namespace" \
		inc -n sw node add dev br7 &&
	told 2 "inc: node del: dev lo: is no node" inc -n sw node del dev lo &&
	told 2 "inc: node show: dev lo: is no node" inc -n sw node show dev lo &&
	told 2 "inc: parent set: 224.0.0.1: expected a unicast address" \
		inc -n h1 parent set 224.0.0.1 &&
	told 2 "inc: parent del: no parent is set" inc -n sw parent del
}

as_nobody() {
	local ns=$1

	shift
	in_ns "$ns" setpriv --reuid 65534 --regid 65534 \
		--clear-groups --inh-caps=-all --bounding-set=-all "$@"
}

unprivileged() {
	local object

	for object in $OBJECTS; do
		as_nobody sw inc -j "$object" show >/dev/null || return
	done
	told 2 "inc: node del: needs CAP_NET_ADMIN in this network namespace" \
		as_nobody sw inc node del dev br0 &&
	told 2 "inc: parent set: needs CAP_NET_ADMIN in this network namespace" \
		as_nobody sw inc parent set 10.0.0.1
}

# Root of a user namespace is administrator of its own network namespace, and of no other.
own_netns() {
	setpriv --reuid 65534 --regid 65534 --clear-groups unshare --user --map-root-user --net sh \
		-ec '
		ip link add br0 type bridge
		inc node add dev br0
		inc node show dev br0 >/dev/null
		inc node del dev br0
		inc limits set sockets 100
		! inc limits set user sockets 100 2>/dev/null || exit 1'
}

namespaces() {
	expect "nodes of h1" "$(inc -n h1 -j node show)" = "[]" &&
	expect "parent of sw" "$(inc -n sw -j parent show)" = "{}" &&
	expect "nodes of sw" "$(inc -n sw -j node show | json_sum groups)" = 0
}

parents() {
	inc -n h1 parent set 10.7.0.254 port 5227 || return
	expect parent "$(inc -n h1 parent show)" = "parent 10.7.0.254 port 5227" || return
	told 2 "inc: parent set: port 7000: expected 5227, the module's here (its parameter port)" \
		inc -n h1 parent set 10.7.0.253 port 7000 || return
	inc -n h1 parent set fe80::1 dev eth0 || return
	expect parent "$(inc -n h1 parent show)" = "parent fe80::1 port 5227 dev eth0" || return
	inc -n h1 parent set fe80::2%eth0 port 5227 || return
	expect parent "$(inc -n h1 parent show)" = "parent fe80::2 port 5227 dev eth0" || return
	inc -n h1 parent del || return
	expect parent "$(inc -n h1 parent show)" = "no parent is set" || return
	inc -n h1 parent set "$INC_NODE4"
}

json() {
	local object ns option n=0

	for ns in sw h1; do
		for object in $OBJECTS; do
			for option in -jp -jss; do
				inc -n "$ns" "$option" "$object" show || return
				printf '\0'
				n=$((n + 1))
			done
		done
	done >"$INC_TMP/json"
	python3 -s -S "$HERE/netlink_raw.py" json "$INC_TMP/json" "$n"
}

NODES=160

# Each of many nodes is listed once, though no buffer holds them all.
many_nodes() {
	local i

	ip netns add many || return
	for ((i = 0; i < NODES; i++)); do
		echo "link add d$i type dummy"
	done | ip -n many -batch - || return
	in_ns many "$HERE/netlink_raw.py" add d "$NODES" || return
	expect "nodes listed" \
		"$(inc -n many -j node show | grep -o '"dev":"d[0-9]*"' | sort -u | wc -l)" = \
		"$NODES" &&
	expect "nodes listed" \
		"$(inc -n many -j node show | grep -o '"dev":"d[0-9]*"' | wc -l)" = "$NODES"
}

# Whoever reads a list that changes meanwhile is told.
changing_lists() {
	in_ns many "$HERE/netlink_raw.py" changes d
}

# With the namespace its devices and nodes go.
netns_goes() {
	ip netns del many
}

renamed() {
	ip -n sw link add dn0 type dummy && inc -n sw node add dev dn0 &&
		ip -n sw link set dn0 name dn1 || return
	expect "node with its new name" \
		"$(inc -n sw -j node show dev dn1 | grep -o '"dev":"[^"]*"')" = '"dev":"dn1"' &&
	told 2 "inc: node show: dev dn0: no such interface in this network namespace" \
		inc -n sw node show dev dn0 &&
	told 2 "inc: node add: dev dn1: is a node already; \`set\` changes it" \
		inc -n sw node add dev dn1 || return
	ip -n sw link del dn1
}

nodes_listed() {
	inc -n sw -j node show | grep -o '"ifindex":[0-9]*'
}

# An interface goes, or goes to another namespace, while it is made a node: no node of it stays, and
# nobody waits for it.
comes_and_goes() {
	local i pid before ret=0

	before=$(nodes_listed)
	for ((i = 0; i < 8 && !ret; i++)); do
		ip -n sw link add dg type dummy || return
		inc -n sw node add dev dg 2>/dev/null &
		pid=$!
		if ((i % 2)); then
			ip -n sw link set dg netns h1 || ret=1
		else
			ip -n sw link del dg || ret=1
		fi
		wait "$pid" 2>/dev/null || true
		expect "nodes after round $i" "$(nodes_listed)" = "$before" || ret=1
		! ((i % 2)) || ip -n h1 link del dg || ret=1
	done
	return "$ret"
}

RANKS=24

ranks_wait() {
	[ "$(inc -n sw -j member show | grep -o '"state":"waiting"' | wc -l)" = "$RANKS" ]
}

# Many groups at once, of which one rank each has come: every one in every list, once.
many_groups() {
	local g pids=() ret=0

	# of which one host may have a quarter
	inc -n sw node set dev br0 max-groups $((4 * RANKS)) || return
	for ((g = 0; g < RANKS; g++)); do
		# no function: its shell would be killed, not the program
		nsenter --net=/run/netns/h2 \
			inc-allreduce --group $((5000 + g)) --rank 1 --size 3 \
			--timeout 120000 >/dev/null 2>&1 &
		pids+=($!)
	done
	wait_for 60 ranks_wait || ret=1
	expect "groups of the node" \
		"$(inc -n sw -j group show | grep -o '"group":5[0-9]*' | sort -u | wc -l)" = \
		"$RANKS" || ret=1
	expect "groups of the node" \
		"$(inc -n sw -j -s group show | grep -o '"role":"node"' | wc -l)" = "$RANKS" ||
		ret=1
	expect "ranks of the host" \
		"$(inc -n h2 -j group show | grep -o '"role":"rank"' | wc -l)" = "$RANKS" || ret=1
	expect "members" \
		"$(inc -n sw -j member show | grep -o '"rank":' | wc -l)" = "$((3 * RANKS))" ||
		ret=1
	expect "filtered groups" \
		"$(inc -n sw -j group show group 5007 | json_number group)" = 5007 || ret=1
	expect "filtered groups" \
		"$(inc -n sw -j group show group 5007 | grep -o '"group"' | wc -l)" = 1 || ret=1
	expect "filtered members" \
		"$(inc -n sw -j member show group 5007 | grep -o '"group":5007' | wc -l)" = 3 ||
		ret=1
	inc -n sw group show group 5007 |
		grep -q '^group 5007 node dev br0 joining joined 1/3 .*' || ret=1
	inc -n sw group show group 5007 | grep -q '^    waiting for rank 0' || ret=1
	kill "${pids[@]}"
	wait "${pids[@]}" 2>/dev/null
	wait_for 30 no_groups || { inc -n sw group show; inc -n h2 group show; ret=1; }
	return "$ret"
}

listening() {
	[ "$(grep -c '^' "$INC_TMP/events")" -ge "$1" ]
}

# start_monitor ARGUMENTS...: it listens when the function returns: an event that we cause has come
start_monitor() {
	: >"$INC_TMP/events"
	inc -n sw "$@" monitor >"$INC_TMP/events" &
	MONITOR=$!
	# until it has joined the group what is sent is lost
	wait_for 60 heard_own_event
}

heard_own_event() {
	inc -n sw parent set 192.0.2.1 && listening 1
}

stop_monitor() {
	kill "$MONITOR"
	wait "$MONITOR" 2>/dev/null
}

events() {
	local ret=0

	start_monitor || { stop_monitor; return 1; }
	inc -n sw parent del
	run_ranks 2 inc-allreduce --count 100 || ret=1
	ip -n sw link add brx type bridge
	inc -n sw node add dev brx
	ip -n sw link del brx
	wait_for 60 grep -q '^node-del' "$INC_TMP/events" || ret=1
	# a machine that stands still for a second makes a rank late
	grep -vE '^(parent: 192|rank-late|rank-back)' "$INC_TMP/events" >"$INC_TMP/seen"
	stop_monitor
	sed -E 's/(incarnation|group|epoch) [0-9a-f]+/\1 N/g; s/ dev if[0-9]+/ dev brx/' \
		"$INC_TMP/seen" >"$INC_TMP/seen2"
	cat >"$INC_TMP/want" <<-END
		parent: none
		group-formed dev br0 group N epoch N incarnation N
		group-left dev br0 group N epoch N incarnation N
		node-add dev brx
		node-del dev brx
	END
	diff "$INC_TMP/want" "$INC_TMP/seen2" && return "$ret"
}

events_json() {
	local ret=0

	start_monitor -j -t || { stop_monitor; return 1; }
	inc -n sw parent del
	wait_for 60 grep -q '"text":"none"' "$INC_TMP/events" || ret=1
	stop_monitor
	tr '\n' '\0' <"$INC_TMP/events" >"$INC_TMP/json"
	python3 -s -S "$HERE/netlink_raw.py" json "$INC_TMP/json" "$(wc -l <"$INC_TMP/events")" || ret=1
	grep -q '^{"time":"20.*","event":"parent","text":"none"}$' "$INC_TMP/events" ||
		{ cat "$INC_TMP/events"; ret=1; }
	return "$ret"
}

# A monitor that the module leaves behind would hear nothing of the next one, for ever.
events_end() {
	local ret=0

	ip netns add sw
	start_monitor 2>"$INC_TMP/ended" || ret=1
	inc -n sw parent del
	module_unloads && wait_for 60 grep -q . "$INC_TMP/ended" || ret=1
	load_module inc || ret=1
	kill "$MONITOR" 2>/dev/null
	wait "$MONITOR"
	expect "exit status of the monitor" "$?" -eq 2 || ret=1
	expect "what it says" "$(<"$INC_TMP/ended")" = \
		"inc: monitor show: no more events: the module was unloaded" || ret=1
	ip netns del sw
	return "$ret"
}

counters() {
	local stats

	run_ranks 2 inc-allreduce --count 1000 --iters 3 || return
	wait_for 30 no_groups || return
	stats=$(inc -n sw stats show)
	grep -qE '^blocks +[1-9][0-9]*  blocks completed by reduction or replication$' \
		<<<"$stats" || return
	! grep -qE '^drop_version ' <<<"$stats" || return
	inc -n sw -s stats show | grep -qE '^drop_version +0  wire version unknown$' || return
	inc -n sw metrics >"$INC_TMP/metrics" || return
	grep -qE '^inc_blocks_total [1-9][0-9]*$' "$INC_TMP/metrics" &&
		grep -qE '^inc_port_rx_packets_total\{node="br0",dev="[^"]+"\} [1-9]' \
			"$INC_TMP/metrics" && [ "$(tail -n 1 "$INC_TMP/metrics")" = "# EOF" ]
}

active() {
	[ "$(inc -n sw -j group show | grep -o '"state":"[a-z]*"')" = '"state":"active"' ]
}

# All that can be asked for, at the node and at a host of a group that is at work.
answers() {
	local ret=0 pid

	start_ranks 2 inc-allreduce --count 1000 --iters 3 --delay-at 2:120000
	wait_for 60 active && "$HERE/netlink_raw.py" answers sw,h1 late.hist member.addr \
		group.parent parent.addr \
		port.rx-skbs limits.sockets counters.blocks node.window kernel.variant || ret=1
	for pid in "${RANK_PIDS[@]}"; do
		kill "$pid"
		wait "$pid" 2>/dev/null
	done
	RANK_PIDS=()
	wait_for 30 no_groups && return "$ret"
}

port_taken() {
	local ret=0

	in_ns h1 python3 -s -S -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5227))
print("bound", flush=True)
sys.stdin.read()' <"$INC_TMP/stop" >"$INC_TMP/bound" &
	exec {stop}>"$INC_TMP/stop"
	wait_for 60 grep -q bound "$INC_TMP/bound" || { exec {stop}>&-; wait $!; return 1; }
	told 2 "inc: node add: UDP port 5227 is in use by another program" \
		inc -n h1 node add dev eth0 || ret=1
	exec {stop}>&-
	wait $!
	inc -n h1 node add dev eth0 && inc -n h1 node del dev eth0 || ret=1
	return "$ret"
}

inc_begin
mkfifo "$INC_TMP/stop"
inc_topology_create 2
check "spec, uapi and kernel agree" "$INC_TOP/selftests/spec_check.py" --kernel
check "a node has the documented limits" defaults
check "set changes what it is given" set_some
check "a key is set, and not shown" set_key
check "bad requests are refused and change nothing" bad_requests
check "fallback and standby nodes" set_fallback
check "the parent of a node" set_parent
check "the parent of a node is on another box" own_parent
check "multicast groups for results, and none" set_multicast
check "replace makes a node as if it were new" replace_node
check "what is saved can be run again" run_again
check "refusals name the value and what was expected" refusals
check "an unprivileged user may look and not touch" unprivileged
check "root of a user namespace may in its own" own_netns
check "namespaces do not see each other" namespaces
check "parents" parents
check "the port is in use" port_taken
check "a node has the name of its interface" renamed
check "interfaces go while they are made nodes" comes_and_goes
check "dump of $NODES nodes" many_nodes
check "lists that change while they are read" changing_lists
check "a namespace goes with its nodes" netns_goes
set_up inc -n sw node del dev br0
set_up inc -n sw node add dev br0
check "JSON is JSON" json
check "answers are what the spec says" answers
check "events, in JSON with the time" events_json
check "events" events
check "counters and their meaning" counters
check "dump of $RANKS groups" many_groups
inc_topology_destroy
unloading "events end when the module is unloaded" events_end
inc_end
