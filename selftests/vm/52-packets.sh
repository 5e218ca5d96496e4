#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Members that lie, at random: selftests/fuzz/surfaces/packet.c. h6 has them, as ranks or as a node
# with ranks below it, and one honest rank of each of their groups, h4 and h5 have the other honest
# ones; meanwhile ranks on h1 to h3 have a group of their own, at the same node, in which every
# element must be right. Nodes are such as can keep a few blocks, have a fallback, or go on without
# late ranks. Then nothing is held, a job is right, and the module can be unloaded.
#
# PACKETS: seconds for each of the three rounds (default 4). SEED replays what was said, not who
# came first.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

PROGRAM=$INC_TOP/build/fuzz/inc-surfaces
SECONDS_EACH=${PACKETS:-$((FULL ? 30 : 4))}
LIARS_PID=''

# tools/check has built it; a VM takes its time
built() {
	[ -x "$PROGRAM" ] || make -s -C "$INC_TOP/selftests/fuzz" surfaces
}

# A node without groups, with these settings.
node() {
	inc -n sw node del dev br0 && inc -n sw node add dev br0 "$@"
}

# Every kind of packet is sent, some hundred times a second on any machine.
begin_lies() {
	in_ns h6 "$PROGRAM" packet --seed "$SEED" --seconds "$SECONDS_EACH" --liars h6 \
		--honest h4,h5 --least 1 "$@" >"$INC_TMP/lies" 2>&1 &
	LIARS_PID=$!
}

end_lies() {
	local status=0

	wait "$LIARS_PID" || status=$?
	cat "$INC_TMP/lies"
	[ "$status" = 0 ] || why_stuck
	return "$status"
}

# As long as others lie; at least once from beginning to end.
jobs_beside() {
	local n=0

	while [ "$n" = 0 ] || kill -0 "$LIARS_PID" 2>/dev/null; do
		run_ranks 3 inc-coll --quiet --seed "$((SEED + n))" --ops 10 || return
		n=$((n + 1))
	done
	echo "$n jobs" >"$INC_TMP/jobs"
}

# lies WHAT NODE-SETTINGS...
lies() {
	local what=$1

	shift
	set_up node "$@"
	begin_lies --nodes
	check "$what: others' jobs are right and end" jobs_beside
	check "$what: operations end, results are right, every kind of lie was told" end_lies
	sed 's/^/# /' "$INC_TMP/lies" "$INC_TMP/jobs"
}

# Late ranks are gone on without, and nodes are refused: a job of others on a slow machine would be,
# too.
lies_alone() {
	local what=$1

	shift
	set_up node "$@"
	begin_lies
	check "$what: operations end, results are right, every kind of lie was told" end_lies
	sed 's/^/# /' "$INC_TMP/lies"
}

inc_begin
check "the fuzzer is built" built
inc_topology_create 6
check "hosts know one another" neighbours_known
lies "a few blocks of memory" max-memory 64K window 16
lies "fallback to the edge" fallback edge
lies_alone "late ranks are left out" late 300 late-policy partial
set_up node
check "nothing is held" wait_for 60 nothing_held
check "results are right" run_ranks 6 inc-coll --quiet --seed "$SEED" --ops 10
inc_topology_destroy
inc_end
