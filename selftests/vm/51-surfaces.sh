#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Random netlink requests and system calls, of root and of those who may nothing, see
# selftests/fuzz/surfaces. Then the module works as before, holds nothing of what was, and can be
# unloaded.
#
# SURFACES: seconds for each of the two rounds (default 3). SEED replays what was asked for, not who
# came first.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

PROGRAM=$INC_TOP/build/fuzz/inc-surfaces
SECONDS_EACH=${SURFACES:-$((FULL ? 60 : 3))}
PIDS=()
declare -A LIMITS=()

# tools/check has built it; a VM takes its time
built() {
	[ -x "$PROGRAM" ] || make -s -C "$INC_TOP/selftests/fuzz" surfaces
}

# fuzz NETNS ARGUMENTS...: in the background
fuzz() {
	in_ns "$1" "$PROGRAM" --seed "$SEED" --seconds "$SECONDS_EACH" \
		"${@:2}" >"$INC_TMP/fuzz${#PIDS[@]}" 2>&1 &
	PIDS+=($!)
}

# All that run have found nothing wrong.
all_well() {
	local i ret=0

	for i in "${!PIDS[@]}"; do
		wait "${PIDS[i]}" || ret=1
	done
	cat "$INC_TMP"/fuzz?
	cat "$INC_TMP"/fuzz? >"$INC_TMP/said"
	PIDS=()
	return "$ret"
}

# limits NETNS SCOPE: of the namespace (netns) or of every user (user), as `inc limits set` takes
# them
limits() {
	local json

	json=$(inc -n "$1" -j limits show) || return
	# the namespace comes first; all users have the same
	json=${json#*"\"scope\":\"$2\""}
	grep -oE '"[a-z_]+":\{"use":[0-9]+,"max":[0-9]+' <<<"${json%%\"scope\"*}" |
		sed -E 's/"([a-z_]+)":.*:/\1 /; s/_/-/'
}

save_limits() {
	local ns

	for ns in sw h1; do
		LIMITS[$ns]=$(limits "$ns" netns)
	done
	LIMITS[user]=$(limits sw user)
	expect "limits of users" "$(wc -l <<<"${LIMITS[user]}")" = \
		"$(grep -c '^INC_LIMIT(' "$INC_TOP/uapi/linux/inc_limits.h")"
}

restore_limits() {
	local ns

	for ns in sw h1; do
		# shellcheck disable=SC2086
		inc -n "$ns" limits set ${LIMITS[$ns]} &&
			expect "limits" "$(limits "$ns" netns)" = "${LIMITS[$ns]}" || return
	done
	# that of answers is the namespace's only
	# shellcheck disable=SC2046
	inc limits set user $(grep -v ^answers <<<"${LIMITS[user]}") &&
		expect "limits of users" "$(limits sw user | grep -v ^answers)" = \
			"$(grep -v ^answers <<<"${LIMITS[user]}")"
}

# What only requests may change: of the node, the default parents, and limits.
configuration() {
	local ns

	for ns in sw h1; do
		inc -n "$ns" -j node show | sed -E 's/"(groups|memory)":[0-9]+//g'
		inc -n "$ns" -j parent show
		inc -n "$ns" -j tenant show
		limits "$ns" netns
	done
	limits sw user
}

# Root's sockets at one host; requests of nobody, and of root of another user namespace, at the
# node.
without_privilege() {
	local before ret=0

	before=$(configuration)
	fuzz sw netlink --as nobody --workers 1
	fuzz sw netlink --as userns --workers 1
	fuzz h1 socket --steady --parent "$INC_NODE4"
	all_well || ret=1
	expect "configuration" "$(configuration)" = "$before" && return "$ret"
}

# Root's requests at the node, which comes, goes and changes, and at a host; nobody's sockets at
# that host.
with_privilege() {
	fuzz sw netlink --keep br0
	fuzz h1 netlink --workers 1
	fuzz h1 socket --as nobody --parent "$INC_NODE4"
	all_well
}

# As inc_topology_create() left it.
configure_again() {
	local ns dev name

	for ns in sw h1; do
		for name \
			in $(inc -n "$ns" -j tenant show | grep -o '"name":"[^"]*"' | cut -d'"' -f4); do
			inc -n "$ns" tenant del "$name" || return
		done
		# not from the JSON, in which a link-local parent has a "dev", too
		for dev in $(inc -n "$ns" node show | sed -n 's/^node dev \([^ ]*\).*/\1/p'); do
			inc -n "$ns" node del dev "$dev" || return
		done
	done
	inc -n sw node add dev br0 && inc -n h1 parent set "$INC_NODE4" && restore_limits
}

# nobody, who may pin 64 KiB: what was pinned before is not counted any more
little_memory() {
	# shellcheck disable=SC2016
	run_ranks 3 sh \
		-c \
		'ulimit -l 64; exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
		--bounding-set=-all "$0" "$@"' inc-allreduce --count 0,1,352,20000 --iters 2 --seed "$SEED"
}

# The fuzzer has results written to the end of user memory, where its stack is unless addresses are
# random, as they are not in emulated guests.
random_addresses() {
	local file=/proc/sys/kernel/randomize_va_space

	RANDOM_BEFORE=${RANDOM_BEFORE:-$(cat "$file")}
	echo "$1" >"$file"
}

inc_begin
check "the fuzzer is built" built
set_up random_addresses 2
inc_topology_create 3
check "there are limits" save_limits
check "requests without privilege, calls on sockets" without_privilege
sed 's/^/# /' "$INC_TMP/said"
check "requests of root, calls of nobody" with_privilege
sed 's/^/# /' "$INC_TMP/said"
set_up random_addresses "$RANDOM_BEFORE"
check "node, parents and limits are set again" configure_again
check "nothing is held" wait_for 30 nothing_held
check "results are right" run_ranks 3 inc-coll --quiet --seed "$SEED" --ops 10
check "results are right for nobody, with 64 KiB" little_memory
inc_topology_destroy
inc_end
