#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sparse data: blocks of zeros go as headers, up and down, counted; results are those of dense data,
# bit for bit, also where packets get lost. Wherever else inc-coll runs, over several levels of
# nodes, at the edge, with failures, some of its operations are sparse, too.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

# sparse NAME RANKS ARGUMENTS...: random collectives of which most elements are 0
sparse() {
	check "$1" run_ranks "$2" inc-coll --quiet --seed "$RANDOM" --ops "$((FULL ? 300 : 60))" \
		--max 20000 --zeros 80 "${@:3}"
}

lossy() {
	local h

	for h in 1 2 3; do
		tc -n "h$h" qdisc replace dev eth0 root netem loss "$1" reorder 20% delay 1ms || return
	done
}

inc_begin
inc_topology_create 3
set_up neighbours_known
lab sparse.py
sparse "any collective" 3
sparse "sums, products and the like" 3 --coll allreduce,reduce,reduce-scatter,scan,exscan
set_up lossy 3%
sparse "packets that get lost" 3
inc_topology_destroy
inc_end
