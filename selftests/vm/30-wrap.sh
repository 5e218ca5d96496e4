#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Block numbers across 2^31, 2^32 and 2^64, without and with loss; and the kernels that reduce: the
# same bits with AVX2, with the FPU denied every second time, and with integer instructions only.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

PARAMETERS=/sys/module/inc/parameters

# first_block FIRST: of groups that form from now on
first_block() {
	echo "$1" >"$PARAMETERS/first_block" &&
		expect first_block "$(cat "$PARAMETERS/first_block")" = "$1"
}

across() {
	local ret=0

	first_block "$1" || return
	run_ranks 3 inc-allreduce --count 0,1,353,5000 --iters 4 --seed "$RANDOM" --special || ret=1
	first_block 0 || ret=1
	return "$ret"
}

with_loss() {
	local before ret=0

	set_links loss 5% duplicate 3% && before=$(lost_on_links) || return
	across "$1" || ret=1
	expect "packets that links have lost" "$(lost_on_links)" -gt "$before" || ret=1
	clear_links
	return "$ret"
}

hash() {
	timeout 180 python3 -s -S "$LAB_DIR/wrap.py" hash
}

# What the module is used for now, whatever this machine can.
variants() {
	inc -j caps show | grep -o '"variant":"[a-z0-9]*"' | cut -d'"' -f4 | sort -u | tr '\n' ' '
}

# denied NTH: the same hash, and the node has done without the FPU as often as it must
denied() {
	local got generic blocks

	generic=$(counter sw fold_generic)
	blocks=$(counter sw blocks)
	echo "$1" >"$PARAMETERS/fpu_deny_nth"
	got=$(hash)
	echo 0 >"$PARAMETERS/fpu_deny_nth"
	generic=$(($(counter sw fold_generic) - generic))
	blocks=$(($(counter sw blocks) - blocks))
	expect "length of the hash" "${#got}" = 64 &&
		expect "hash of the results" "$got" = "$HASH" &&
		expect "blocks reduced without the FPU" "$generic" -gt 0 || return
	[ "$1" = 1 ] || expect "blocks reduced without the FPU" "$generic" -lt "$blocks"
}

# reloaded VARIANT: the same hash from a module that was told what to use
reloaded() {
	local h

	module_unloads && load_module inc "reduce_variant=$1" &&
		inc -n sw node add dev br0 || return
	for h in 1 2 3; do
		inc -n "h$h" parent set "$INC_NODE4" || return
	done
	[ "$1" = auto ] || expect "variants in use" "$(variants)" = "$1 " || return
	expect "hash of the results" "$(hash)" = "${HASH:-none}"
}

inc_begin
inc_topology_create 3
set_up neighbours_known
firsts="4294967293 18446744073709551613"
[ "$FULL" = 0 ] || firsts="2147483645 $firsts 9223372036854775805"
for first in $firsts; do
	if first_block "$first"; then
		lab wrap.py blocks "$first"
	else
		ktap_not_ok "first block $first"
	fi
done
set_up first_block 0
check "programs across 2^32, with loss" with_loss 4294967290
[ "$FULL" = 0 ] || check "programs across 2^64, with loss" with_loss 18446744073709551610
HASH=$(hash)
check "a hash to compare with" expect "length of the hash" "${#HASH}" = 64
check "the FPU denied every second time: the same bits" denied 2
check "the FPU always denied: the same bits" denied 1
# that has shown the generic kernels to give these bits
[ "$FULL" = 0 ] || unloading "generic kernels: the same bits" reloaded generic
[ "$FULL" = 0 ] || unloading "what the machine is best at: the same bits" reloaded auto
inc_end
