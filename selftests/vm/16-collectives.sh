#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# All collectives with all types, operations, options and ways of calling them, drawn at random and
# compared with what inc-coll computes itself; what must fail, at every rank and with both sides
# named, and the group works on.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

COLLS=(barrier allreduce reduce reduce-scatter broadcast allgather gather scatter alltoall scan \
	exscan)
TYPES=(i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 f8e4m3 f8e5m2 bool c32 c64 i32_i32 f32_i32 \
	i64_i64 f64_i64 mxf8e4m3 mxf8e5m2 mxf4e2m1 mxi8)
OPS=(sum prod min max band bor bxor land lor lxor minloc maxloc avg wsum)
REDUCTIONS=allreduce,reduce,reduce-scatter,scan,exscan

# random NAME RANKS OPERATIONS ARGUMENTS...: that many operations; the seed is printed when they
# fail. RANKS stands in braces if it is drawn.
random() {
	local name=$1 ranks=$2 ops=$3

	shift 3
	check "$ranks ranks: $name" run_ranks "${ranks//[\{\}]/}" inc-coll --quiet \
		--seed "$RANDOM" --ops "$ops" "$@"
}

# Numbers of ranks; every collective, type and operation by itself. Without FULL=1 two of each,
# drawn.
matrix() {
	local n name

	for n in $(sample 2 3 4 5 6 7 8); do
		random "any collective" "{$n}" $((FULL ? 600 : 200 / n))
	done
	for name in $(sample "${COLLS[@]}"); do
		random "collective {$name}" "{$((2 + RANDOM % 4))}" $((FULL ? 300 : 40)) \
			--coll "$name"
	done
	for name in $(sample "${TYPES[@]}"); do
		random "type {$name}" 3 $((FULL ? 300 : 60)) --type "$name"
	done
	for name in $(sample "${OPS[@]}"); do
		random "operation {$name} of all types" 4 $((FULL ? 300 : 40)) \
			--coll "$REDUCTIONS" --op "$name"
	done
}

# Two of the words, all of them with FULL=1.
sample() {
	if [ "$FULL" = 1 ]; then
		echo "$@"
	else
		shuf -n 2 -e "$@" --random-source=<(yes "$SEED")
	fi
}

# The same bits when softirqs find the FPU in use, always or now and then.
without_fpu() {
	local nth

	for nth in 1 3; do
		set_up deny_fpu "$nth"
		random "every FPU section of $nth is refused" 3 $((FULL ? 600 : 60)) \
			--coll "$REDUCTIONS"
	done
	set_up deny_fpu 0
}

deny_fpu() {
	local parameter=/sys/module/inc/parameters/fpu_deny_nth

	echo "$1" >"$parameter" && expect "$parameter" "$(cat "$parameter")" = "$1"
}

# Elements that are blocks of 32 values, longer than any other: at the node, also where packets are
# short and the FPU is in use, and at the edge.
block_floats() {
	local blocks=mxf8e4m3,mxf8e5m2,mxf4e2m1,mxi8

	random "block floats" 3 $((FULL ? 300 : 60)) --type "$blocks"
	random "block floats, scans" 3 20 --type "$blocks" --coll scan,exscan
	set_up deny_fpu 2
	random "block floats, every FPU section of 2 is refused" 3 20 --type "$blocks" \
		--coll "$REDUCTIONS"
	set_up deny_fpu 0
	INC_PARENT=edge:10.7.0.1 random "block floats at the edge" 4 20 --type "$blocks"
}

sizes() {
	random "nothing or one element" 3 60 --count 0,1
	random "the end of a block" 3 40 --count 343,344,345,352,353,354,355,356
	random "many under way" 4 120 --max 200 --flight 64
	random "ranks that come late" 4 20 --late 100
	random "large" 3 $((FULL ? 40 : 4)) --max 60000
}

# disturbed NAME COUNT COMMAND...: while the links are as the command makes them; what COUNT prints
# must grow meanwhile
disturbed() {
	local name=$1

	check "4 ranks: $name" random_on_links "$RANDOM" "${@:2}"
	clear_links
}

# random_on_links SEED COUNT COMMAND...
random_on_links() {
	local seed=$1 count=$2 before ret=0

	"${@:3}" || return
	before=$("$count") || return
	run_ranks 4 inc-coll --quiet --seed "$seed" --ops $((FULL ? 300 : 40)) --max 3000 || ret=1
	expect "$count after \"${*:3}\"" "$("$count")" -gt "$before" && return "$ret"
}

# What came twice.
duplicates() { total drop_duplicate; }

failures() {
	local n

	for n in 3 $([ "$FULL" = 0 ] || echo 2 5); do
		check "$n ranks: refused, disagreeing, other counts" \
			run_ranks "$n" inc-coll --quiet --errors --seed "$RANDOM"
	done
}

inc_begin
inc_topology_create 8
matrix
without_fpu
block_floats
sizes
failures
inc_topology_destroy

inc_topology_create 4
[ "$FULL" = 0 ] || disturbed "1 % loss" lost_on_links set_loss 1%
disturbed "20 % duplicates" duplicates set_dup 20%
disturbed "25 % out of order" overtaken set_reorder 25%
inc_topology_destroy

inc_topology_create 4 off
[ "$FULL" = 0 ] || random "no offloads" 4 300
disturbed "no offloads, 1 % loss" lost_on_links set_loss 1%
inc_topology_destroy

inc_topology_create 2
random "two on each host" 4 $((FULL ? 600 : 80))
inc_topology_destroy

inc_topology_create 3 on 9000
random "MTU 9000" 3 30 --max 9000
inc_topology_destroy
inc_topology_create 3 on 576
random "MTU 576" 3 40
random "MTU 576, block floats" 3 20 --type mxf8e4m3,mxf8e5m2,mxf4e2m1,mxi8
inc_end
