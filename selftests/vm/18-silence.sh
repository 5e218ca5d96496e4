#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Links that carry nothing for a while, with the dead limit that nodes have without another word: what TCP would survive
# in that time is no error, and costs no operation.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

DEFAULT_DEAD=10000

# A job that computes for a while between operations, so that it outlasts what is done to the links.
start_job() {
	inc -n sw node set dev br0 dead "$DEFAULT_DEAD" "$@" || return
	BLOCKS=$(counter sw blocks) MOVES=$(counter h2 moves)
	start_ranks "$INC_HOSTS" inc-coll --max 3000 --seed "$SEED" --quiet --ops 150 --flight 2 --late 200
	wait_for 60 has_begun
}

has_begun() {
	[ "$(counter sw blocks)" -ge $((BLOCKS + 10)) ]
}

# flap TIMES DOWN UP: the port of host 2, in seconds
flap() {
	local i

	for ((i = 0; i < $1; i++)); do
		ip -n sw link set p2 down && sleep "$2" && ip -n sw link set p2 up && sleep "$3" || return
	done
}

# The job was there all the time, and ends well.
ends_well() {
	kill -0 "$(rank_pid 0)" 2>/dev/null || { echo "# the job was over before the links were as they should be again"; return 1; }
	wait_ranks
}

# moved MIN MAX: so often host 2 has been elsewhere, or has come back
moved() {
	local n=$(($(counter h2 moves) - MOVES))

	expect "moves" "$n" -ge "$1" && expect "moves" "$n" -le "$2"
}

flaps() {
	start_job fallback none && flap 6 0.2 0.3 && ends_well && moved 0 0
}

# There is no better place, and looking for one does no harm.
flaps_with_edge() {
	start_job fallback edge && flap 6 0.2 0.3 && ends_well
}

silent_for_long() {
	start_job fallback none && flap 1 4 0 && ends_well && moved 0 0
}

silent_for_long_with_edge() {
	start_job fallback edge && flap 1 4 0 && ends_well && moved 1 20
}

# What a node has that is added without a word, and what the parameter refuses.
default_limit() {
	local wrong

	for wrong in 99 60001 x; do
		! dead_limit "$wrong" 2>/dev/null || { echo "# it can be $wrong"; return 1; }
	done
	dead_limit 700 && inc -n sw node del dev br0 && inc -n sw node add dev br0 && dead_limit 2000 || return
	expect "the node's limit" "$(inc -n sw -j node show | grep -o '"dead_ms": *[0-9]*' | grep -o '[0-9]*$')" -eq 700
}

inc_begin
inc_topology_create 3
check "the default, and what it can be" default_limit
check "a port that flaps for three seconds" flaps
check "a port that flaps for three seconds, with a fallback" flaps_with_edge
check "a port that is down for four seconds" silent_for_long
check "a port that is down for four seconds, with a fallback" silent_for_long_with_edge
inc_end
