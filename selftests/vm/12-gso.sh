#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Super-packets: with segmentation offload they cross the links whole in both directions, more than
# one block per received buffer at the node and at the hosts; without it every block is a packet of
# its own. Both give the same results; whole ones carry no more bytes than one copy up and one copy
# down, and what was counted as sent again.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

COUNT=262144	# 1 MiB

# copies N RESENT: the bytes of IP that N copies of the buffer may take, 8 % more than the buffer,
# and blocks sent again
copies() {
	echo $((4 * COUNT * $1 * 108 / 100 + 1500 * $2))
}

reduce() {
	run_ranks 4 inc-allreduce --count "$COUNT" --iters "$1" --seed "$SEED"
}

# whole NETNS: half as many buffers as packets at most; where super-packets are taken apart there are
# as many. A slow machine sends small super-packets, 500 us of its rate: 3.1 packets in a buffer were
# seen on one with eight times the work that it can do
whole() {
	local packets skbs

	packets=$(counter "$1" rx_packets)
	skbs=$(counter "$1" rx_skbs)
	expect "$1: packets received" "$packets" -gt 1000 &&
		expect "$1: buffers that $packets packets came in" \
			"$skbs" -lt "$((packets / 2))"
}

single() {
	expect "$1: buffers" "$(counter "$1" rx_skbs)" -eq "$(counter "$1" rx_packets)"
}

both() {
	local ns

	for ns in sw h1 h2 h3 h4; do
		"$1" "$ns" || return
	done
}

# over_ports KEY BEFORE AFTER: by how much the sum over all ports has grown
over_ports() {
	echo $(($(json_sum "$1" <<<"$3") - $(json_sum "$1" <<<"$2")))
}

# contributions_again NETNS...: blocks that they have contributed again
contributions_again() {
	local ns sum=0

	for ns in "$@"; do
		sum=$((sum + $(counter "$ns" contribs_resent)))
	done
	echo "$sum"
}

port_counters() {
	local before after up down key

	before=$(inc -n sw -j port show)
	up=$(contributions_again h1 h2 h3 h4)
	down=$(counter sw results_resent)
	reduce "$1" || return
	after=$(inc -n sw -j port show)
	up=$(($(contributions_again h1 h2 h3 h4) - up))
	down=$(($(counter sw results_resent) - down))
	expect "bytes in" \
		"$(over_ports rx_bytes "$before" "$after")" -le "$(copies $((4 * $1)) "$up")" &&
		expect "bytes out" "$(over_ports tx_bytes "$before" "$after")" \
			-le "$(copies $((4 * $1)) "$down")" || return
	# every element has gone up and come down, in packets that are no longer than the MTU
	for key in rx tx; do
		expect "$key bytes" "$(over_ports "${key}_bytes" "$before" "$after")" \
			-ge $((16 * COUNT * $1)) &&
			expect "$key packets" "$(over_ports "${key}_packets" "$before" "$after")" \
				-ge $((16 * COUNT * $1 / 1472)) || return
	done
}

# counted by the link, which knows the headers inside super-packets
link_bytes() {
	local up down up_again down_again

	count_bytes h1 eth0 && count_bytes sw p1 || return
	up=$(ip_bytes h1 eth0)
	down=$(ip_bytes sw p1)
	up_again=$(contributions_again h1)
	down_again=$(counter sw results_resent)
	reduce 2 || return
	up=$(($(ip_bytes h1 eth0) - up))
	down=$(($(ip_bytes sw p1) - down))
	up_again=$(($(contributions_again h1) - up_again))
	down_again=$(($(counter sw results_resent) - down_again))
	# 14 bytes of Ethernet are in there, with every segment
	expect "bytes up" "$up" -le "$(copies 2 "$up_again")" &&
		expect "bytes up" "$up" -ge $((8 * COUNT)) &&
		expect "bytes down" "$down" -le "$(copies 2 "$down_again")" &&
		expect "bytes down" "$down" -ge $((8 * COUNT))
}

inc_begin

inc_topology_create 4 on
check "offloads on: results are right" reduce 2
check "offloads on: super-packets come whole, at the node and at every host" both whole
check "offloads on: one copy up and one down per port" port_counters 2
check "offloads on: the links carry one copy up and one down" link_bytes
inc_topology_destroy

inc_topology_create 4 off
check "offloads off: results are right" reduce 2
check "offloads off: every packet comes alone" both single
# No count of bytes here: four windows of single packets can overflow a CPU's queue
# (netdev_max_backlog), which is loss.
inc_topology_destroy

# A mixture: what one sends whole, another gets in pieces.
inc_topology_create 4 on
offloads_off h2 eth0
offloads_off sw p3
check "offloads on some links" reduce 2
inc_end
