#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# All collectives with all types, operations, options and ways of calling them, drawn at random and compared with what
# inc-coll computes itself; what must fail, at every rank and with both sides named, and the group works on.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

COLLS=(barrier allreduce reduce reduce-scatter broadcast allgather gather scatter alltoall scan exscan)
TYPES=(i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 f8e4m3 f8e5m2 bool c32 c64 i32_i32 f32_i32 i64_i64 f64_i64)
OPS=(sum prod min max band bor bxor land lor lxor minloc maxloc avg wsum)
REDUCTIONS=allreduce,reduce,reduce-scatter,scan,exscan
MOVES=broadcast,allgather,gather,scatter,alltoall

# random NAME RANKS OPERATIONS ARGUMENTS...: that many operations; the seed is printed when they fail
random() {
	local name=$1 n=$2 ops=$3

	shift 3
	check "$n ranks: $name" run_ranks "$n" inc-coll --quiet --seed "$RANDOM" --ops "$ops" "$@"
}

# Every number of ranks, then every collective, type and operation by itself; of the latter a few without FULL=1.
matrix() {
	local n name

	for n in 2 3 4 5 6 7 8; do
		random "any collective" "$n" $((FULL ? 600 : 240 / n))
	done
	for name in "${COLLS[@]}"; do
		random "$name" $((2 + RANDOM % 4)) $((FULL ? 300 : 40)) --coll "$name"
	done
	for name in $(sample "${TYPES[@]}"); do
		random "reductions of $name" 3 $((FULL ? 200 : 40)) --coll "$REDUCTIONS" --type "$name"
		random "moves of $name" 3 $((FULL ? 100 : 20)) --coll "$MOVES" --type "$name"
	done
	for name in $(sample "${OPS[@]}"); do
		random "$name of all types" 4 $((FULL ? 300 : 40)) --coll "$REDUCTIONS" --op "$name"
	done
}

# Three of the words, all of them with FULL=1.
sample() {
	if [ "$FULL" = 1 ]; then
		echo "$@"
	else
		shuf -n 3 -e "$@" --random-source=<(yes "$SEED")
	fi
}

sizes() {
	random "nothing or one element" 3 80 --count 0,1
	random "the end of a block" 3 60 --count 343,344,345,352,353,354,355,356
	random "many under way" 4 150 --max 200 --flight 64
	random "ranks that come late" 4 40 --late 200
	random "large" 3 $((FULL ? 40 : 6)) --max 60000
}

# disturbed NAME COMMAND...: while the links are as the command makes them
disturbed() {
	local name=$1

	shift
	"$@"
	random "$name" 4 $((FULL ? 300 : 40)) --max 3000
	clear_links
}

failures() {
	local n

	for n in 2 5; do
		check "$n ranks: refused, disagreeing, other counts" \
			run_ranks "$n" inc-coll --quiet --errors --seed "$RANDOM"
	done
}

inc_begin
inc_topology_create 8
matrix
sizes
failures
inc_topology_destroy

inc_topology_create 4
disturbed "1 % loss" set_loss 1%
disturbed "20 % duplicates" set_dup 20%
disturbed "25 % out of order" set_reorder 25%
inc_topology_destroy

inc_topology_create 4 off
random "no offloads" 4 $((FULL ? 300 : 60))
disturbed "no offloads, 1 % loss" set_loss 1%
inc_topology_destroy

inc_topology_create 3 on 9000
random "MTU 9000" 3 60 --max 9000
inc_topology_destroy
inc_topology_create 3 on 576
random "MTU 576" 3 60
inc_end
