#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# No node anywhere: groups meet at the host of their rank 0, which reduces for all. As the parent
# says ("edge:ADDR"), or where the launcher says that ranks meet (MASTER_ADDR) if no parent is set;
# ranks that come before rank 0, that are lost, that have another key or size, or come by a VRF; that
# ranks in a VRF do so, too, and that no host does this for a group that has not asked it to.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

KEY1=000102030405060708090a0b0c0d0e0f
KEY2=ff0102030405060708090a0b0c0d0e0f

no_nodes() {
	local h

	inc -n sw node del dev br0 || return
	for h in 1 2 3 4; do
		inc -n "h$h" parent del || return
	done
}

# at_host COMMAND...: all is well, and h1 has done the work
at_host() {
	local before

	before=$(counter h1 blocks)
	"$@" && expect "blocks that h1 has completed" "$(counter h1 blocks)" -gt "$before" &&
		expect "blocks that the switch has completed" "$(counter sw blocks)" = 0
}

# meet ADDRESS
meet() {
	INC_PARENT=edge:$1 at_host run_ranks 4 inc-coll --quiet --seed "$SEED" --ops 40 --max 20000
}

as_launched() {
	MASTER_ADDR=10.7.0.1 at_host run_ranks 4 inc-coll --quiet --seed "$SEED" \
		--ops 20 --max 20000
}

rank_0_late() {
	rank_args 0 "--start-delay 2500"
	INC_PARENT=edge:10.7.0.1 at_host run_ranks 4 inc-allreduce --count 1000
}

one_host() {
	local r pids=() ret=0

	for r in 0 1 2; do
		in_ns h1 timeout 120 inc-allreduce --group 8001 --rank "$r" \
			--size 3 --parent edge:127.0.0.1 --count 5000 \
			>"$INC_TMP/one$r" 2>&1 &
		pids+=($!)
	done
	for r in 0 1 2; do
		wait "${pids[r]}" || { cat "$INC_TMP/one$r"; ret=1; }
	done
	return "$ret"
}

has_placement() {
	grep -q '"placement":"edge"' <<<"$(inc -n h3 -j group show)"
}

shown() {
	local ret=0

	INC_PARENT=edge:10.7.0.1 start_ranks 4 inc-allreduce --count 100000 --iters 100000 \
		--no-check
	wait_for 60 has_placement || ret=1
	kill "${RANK_PIDS[@]}"
	for r in 0 1 2 3; do wait_rank "$r" any; done
	return "$ret"
}

says() {
	grep -qF -- "$2" "$(rank_log "$1")" ||
		{ echo "rank $1 does not say \"$2\":"; cat "$(rank_log "$1")"; return 1; }
}

# killed RANK OTHER...: these are told who
killed() {
	local r dead=$1

	shift
	rank_args "$dead" "--kill-at 1"
	INC_PARENT=edge:10.7.0.1 start_ranks 3 inc-allreduce --count 2000000 --iters 1000 --no-check
	wait_rank "$dead" 137 || return
	for r in "$@"; do
		wait_rank "$r" 1 && says "$r" "rank $dead has ended the group: it was killed" || return
	done
}

# refused TEXT RANK-ARGUMENTS...: host h2 tries to join, and is told this
refused() {
	local text=$1 out status=0

	shift
	out=$(in_ns h2 timeout 60 env "$@" 2>&1) || status=$?
	expect "exit status" "$status" = 1 || { echo "$out"; return 1; }
	grep -qF -- "$text" <<<"$out" || { echo "expected \"$text\", got: $out"; return 1; }
}

# While rank 0 of group 8002 waits at h1 with KEY1.
with_waiting() {
	local ret=0 pid

	INC_KEY=$KEY1 nsenter --net=/run/netns/h1 inc-allreduce --group 8002 --rank 0 --size 3 \
		--parent edge:10.7.0.1 \
		--timeout 300000 >/dev/null 2>&1 &
	pid=$!
	wait_for 30 group_joined || ret=1
	"$@" || ret=1
	kill "$pid"
	wait "$pid" 2>/dev/null
	return "$ret"
}

group_joined() {
	[ "$(first_number joined "$(inc -n h1 -j group show)")" = 1 ]
}

strangers() {
	refused "the key is not" INC_KEY="$KEY2" \
		inc-allreduce --group 8002 --rank 1 --size 3 --parent edge:10.7.0.1 \
		--timeout 20000 &&
		refused "has another size" INC_KEY="$KEY1" \
			inc-allreduce --group 8002 --rank 1 --size 2 \
			--parent edge:10.7.0.1 --timeout 20000 &&
		refused "rank 0 has not joined there" INC_KEY="$KEY1" inc-allreduce --group 8003 \
			--rank 1 --size 3 --parent edge:10.7.0.1 --timeout 3000 &&
		refused "rank 0 has not joined there" INC_KEY="$KEY1" INC_JOB=other inc-allreduce \
			--group 8002 --rank 1 --size 3 --parent edge:10.7.0.1 --timeout 3000 &&
		refused "it is not this host, where rank 0 has to be" \
			inc-allreduce --group 8004 --rank 0 --size 3 \
			--parent edge:10.7.0.1 --timeout 20000
}

# limit_of_h1 NAME use|max: of its network namespace
limit_of_h1() {
	local json

	json=$(inc -n h1 -j limits show)
	json=${json#*"\"$1\":{"}
	json=${json#*"\"$2\":"}
	echo "${json%%[,\}]*}"
}

has_groups() {
	[ "$(limit_of_h1 groups use)" = "$1" ]
}

# Groups in which nobody but their host is yet take more than a quarter of its memory for groups.
three_at_one_host() {
	local ret=0 max pids=() nr

	wait_for 60 no_groups || ret=1
	max=$(limit_of_h1 slot_memory max)
	for nr in 1 2 3; do
		nsenter --net=/run/netns/h1 inc-allreduce --group "801$nr" --rank 0 --size 3 \
			--parent edge:10.7.0.1 --timeout 300000 >"$INC_TMP/local$nr" 2>&1 &
		pids+=($!)
		wait_for 30 has_groups "$nr" || ret=1
		[ "$nr" != 1 ] ||
			inc -n h1 limits set slot-memory $(($(limit_of_h1 slot_memory use) * 4)) || ret=1
	done
	kill "${pids[@]}"
	wait "${pids[@]}" 2>/dev/null
	inc -n h1 limits set slot-memory "$max" || ret=1
	cat "$INC_TMP"/local?
	wait_for 30 has_groups 0 && return "$ret"
}

# The group counts for the user whose rank 0 it is, not for the administrator.
paid_by_user() {
	local ret=0 pid use

	nsenter --net=/run/netns/h1 setpriv --reuid 4711 --clear-groups inc-allreduce --group 8005 \
		--rank 0 --size 3 \
		--parent edge:10.7.0.1 --timeout 300000 >/dev/null 2>&1 &
	pid=$!
	wait_for 30 group_joined || ret=1
	use=$(inc -n h1 -j limits show)
	use=${use#*'"uid":4711,'}
	use=${use#*'"groups":{"use":'}
	expect "groups of user 4711" "${use%%,*}" = 1 || ret=1
	kill "$pid"
	wait "$pid" 2>/dev/null
	return "$ret"
}

# At h2 somebody else says that he is rank 1 of group 8007, and was there first.
has_squatter() {
	grep -q 8007 <<<"$(inc -n h2 -j group show)"
}

other_user() {
	local ret=0 squatter pid

	INC_KEY=$KEY2 nsenter --net=/run/netns/h2 setpriv --reuid 4711 --clear-groups inc-allreduce \
		--group 8007 --rank 1 --size 2 --parent edge:10.7.0.1 \
		--timeout 300000 >/dev/null 2>&1 &
	squatter=$!
	wait_for 30 has_squatter || ret=1
	INC_KEY=$KEY1 nsenter --net=/run/netns/h1 inc-allreduce --group 8007 --rank 0 --size 2 \
		--parent edge:10.7.0.1 --count 1000 --timeout 60000 >"$INC_TMP/user0" 2>&1 &
	pid=$!
	INC_KEY=$KEY1 in_ns h2 timeout 120 inc-allreduce --group 8007 --rank 1 --size 2 \
		--parent edge:10.7.0.1 --count 1000 --timeout 60000 || ret=1
	[ "$ret" = 0 ] || kill "$pid"
	wait "$pid" || { cat "$INC_TMP/user0"; ret=1; }
	kill "$squatter"
	wait "$squatter" 2>/dev/null
	return "$ret"
}

# Rank 0 of group 8006 waits at h1, which is no VRF's; who comes by a VRF is answered, and does not
# find it.
other_vrf() {
	local ret=0 pid

	nsenter --net=/run/netns/h1 inc-allreduce --group 8006 --rank 0 --size 2 \
		--parent edge:127.0.0.1 --count 1000 \
		--timeout 300000 >"$INC_TMP/vrf0" 2>&1 &
	pid=$!
	wait_for 30 group_joined || ret=1
	ip -n h1 link add vrfm type vrf table 77 && ip -n h1 link set vrfm up &&
		ip -n h1 link set eth0 master vrfm || ret=1
	refused "rank 0 has not joined there" \
		inc-allreduce --group 8006 --rank 1 --size 2 --parent edge:10.7.0.1 \
		--timeout 3000 || ret=1
	ip -n h1 link set eth0 nomaster && ip -n h1 link del vrfm || ret=1
	in_ns h2 timeout 120 inc-allreduce --group 8006 --rank 1 --size 2 --parent edge:10.7.0.1 \
		--count 1000 ||
		ret=1
	[ "$ret" = 0 ] || kill "$pid"
	wait "$pid" || { cat "$INC_TMP/vrf0"; ret=1; }
	return "$ret"
}

# A VRF at each of the hosts, in which its device is.
into_vrfs() {
	local h

	for h in 1 2 3; do
		printf '%s\n' "link add vrfm type vrf table 77" "link set vrfm up" \
			"link set eth0 master vrfm" | ip -n "h$h" -batch - || return
	done
	wait_for 30 ports_forward
}

inc_begin
inc_topology_create 4
set_up no_nodes
check "all collectives, at rank 0's host" meet 10.7.0.1
check "over IPv6" meet '[fd00:7::1]'
check "where the launcher says" as_launched
check "ranks that come before rank 0 wait for it" rank_0_late
check "several ranks on one host" one_host
check "it is shown where" shown
check "a rank that is killed is named" killed 2 0 1
check "so is rank 0" killed 0 1 2
check "another key, size, job or group is refused" with_waiting strangers
check "it counts for the user whose rank 0 it is" paid_by_user
check "another user's rank of the same number keeps nobody out" other_user
check "one host may have all of its groups" three_at_one_host
if has_vrfs; then
	check "who comes by another VRF does not find rank 0" other_vrf
	set_up into_vrfs
	lab vrf_ranks.py
else
	skip "who comes by another VRF does not find rank 0" "this kernel has none"
fi
check "no group stays" wait_for 60 no_groups
inc_end
