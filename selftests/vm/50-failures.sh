#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Memory that cannot be had. First every single allocation of every call, one after the other; then,
# while random collectives run, one in some dozens of all those that cannot wait (softirqs, and what
# is done under locks), and of all those of the ranks themselves. Operations end with the right
# bytes or an errno, and all is given back. Needs a kernel with fault injection: make check-debug.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

FAULTS=/sys/kernel/debug
HOSTS=4

# fault NAME=VALUE...: of all kinds; what a kind does not have is left out
fault() {
	local kind setting

	for kind in failslab fail_page_alloc fail_usercopy; do
		for setting in "$@"; do
			[ ! -e "$FAULTS/$kind/${setting%=*}" ] ||
				echo "${setting#*=}" >"$FAULTS/$kind/${setting%=*}" || return
		done
	done
}

# Nothing fails of itself, but whatever can is to fail when asked to.
faults_ready() {
	fault verbose=0 probability=0 interval=1 times=-1 space=0 task-filter=N ignore-gfp-wait=N \
		ignore-gfp-highmem=N \
		min-order=0
}

# softirqs_fail PERCENT: allocations that must not wait, whoever does them
softirqs_fail() {
	faults_ready && fault ignore-gfp-wait=Y && for kind in failslab fail_page_alloc; do
		echo "$1" >"$FAULTS/$kind/probability" || return
	done
}

# ranks_fail PERCENT: all allocations of processes that have asked for it
ranks_fail() {
	faults_ready && fault task-filter=Y && for kind in failslab fail_page_alloc; do
		echo "$1" >"$FAULTS/$kind/probability" || return
	done
}

# What is lost for want of memory is sent again: every bit is right.
softirqs() {
	local ret=0 before after

	before=$(total drop_memory tx_errors)
	softirqs_fail "$1" || return
	shift
	run_ranks "$HOSTS" inc-coll --quiet --seed "$RANDOM" "$@" || ret=1
	faults_ready || return
	after=$(total drop_memory tx_errors)
	expect "packets lost for want of memory" "$after" -gt "$before" && return "$ret"
}

# Ranks whose calls fail: they end, and say why; none has got wrong elements, none hangs.
ranks() {
	local r ret=0 status begin=$SECONDS

	: >"$INC_TMP/how"
	ranks_fail "$1" || return
	shift
	rm -f "$INC_TMP"/pid*
	# shellcheck disable=SC2016 # for the other shell
	TMP=$INC_TMP start_ranks "$HOSTS" sh -c 'echo $$ >"$TMP/pid$INC_RANK"; exec "$0" "$@"' \
		inc-coll --quiet \
		--seed "$RANDOM" "$@"
	wait_for 60 group_active || ret=1
	for r in "${!RANK_PIDS[@]}"; do
		# one may have ended, because another one has
		{ echo 1 >"/proc/$(cat "$INC_TMP/pid$r")/make-it-fail"; } 2>/dev/null
	done
	for r in "${!RANK_PIDS[@]}"; do
		status=0
		wait "${RANK_PIDS[$r]}" || status=$?
		unset "RANK_PIDS[$r]"
		echo \
			"# rank $r: status $status after $((SECONDS - begin)) s: $(tail -1 "$(rank_log "$r")")" >>"$INC_TMP/how"
		[ "$status" -lt 3 ] && ! grep -q 'expected' "$(rank_log "$r")" && continue
		echo "rank $r: status $status"
		cat "$(rank_log "$r")"
		ret=1
	done
	faults_ready
	grep -q 'Cannot allocate memory\|No buffer space\|Bad address' "$INC_TMP/how" ||
		ret=1	# else nothing was tested
	return "$ret"
}

group_active() {
	inc -n sw -j group show | grep -q '"state":"active"'
}

inc_begin
mountpoint -q "$FAULTS" || mount -t debugfs debugfs "$FAULTS" 2>/dev/null
if [ -d "$FAULTS/failslab" ]; then
	inc_topology_create "$HOSTS"
	set_up neighbours_known
	set_up faults_ready
	lab failures.py
	check "softirqs: one allocation in 50 fails" softirqs 2 --ops 60
	check "softirqs: one allocation in 10 fails" softirqs 10 --ops 12 --max 500
	for percent in 5 1; do
		check "ranks: $percent % of allocations fail" ranks "$percent" --ops 5000
		cat "$INC_TMP/how"
	done
	check "works as before" run_ranks "$HOSTS" inc-coll --quiet --seed "$RANDOM" --ops 20
	check "no group stays" wait_for 30 no_groups
	inc_topology_destroy
else
	skip "memory that cannot be had" "this kernel has no fault injection"
fi
inc_end
