#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Wires that spoil packets: every host's link leads through a relay of our own, which flips bits,
# truncates, loses, repeats, reorders and delays. Results are right all the same, and every flipped
# or truncated packet is found again in exactly the counter that it belongs to: INC's, or UDP's if
# the rank whose port it was for has gone.
#
#	h1: eth0 ---- w: u1   relay.py   w: d1 ---- sw: p1 (br0)	and so on for every host; segmentation offload
#									and checksum offload off at both ends

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

HOSTS=3
RELAY_PID=
RELAY_LOG=$INC_TMP/relay

# Puts the relay's two devices into the link of host $1.
wire_create() {
	local h=$1

	ip -n "h$h" link del eth0 && ip -n w -batch - <<-END && ip -n "h$h" \
		-batch - <<-END2 || return
		link add dev u$h type veth peer name eth0 netns h$h
		link add dev d$h type veth peer name p$h netns sw
		link set u$h up
		link set d$h up
	END
		addr add 10.7.0.$h/24 dev eth0
		addr add fd00:7::$h/64 dev eth0 nodad
		link set eth0 up
	END2
	ip -n sw link set "p$h" master br0 up
	ethernet_only "h$h" eth0 && ethernet_only sw "p$h" && ethernet_only w "u$h" &&
		ethernet_only w "d$h"
}

# No offload of any kind: what leaves is what a wire would carry.
ethernet_only() {
	in_ns "$1" ethtool -K "$2" tx off rx off tso off gso off gro off tx-udp-segmentation \
		off >/dev/null
}

# The hooks of a host are registered while it has a node, so that late packets are counted too.
wires_create() {
	local h

	ip netns add w || return
	for ((h = 1; h <= HOSTS; h++)); do
		wire_create "$h" && inc -n "h$h" node add dev lo || return
	done
	wait_for 60 ports_forward
}

# relay_start KIND=PERMILLE...
relay_start() {
	rm -f "$RELAY_LOG"*
	nsenter --net=/run/netns/w timeout -k 5 300 python3 -s -S "$LAB_DIR/relay.py" "$HOSTS" \
		"$RELAY_LOG" "$@" &
	RELAY_PID=$!
	wait_for 60 test -e "$RELAY_LOG.ready"
}

relay_stop() {
	kill -TERM "$RELAY_PID"
	wait "$RELAY_PID"
	test -s "$RELAY_LOG"
}

# relayed DIRECTION KIND [HOST]: how many, of one host or of all
relayed() {
	awk -v way="$1" -v kind="$2" -v host="${3:-0}" '
		$2 == way && $3 == kind && (!host || $1 == host) { sum += $4 } END { print sum + 0 }' "$RELAY_LOG"
}

# proc_net HOST FILE PROTOCOL COUNTER: what the host's own IP or UDP has counted, in /proc/net/FILE
proc_net() {
	in_ns "$1" cat "/proc/net/$2" | awk -v protocol="$3:" -v counter="$4" '
		$1 == protocol && !seen++ { split($0, name); next }
		$1 == protocol { for (i in name) if (name[i] == counter) print $i }'
}

# What IP itself found to be cut off, which never reaches INC on a host.
ip_truncated() { proc_net "$1" netstat IpExt InTruncatedPkts; }

# What came damaged to a host: late, for a rank that has gone, it is no longer INC's.
wrong_checksums() {
	echo $(($(counter "$1" drop_checksum) + $(proc_net "$1" snmp Udp InCsumErrors)))
}

# jobs: runs of checked allreduces
jobs() {
	run_ranks "$HOSTS" inc-allreduce --count 0,1,353,8000 --iters "$1" --seed "$RANDOM" \
		--special &&
		run_ranks "$HOSTS" \
			inc-allreduce --type i32 --count 700 --nonblock 8 --iters "$((4 * $1))" \
			--seed "$RANDOM"
}

# through COUNTER... -- KIND=PERMILLE...: jobs over relays like that; afterwards INC's counters are
# what the relays did
through() {
	local ret=0 h before_sum before_mal before_ip=() before_hsum=()

	before_sum=$(counter sw drop_checksum)
	before_mal=$(counter sw drop_malformed)
	for ((h = 1; h <= HOSTS; h++)); do
		before_ip[h]=$(ip_truncated "h$h")
		before_hsum[h]=$(wrong_checksums "h$h")
	done
	relay_start "$@" || return
	jobs "${ITERS:-3}" || ret=1
	wait_for 30 no_groups || ret=1
	relay_stop || return
	[ "$ret" = 0 ] || return
	expect "frames longer than the MTU" \
		"$(($(relayed up too_long) + $(relayed down too_long)))" -eq 0 &&
		expect "packets counted at the node for their checksum" \
			"$(($(counter sw drop_checksum) - before_sum))" \
			-eq "$(relayed up flip)" &&
		expect "packets counted at the node for their length" \
			"$(($(counter sw drop_malformed) - before_mal))" \
			-eq "$(relayed up truncate)" || return
	for ((h = 1; h <= HOSTS; h++)); do
		expect "h$h: packets counted for their checksum" \
			"$(($(wrong_checksums "h$h") - before_hsum[h]))" \
			-eq "$(relayed down flip "$h")" &&
			expect "h$h: packets that IP found truncated" \
				"$(($(ip_truncated "h$h") - before_ip[h]))" \
				-eq "$(relayed down truncate "$h")" || return
	done
	happened "$@"
}

# happened KIND=PERMILLE...: every kind that was asked for came about, in both directions
happened() {
	local rate way

	for rate in "$@"; do
		for way in up down; do
			expect "$way: packets with ${rate%=*}" \
				"$(relayed "$way" "${rate%=*}")" -gt 0 || return
		done
	done
}

inc_begin
inc_topology_create "$HOSTS"
check "a relay stands in every link" wires_create
check "flipped, truncated, lost, repeated, reordered and late packets" \
	through flip=25 truncate=25 drop=25 duplicate=25 reorder=25 delay=25
if [ "$FULL" = 1 ]; then
	ITERS=20
	check "a relay that spoils nothing" through
	check "flipped bits alone" through flip=50
	check "truncated packets alone" through truncate=50
	check "repeated and late ones" through duplicate=50 reorder=50 delay=50
	check "much of all of it" through flip=40 truncate=40 drop=40 duplicate=40 reorder=40 \
		delay=40
fi
set_up ip netns del w
inc_end
