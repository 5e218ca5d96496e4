#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Links that carry nothing for a while, with the dead limit that nodes have without another word:
# what TCP would survive in that time is no error, and costs no operation.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

DEFAULT_DEAD=10000
STOP=$INC_TMP/stop

# A job that goes on until it is told to stop, and computes for a while between operations.
start_job() {
	inc -n sw node set dev br0 dead "$DEFAULT_DEAD" "$@" || return
	rm -f "$STOP"
	BLOCKS=$(counter sw blocks) MOVES=$(counter h2 moves)
	start_ranks "$INC_HOSTS" inc-coll --max "${MAX:-3000}" --seed "$SEED" \
		--quiet --ops 20 --until "$STOP" --flight 2 --late 200
	wait_for 60 has_begun
}

has_begun() {
	[ "$(counter sw blocks)" -ge $((BLOCKS + 10)) ]
}

forwards() {
	[[ $(bridge -n sw link show dev "$1") == *"state forwarding"* ]]
}

microseconds() {
	echo "${EPOCHREALTIME/[.,]/}"
}

# flap PORT TIMES DOWN UP: seconds. LONG is how often it was down for a second longer than that.
flap() {
	local i since most

	most=$(awk "BEGIN { print int(($3 + 1) * 1000000) }")
	LONG=0
	for ((i = 0; i < $2; i++)); do
		since=$(microseconds)
		ip -n sw link set "$1" down && sleep "$3" && ip -n sw link set "$1" up &&
			wait_for 60 forwards "$1" || return
		LONG=$((LONG + ($(microseconds) - since > most)))
		sleep "$4"
	done
}

# The job was there all the time, and ends well.
ends_well() {
	touch "$STOP"
	wait_ranks
}

# moved MIN MAX: so often host 2 has been elsewhere, or has come back
moved() {
	local n=$(($(counter h2 moves) - MOVES))

	expect "moves" "$n" -ge "$1" && expect "moves" "$n" -le "$2"
}

# Each time for longer than the dead limit that other tests have.
flaps() {
	start_job fallback none && flap p2 3 2.5 0.5 && ends_well
}

# Looking for a better place does no harm, and a short outage is no reason for it: six would be. A
# machine that is busy may make long ones of them.
flaps_with_edge() {
	start_job fallback edge && flap p2 6 0.2 0.3 && ends_well && moved 0 $((5 + 4 * LONG))
}

silent_for_long() {
	start_job fallback none && flap p2 1 4 0 && ends_well
}

silent_for_long_with_edge() {
	start_job fallback edge && flap p2 1 4 0 && ends_well && moved 1 20
}

at_edge() {
	[ "$(counter h2 moves)" -gt "$MOVES" ] && inc -n h2 group show | grep -q "at edge"
}

# Host 3 is the root of a tree there, of which all others lose sight five times, within a window of
# blocks.
flaps_at_edge() {
	local ret=0

	MAX=20000 start_job fallback edge window 4096 && inc -n sw node del dev br0 &&
		wait_for 60 at_edge &&
		flap p3 5 2.2 1 && ends_well && moved 6 60 || ret=1
	inc -n sw node add dev br0 && return "$ret"
}

# What the module has without another word, what a node has that is added without one, and what the
# parameter refuses.
default_limit() {
	local wrong

	expect "the module's limit" "${INC_LOADED_DEAD_MS:-$DEFAULT_DEAD}" -eq "$DEFAULT_DEAD" ||
		return
	for wrong in 99 60001 x; do
		! dead_limit "$wrong" 2>/dev/null || { echo "# it can be $wrong"; return 1; }
	done
	dead_limit 700 && inc -n sw node del dev br0 && inc -n sw node add dev br0 &&
		dead_limit 2000 || return
	expect "the node's limit" \
		"$(inc -n sw -j node show | grep -o '"dead_ms": *[0-9]*' | grep -o '[0-9]*$')" \
		-eq 700
}

inc_begin
inc_topology_create 3
check "the default, and what it can be" default_limit
set_up inc -n sw node set dev br0 dead "$DEFAULT_DEAD"
# an outage is not to be the longer for an ARP request that gets lost in it
set_up neighbours_known
lab silence.py
check "a port that is down for two and a half seconds, three times" flaps
check "a port that flaps for three seconds, with a fallback" flaps_with_edge
check "a port that is down for four seconds" silent_for_long
check "a port that is down for four seconds, with a fallback" silent_for_long_with_edge
check "the port of a tree's root at the edge is down for two seconds, five times" flaps_at_edge
inc_end
