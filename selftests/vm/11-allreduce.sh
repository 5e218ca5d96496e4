#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Allreduce on links without loss: sizes around the block's and the super-packet's edges, types,
# numbers of hosts, in place, every alignment, many in flight; every element compared with a fold in
# the order of ranks.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

# A block at MTU 1500 holds about 350 elements: 0, 1, both sides of some edges, and what is no
# multiple of anything.
SMALL=0,1,3,7,64,349,350,351,352,353,354,355,356,357,703,704,705,1000
MEDIUM=4095,16384,65539

# matrix HOSTS: what every number of hosts must do
matrix() {
	local n=$1

	check "$n hosts i32: 0 to 65539 elements" \
		run_ranks "$n" inc-allreduce --type i32 --count "$SMALL,$MEDIUM" \
		--iters 1 --seed "$RANDOM"
	check "$n hosts f32 with NaN, infinities, subnormals, zeros: 0 to 65539 elements" \
		run_ranks "$n" inc-allreduce --special --count "$SMALL,$MEDIUM" \
		--iters 1 --seed "$RANDOM"
	check "$n hosts: in place" \
		run_ranks "$n" inc-allreduce --inplace --count "$SMALL,$MEDIUM" \
		--iters 1 --seed "$RANDOM"
}

# Every alignment, in place or not; with FULL=1 both.
alignments() {
	local place=--inplace a

	for a in 1 2 3 4093; do
		check "alignment $a ${place#--}" aligned "$a" "$place"
		[ "$FULL" = 0 ] || check "alignment $a not ${place#--}" aligned "$a"
		[ -z "$place" ] && place=--inplace || place=''
	done
}

aligned() {
	# shellcheck disable=SC2086
	run_ranks 3 inc-allreduce --align "$1" ${2:-} --count "7,355,5000" \
		--iters 2 --seed "$RANDOM"
}

in_flight() {
	local k

	for k in 2 64; do
		check "$k operations in flight" \
			run_ranks 4 inc-allreduce --nonblock "$k" --count 0,1,500,3000 --iters 40 \
			--seed "$RANDOM"
	done
	check "a barrier after each" run_ranks 4 inc-allreduce --barrier --count 100 --iters 50 \
		--seed "$RANDOM"
}

large() {
	check "4 hosts: 1 MiB + 4 bytes" run_ranks 4 inc-allreduce --count 262145 --iters 1 \
		--seed "$RANDOM"
	check "2 hosts: 4 MiB" run_ranks 2 inc-allreduce --count 1048576 --iters 1 --seed "$RANDOM"
	[ "$FULL" = 0 ] && return
	check "2 hosts: 16 MiB" run_ranks 2 inc-allreduce --count 4194304 --iters 2 --seed "$RANDOM"
	INC_TIMEOUT=300 check "2 hosts: 64 MiB" run_ranks 2 inc-allreduce --count 16777216 \
		--iters 1 --seed "$RANDOM"
}

# A rank is late, and it is seen while that lasts: the node says so, and the result is right all the
# same.
late_is_visible() {
	rank_args 1 "--delay-at 1:4000"
	start_ranks 3 inc-allreduce --count 1000 --iters 3
	wait_for 20 late_rank_shown 1 || return
	wait_ranks
}

late_rank_shown() {
	inc -n sw -j group show | grep -q "\"waiting\":$1.*\"late\":true"
}

# No block need be sent a second time on links that lose nothing. Of the 4 x 290 that go up, and of
# those that come down, one in twenty may be, because a virtual CPU that stands still for a while
# keeps what is in its queue. On a busy machine it stands still for longer: one run of three must
# keep within the bound, but all of them must have the right results.
nothing_sent_again() {
	local before _

	for _ in 1 2 3; do
		before=$(sum_resent)
		run_ranks 4 inc-allreduce --count 20000 --iters 5 || return
		expect "blocks sent again" "$(sum_resent)" -le "$((before + 116))" && return
	done
	return 1
}

sum_resent() {
	local ns s=0

	for ns in $(all_netns); do
		s=$((s + $(counter "$ns" contribs_resent) + $(counter "$ns" results_resent)))
	done
	echo "$s"
}

inc_begin
hosts="2 4"
[ "$FULL" = 0 ] || hosts="2 3 4 5 8 13 16"
for n in $hosts; do
	inc_topology_create "$n"
	matrix "$n"
	inc_topology_destroy
done

inc_topology_create 16
check "8 hosts" run_ranks 8 inc-allreduce --count "$SMALL,4095" --iters 1 --seed "$RANDOM"
# a debug kernel takes a minute to start 16 programs if the machine has other work, and the first
# wait for the last
check "16 hosts f32" run_ranks 16 inc-allreduce --timeout 150000 --special --count 0,1,353,5000 \
	--iters 1 \
	--seed "$RANDOM"
check "16 hosts i32" run_ranks 16 inc-allreduce --timeout 150000 --type i32 \
	--inplace --count 0,1,353,5000 --iters 1 \
	--seed "$RANDOM"
inc_topology_destroy

inc_topology_create 4
alignments
in_flight
large
# 23-process stops a rank until the node has said so
[ "$FULL" = 0 ] || check "a late rank is shown with its number" late_is_visible
check "without loss (almost) nothing is sent again" nothing_sent_again
inc_topology_destroy

inc_topology_create 3 on 9000
check "MTU 9000" run_ranks 3 inc-allreduce --count 0,1,2000,2200,2240,2300,50000 --iters 2 \
	--seed "$RANDOM"
inc_topology_destroy
inc_topology_create 3 on 576
check "MTU 576" run_ranks 3 inc-allreduce --count 0,1,100,110,120,130,9999 --iters 2 \
	--seed "$RANDOM"
inc_end
