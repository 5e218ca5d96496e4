#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Groups over several kernels: two leaves below a spine, two hosts at each, rank R on host R + 1.
# inc-coll compares each element, floats in the order in which the tree folds them. Kernels are
# ended in mid-operation and booted again, the spine with another version.
#
# OTHER: environment: this version (default 6.1)

# shellcheck disable=SC2034 # lib.sh looks at it
TOPOLOGY=two-leaves
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

OPS=${OPS:-25}
OTHER=${OTHER:-6.1}
TREE="(0,1),(2,3)"
NODES=(spine leaf1 leaf2)

nobody_keeps_groups() {
	wait_for 60 no_groups
}

# No two guests have the same kernel.
own_kernels() {
	local guest guests ids=()

	mapfile -t guests < <(on --list)
	expect "guests" "${#guests[@]}" -eq 7 || return
	for guest in "${guests[@]}"; do
		ids+=("$(on "$guest" cat /proc/sys/kernel/random/boot_id)") || return
	done
	expect "kernels" "$(printf '%s\n' "${ids[@]}" | sort -u | wc -l)" -eq 7
}

# coll NAME [OPTIONS...]
coll() {
	local name=$1

	shift
	check "$name" run_ranks 4 inc-coll --quiet --timeout 30000 --seed "$RANDOM" --ops "$OPS" \
		--tree "$TREE" "$@"
	check "$name: no node keeps the group" nobody_keeps_groups
}

# read_counters: sets C[NODE COUNTER]; bytes from hosts, and from leaves to the spine
declare -A C=()
read_counters() {
	local node what host

	for node in "${NODES[@]}"; do
		for what in blocks contribs contribs_sent contribs_resent; do
			C[$node $what]=$(counter "$node" "$what") || return
		done
	done
	for host in h1:leaf1 h2:leaf1 h3:leaf2 h4:leaf2; do
		C[${host%:*}]=$(device_bytes "${host#*:}" "${host%:*}" rx) || return
	done
	C[leaf1]=$(device_bytes spine leaf1 rx) && C[leaf2]=$(device_bytes spine leaf2 rx)
}

# Each node reduces two contributions to one, so that of the bytes that reach a leaf half go on.
who_reduced() {
	local key leaf blocks bytes
	local -A before=()

	read_counters || return
	for key in "${!C[@]}"; do before[$key]=${C[$key]}; done
	run_ranks 4 inc-allreduce --type i32 --count 40000 --iters 4 && nobody_keeps_groups &&
		read_counters || return
	for key in "${!C[@]}"; do C[$key]=$((C[$key] - before[$key])); done
	blocks=${C[spine blocks]}
	# 4 * 40000 elements of 4 bytes, 1424 bytes in a block
	expect "blocks of the spine" "$blocks" -ge 450 &&
		expect "contributions to the spine" "${C[spine contribs]}" -eq $((2 * blocks)) &&
		expect "contributions of the spine" "${C[spine contribs_sent]}" -eq 0 || return
	for leaf in leaf1 leaf2; do
		# the last block is LEAVE, which may be acknowledged before its result comes
		expect "blocks of $leaf" "${C[$leaf blocks]}" -le "$blocks" &&
			expect "blocks of $leaf" "${C[$leaf blocks]}" -ge $((blocks - 1)) &&
			expect "contributions to $leaf" \
				"${C[$leaf contribs]}" -eq $((2 * blocks)) &&
			expect "contributions of $leaf" "${C[$leaf contribs_sent]}" -eq "$blocks" ||
			return
		bytes=$((C[h1] + C[h2]))
		[ "$leaf" = leaf1 ] || bytes=$((C[h3] + C[h4]))
		expect "bytes from $leaf" "${C[$leaf]}" -ge 640000 &&
			expect "bytes from $leaf, of $bytes from its hosts, per cent" \
				$((C[$leaf] * 100 / bytes)) -lt 75 || return
	done
}

# A group of which all ranks are at one leaf: nothing is reduced above it.
stays_below() {
	local blocks sent

	blocks=$(counter spine blocks) && sent=$(counter leaf1 contribs_sent) &&
		run_ranks 2 inc-coll --quiet --timeout 30000 --seed "$RANDOM" --ops 10 &&
		nobody_keeps_groups &&
		expect "blocks of the spine" "$(counter spine blocks)" -eq "$blocks" &&
		expect "contributions of leaf1" "$(counter leaf1 contribs_sent)" -eq "$sent"
}

lossy() {
	local leaf

	for leaf in leaf1 leaf2; do
		on "$leaf" tc qdisc replace dev spine root netem loss 3% &&
			on spine tc qdisc replace dev "$leaf" root netem loss 3% || return
	done
}

not_lossy() {
	local leaf

	for leaf in leaf1 leaf2; do
		on "$leaf" tc qdisc del dev spine root && on spine tc qdisc del dev "$leaf" root ||
			return
	done
}

blocks_flow() {
	[ "$(counter spine blocks)" -gt "$BLOCKS" ]
}

# says RANK WHAT: and only that it failed, never a wrong number
says() {
	if ! grep -q "$2" "$(rank_log "$1")" || grep -q "expected 0x" "$(rank_log "$1")"; then
		echo "rank $1 was to say: $2; it said:"
		cat "$(rank_log "$1")"
		return 1
	fi
}

# killed GUEST RANK:STATUS:TEXT...: what each rank is to say when this guest's kernel ends
killed() {
	local guest=$1 rank status text begin

	shift
	BLOCKS=$(counter spine blocks) || return
	start_ranks 4 inc-allreduce --type i32 --count 200000 --iters 100000
	wait_for 60 blocks_flow && on --kill "$guest" || return
	begin=$SECONDS
	for rank in "$@"; do
		IFS=: read -r rank status text <<<"$rank"
		wait_rank "$rank" "$status" && says "$rank" "$text" || return
	done
	expect "seconds until all ranks knew" $((SECONDS - begin)) -lt 60
}

back_again() {
	on --boot "$@" && nobody_keeps_groups
}

no_module_stays() {
	local guest

	for guest in $(on --list); do
		on "$guest" rmmod inc || { echo "at $guest"; return 1; }
	done
}

fabric_begin
check "7 guests, each with a kernel of its own" own_kernels
coll "4 ranks below 2 leaves and a spine"
check "each node reduces, and sends half as much on" who_reduced
check "a group of one leaf stays there" stays_below
check "ranks that disagree, below a leaf and across leaves" \
	run_ranks 4 inc-coll --quiet --timeout 30000 --errors
set_up nobody_keeps_groups
set_up lossy
BEFORE=$(($(counter leaf1 contribs_resent) + $(counter leaf2 contribs_resent)))
coll "loss between kernels"
check "what was lost was sent again" expect "contributions sent again" \
	$(($(counter leaf1 contribs_resent) + $(counter leaf2 contribs_resent))) -gt "$BEFORE"
set_up not_lossy

check "a host's kernel ends: the others name its rank" killed h4 \
	3:125:"h4 has ended" 0:1:"rank 3 does not answer" 1:1:"rank 3 does not answer" \
	2:1:"rank 3 does not answer"
check "it is back" back_again h4
coll "with the host that is back"
check "a leaf's kernel ends: its ranks name the node, the others a rank below it" killed leaf2 \
	0:1:"rank [23] does not answer" 1:1:"rank [23] does not answer" \
	2:1:"the node does not answer" 3:1:"the node does not answer"
check "it is back" back_again leaf2
coll "with the leaf that is back"
check "the spine's kernel ends: all ranks name the node" killed spine \
	0:1:"the node does not answer" 1:1:"the node does not answer" \
	2:1:"the node does not answer" 3:1:"the node does not answer"
check "it is back, with another version" back_again spine "$OTHER"
check "this is the spine's version" expect "version" \
	"$(on spine uname -r | cut -d. -f1-2)" = "$OTHER"
coll "with a spine of another version"
check "and each node reduces as before" who_reduced
check "the module unloads everywhere" no_module_stays
ktap_end
