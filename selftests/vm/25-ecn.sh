#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Congestion that a link marks (ECN): all ranks slow down, not only the one whose link it is. netem
# marks here what it would drop (and counts it as dropped).

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

MARKS="netem loss 50% ecn limit 100000"

# counters COUNTER: of all hosts, on one line
counters() {
	local h

	for ((h = 1; h <= INC_HOSTS; h++)); do
		counter "h$h" "$1"
	done | paste -s -d' '
}

# more BEFORE AFTER: has every number of the list grown?
more() {
	local -a before after
	local i

	read -ra before <<<"$1"
	read -ra after <<<"$2"
	for i in "${!before[@]}"; do
		expect "h$((i + 1))'s count after ${before[i]}" "${after[i]}" -gt "${before[i]}" ||
			return
	done
}

# marked NETNS DEV WHO: the link marks, WHO counts it and h1 does not, all slow down
marked() {
	local ns=$1 dev=$2 who=$3 cuts here others ret=0

	cuts=$(counters cwnd_cuts)
	here=$(counter "$who" congested)
	others=$(counter h1 congested)
	# shellcheck disable=SC2086
	tc -n "$ns" qdisc replace dev "$dev" root $MARKS || return
	run_ranks "$INC_HOSTS" inc-allreduce --count 100000 --iters 4 --seed "$SEED" || ret=1
	tc -n "$ns" qdisc del dev "$dev" root
	[ "$ret" = 0 ] && expect "marks that $who counts" \
		"$(counter "$who" congested)" -gt "$here" &&
		expect "marks that h1 counts" "$(counter h1 congested)" -eq "$others" &&
		more "$cuts" "$(counters cwnd_cuts)"
}

inc_begin
inc_topology_create 3
set_up neighbours_known
check "up: the node tells all ranks" marked h2 eth0 sw
check "down: a rank tells the others" marked sw p2 h2
inc_topology_destroy
inc_topology_create 2 on 1500 "$INC_NODE6"
set_up neighbours_known
check "IPv6" marked h2 eth0 sw
inc_topology_destroy
inc_topology_create 2 off
set_up neighbours_known
check "offloads off" marked h2 eth0 sw
inc_end
