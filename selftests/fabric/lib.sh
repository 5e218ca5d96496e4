# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the tests in a fabric share. They are like those of selftests/vm, but what is a network
# namespace there is a guest of tools/vm/fabric here: ranks, counters and groups are those of
# guests.
#
# A test sets TOPOLOGY, a file of this directory, and sources this file, which boots that fabric and
# runs the test beside it. Without TOPOLOGY it has nothing booted.
#
# KERNEL: environment: the version of all guests (default 6.12). BOOTS: how many boot at once.

FABRIC=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAUNCHER=$FABRIC/../../tools/vm/fabric
export KERNEL=${KERNEL:-6.12}

command -v qemu-system-x86_64 >/dev/null || {
	echo "1..0 # SKIP there is no qemu-system-x86_64: tools/deps vm"
	exit 4
}
command -v pgrep >/dev/null || {
	echo "1..0 # SKIP there is no program pgrep: tools/deps vm"
	exit 4
}
if [ -z "${INC_FABRIC-}" ] && [ -n "${TOPOLOGY-}" ]; then
	exec "$LAUNCHER" --kernel "$KERNEL" --boots "${BOOTS:-1}" --timeout 900 \
		"$FABRIC/$TOPOLOGY" -- "$0"
fi

# shellcheck source=../vm/lib.sh
. "$FABRIC/../vm/lib.sh"

INC_TIMEOUT=120

fabric_cleanup() {
	local pid

	for pid in "${RANK_PIDS[@]}"; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	rm -rf "$INC_TMP"
}

fabric_begin() {
	trap fabric_cleanup EXIT
	echo "KTAP version 1"
	echo "# $(basename "$0"): seed $SEED"
	RANDOM=$SEED
}

# start_ranks N PROGRAM ARGUMENTS...: rank r on host h(r + 1), in a new group, in background
start_ranks() {
	local n=$1 r

	shift
	INC_GROUP_NR=$((INC_GROUP_NR + 1))
	RANK_PIDS=()
	for ((r = 0; r < n; r++)); do
		# shellcheck disable=SC2086
		on --limit "$INC_TIMEOUT" "h$((r + 1))" env INC_GROUP=$INC_GROUP_NR INC_RANK=$r \
			INC_SIZE=$n "$@" ${RANK_ARGS[$r]:-} >"$(rank_log "$r")" 2>&1 &
		RANK_PIDS[r]=$!
	done
	RANK_ARGS=()
}

# counter NODE COUNTER: of all groups that this guest has had
counter() {
	local stats value

	stats=$(on "$1" inc -j -s stats show) || return
	value=$(first_number "$2" "$stats")
	echo "${value:-0}"
}

# device_bytes GUEST DEVICE rx|tx
device_bytes() {
	on "$1" cat "/sys/class/net/$2/statistics/$3_bytes"
}

# At any node: the test has them in NODES.
no_groups() {
	local node groups

	for node in "${NODES[@]}"; do
		groups=$(on "$node" inc group show) && [ -z "$groups" ] || return
	done
}

why_stuck() {
	local guest

	for guest in $(on --list); do
		on --limit 20 "$guest" inc -s group show 2>&1 | sed "s/^/  $guest: /"
	done
}
