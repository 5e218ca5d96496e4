#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The Python package: four hosts run a program over NumPy, whose results are compared with NumPy's,
# and the node's counters with what it has sent; asyncio, Ctrl-C, ranks that are missing, late or
# dead.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

ranks=$(cd "$(dirname "$0")" && pwd)/python_ranks.py
lib=$(dirname "$(command -v inc-allreduce)")/../lib
export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONPATH=$INC_TOP/userspace/python SEED
# Compiled once per machine, and not into the source tree.
export PYTHONPYCACHEPREFIX=${TMPDIR:-/tmp}/inc-selftests-pycache
# NumPy's threads are not wanted on small machines.
export OPENBLAS_NUM_THREADS=1
export FILE=$INC_TMP/file

# The interpreter that has NumPy.
PYTHON=python3
python3 -c 'import numpy' 2>/dev/null || PYTHON=/usr/bin/python3
"$PYTHON" -c 'import numpy' 2>/dev/null || skip_all "there is no NumPy: tools/deps python"

# passed TEST [RANK...]: these ranks, all without any
passed() {
	local r which=("${@:2}")

	[ $# -gt 1 ] || which=(0 1 2 3)
	for r in "${which[@]}"; do
		if ! grep -qx "$1: passed" "$(rank_log "$r")"; then
			echo "rank $r:"
			cat "$(rank_log "$r")"
			return 1
		fi
	done
}

all_end_well() {
	cat "$INC_TMP/python.log"
	expect "status of the run" "$STATUS" = 0
}

# After this a rank is dead.
dead() {
	start_ranks 4 "$PYTHON" "$ranks" dead
	wait_rank 3 137 && wait_ranks && passed dead 0 1 2
}

late() {
	inc -n sw node set dev br0 late 10000 late-policy partial || return
	run_ranks 4 "$PYTHON" "$ranks" late && passed late
}

inc_begin
inc_topology_create 4
STATUS=0
# One process for each rank: starting it takes longer than what it does.
INC_TIMEOUT=600 run_ranks 4 "$PYTHON" "$ranks" collectives counted nonblocking memory asyncio \
	split launcher mismatch interrupt \
	interrupt_wait >"$INC_TMP/python.log" 2>&1 || STATUS=$?
check "collectives are what NumPy computes" passed collectives
check "the node has reduced every block once" passed counted
check "operations without blocking, dropped requests" passed nonblocking
check "registered memory" passed memory
check "asyncio" passed asyncio
check "groups made of a group, and the first of several operations" passed split
check "the rank, size and job of a launcher" passed launcher
check "ranks that disagree" passed mismatch
check "Ctrl-C in a collective aborts the group" passed interrupt
check "Ctrl-C in wait() and in a join" passed interrupt_wait
check "all ranks end well" all_end_well
sed -n 's/^# //p' "$(rank_log 0)" | sed 's/^/# /'
check "a dead rank is named, and the others go on" dead
check "groups are gone" wait_for 30 no_groups
check "partial results name the late rank" late
check "groups are gone, once more" wait_for 30 no_groups
inc_end
