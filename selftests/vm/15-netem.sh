#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Links that lose, repeat, reorder and delay packets, in both directions of every link, with
# super-packets (netem then treats each of them as one) and without. Every element must be right all
# the same, and the counters must show that the disturbance has happened.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

HOSTS=4

# under COUNT NETEM-ARGUMENTS...: run with links like that; what COUNT prints must grow
under() {
	local count=$1 before ret=0

	shift
	set_links "$@" && before=$("$count") || return
	run_ranks "$HOSTS" inc-allreduce --count 0,1,353,5000,30000 --iters 2 --seed "$RANDOM" \
		--special &&
		run_ranks "$HOSTS" inc-allreduce --type i32 --count 700 --nonblock 8 --iters 40 \
			--seed "$RANDOM" || ret=1
	expect "$count" "$("$count")" -gt "$before" || ret=1
	clear_links
	return "$ret"
}

resent() { total contribs_resent; }

duplicates() { total drop_duplicate; }

matrix() {
	check "offloads $1: loss 10 %" under resent loss 10%
	check "offloads $1: loss, duplication, reordering and jitter" \
		under resent delay 2ms 1ms loss 3% duplicate 3% reorder 25% 50%
	[ "$1$FULL" != off0 ] || return
	check "offloads $1: loss 1 %" under lost_on_links loss 1%
	check "offloads $1: duplication 10 %" under duplicates duplicate 10%
	check "offloads $1: reordering 25 %" under overtaken delay 2ms reorder 25% 50%
}

inc_begin
for gso in on off; do
	inc_topology_create "$HOSTS" "$gso"
	set_up neighbours_known
	matrix "$gso"
	check "offloads $gso: no group stays" wait_for 30 no_groups
	inc_topology_destroy
done
inc_end
