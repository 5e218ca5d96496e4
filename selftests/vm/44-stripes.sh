#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Striped groups: two leaves, two spines, and a tree over each spine for one stripe of every group.
#
#	      s1: lo 10.255.0.1        s2: lo 10.255.0.2	node "all" each
#	       |  \________   ________/  |
#	       |           \ /           |			10.2.SL.0/24 between spine S
#	       |  _________/ \________   |			and leaf L
#	      |  /                     \ |
#	l1: br0 (node)             l2: br0 (node)		10.1.L.254, parents both spines
#	   |     |                    |     |
#	   h1    h3                   h2    h4			10.1.L.N: odd hosts at l1
#
# inc-coll compares every element, floats in the order in which the tree folds them.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

VM=$(cd "$(dirname "$0")" && pwd)
OPS=${OPS:-25}
SPINES=10.255.0.1,10.255.0.2
EXTRA_NETNS=(s1 s2 l1 l2)
TREE="(0,2),(1,3)"
export INC_STRIPES=2
# Long enough to be divided, most of them.
LONG=(--max 20000)

spine_create() {
	ip netns add "s$1" && ip -n "s$1" -batch - <<-END &&
		link set lo up
		addr add 10.255.0.$1/32 dev lo
	END
		in_ns "s$1" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
}

leaf_create() {
	local l=$1 s

	ip netns add "l$l" && ip -n "l$l" -batch - <<-END || return
		link set lo up
		link add br0 address $(mac $((200 + l))) type bridge
		link set br0 up
		addr add 10.1.$l.254/24 dev br0
	END
	for s in 1 2; do
		ip -n "l$l" -batch - <<-END && ip -n "s$s" -batch - <<-END2 || return
			link add up$s type veth peer name d$l netns s$s
			link set up$s up
			addr add 10.2.$s$l.1/24 dev up$s
			route add 10.255.0.$s via 10.2.$s$l.254
		END
			link set d$l up
			addr add 10.2.$s$l.254/24 dev d$l
			route add 10.1.$l.0/24 via 10.2.$s$l.1
		END2
	done
	in_ns "l$l" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
}

host_create() {
	local h=$1 l=$2

	ip netns add "h$h" && ip -n "l$l" -batch - <<-END && ip -n "h$h" -batch - <<-END2 &&
		link add p$h type veth peer name eth0 netns h$h
		link set p$h up
		link set p$h master br0
	END
		link set lo up
		link set eth0 up
		addr add 10.1.$l.$h/24 dev eth0
		route add default via 10.1.$l.254
	END2
		inc -n "h$h" parent set "10.1.$l.254"
}

fabric_create() {
	local h l

	INC_HOSTS=4
	spine_create 1 && spine_create 2 && leaf_create 1 && leaf_create 2 || return
	for h in 1 2 3 4; do host_create "$h" $((2 - h % 2)) || return; done
}

nodes_create() {
	inc -n s1 node add dev all fallback standby standby 10.255.0.2 dead 8000 &&
		inc -n s2 node add dev all fallback standby standby 10.255.0.1 dead 8000 &&
		inc -n l1 node add dev br0 parent "$SPINES" &&
		inc -n l2 node add dev br0 parent "$SPINES"
}

no_groups_anywhere() {
	local ns groups

	for ns in "${EXTRA_NETNS[@]}" h1 h2 h3 h4; do
		groups=$(inc -n "$ns" group show) && [ -z "$groups" ] || return
	done
}

coll() {
	run_ranks 4 inc-coll --quiet --timeout 20000 --seed "$RANDOM" --ops "$OPS" "$@" &&
		wait_for 60 no_groups_anywhere
}

unstriped() {
	local -x INC_STRIPES=1

	"$@"
}

# What the leaves and the tool say of parents; more than there may be change nothing.
parents_shown() {
	local many=10.255.0.1 i want

	want=$(inc -n l1 -commands node show)
	for i in 2 3 4 5 6 7 8 9; do many+=,10.255.0.$i; done
	expect "parents of l1" "$(grep -o "parent $SPINES" <<<"$want")" = "parent $SPINES" || return
	expect "addresses" "$(inc -n l1 -j node show | tr -d ' \n' |
		grep -o '"other_parents":\[{"addr":"10.255.0.2"')" != "" || return
	! inc -n l1 node set dev br0 parent "$many" || return
	! inc -n l1 node set dev br0 parent 10.255.0.1,none || return
	! inc -n l1 node set dev br0 parent 10.255.0.1,0.0.0.0 || return
	expect "parents of l1" "$(inc -n l1 -commands node show)" = "$want"
}

# Each spine has one stripe, and half of the blocks.
halves() {
	local a b before_a before_b bytes_a bytes_b s

	for s in 1 2; do count_bytes l1 "up$s" || return; done
	before_a=$(counter s1 blocks) before_b=$(counter s2 blocks)
	bytes_a=$(ip_bytes l1 up1) bytes_b=$(ip_bytes l1 up2)
	run_ranks 4 inc-allreduce --type i32 --count 400000 --iters 4 &&
		wait_for 60 no_groups_anywhere || return
	a=$(($(counter s1 blocks) - before_a)) b=$(($(counter s2 blocks) - before_b))
	expect "blocks of spine 1" "$a" -gt 2000 || return
	expect "blocks of spine 2, where spine 1 has $a" "$b" -gt $((a * 95 / 100)) &&
		expect "blocks of spine 2, where spine 1 has $a" "$b" -lt $((a * 105 / 100)) || return
	bytes_a=$(($(ip_bytes l1 up1) - bytes_a)) bytes_b=$(($(ip_bytes l1 up2) - bytes_b))
	expect "bytes to spine 1" "$bytes_a" -gt 3200000 || return
	expect "bytes to spine 2, where spine 1 has $bytes_a" "$bytes_b" -gt $((bytes_a * 9 / 10)) &&
		expect "bytes to spine 2, where spine 1 has $bytes_a" "$bytes_b" -lt $((bytes_a * 11 / 10))
}

l1_is_heard() {
	inc -n l1 limits set sockets 100000 && grep -q '^limit-set netns$' "$INC_TMP/l1.events"
}

left_both() {
	[ "$(grep -c '^group-left dev .* group ' "$INC_TMP/l1.events")" -eq 2 ]
}

# What a leaf says of a striped group, of each of its two stripes, says of which.
stripes_of_events() {
	local ret=0 pid s n

	inc -n l1 monitor >"$INC_TMP/l1.events" &
	pid=$!
	wait_for 30 l1_is_heard && coll --ops 3 && wait_for 10 left_both || ret=1
	kill "$pid"
	wait "$pid" 2>/dev/null
	n=$(grep -c ' group ' "$INC_TMP/l1.events")
	for s in 0 1; do
		expect "events of stripe $s of $n in all" "$(grep -cE \
			"^group-(formed|left|epoch) dev .* group [0-9]+ stripe $s of 2 epoch" \
			"$INC_TMP/l1.events")" -eq $((n / 2)) || ret=1
	done
	[ "$ret" = 0 ] || cat "$INC_TMP/l1.events"
	return "$ret"
}

# What must fail ends a striped group: the test of it says that it has to be another one.
errors_refused() {
	local r ret=0

	start_ranks 4 inc-coll --errors
	for r in 0 1 2 3; do
		wait_rank "$r" 2 || ret=1
		grep -qF -- "--errors: the group has 2 stripes, expected one (INC_STRIPES=1)" \
			"$(rank_log "$r")" || { cat "$(rank_log "$r")"; ret=1; }
	done
	wait_for 60 no_groups_anywhere && return "$ret"
}

moves_of_hosts() {
	local h n=0

	for h in 1 2 3 4; do n=$((n + $(counter "h$h" moves))); done
	echo "$n"
}

moved() {
	[ "$(moves_of_hosts)" -ge "$MOVES" ]
}

both_flow() {
	[ "$(counter s1 blocks)" -gt "$BLOCKS1" ] && [ "$(counter s2 blocks)" -gt "$BLOCKS2" ]
}

blocks_flow() {
	BLOCKS1=$(($(counter s1 blocks) + 20)) BLOCKS2=$(($(counter s2 blocks) + 20))
	wait_for 60 both_flow
}

# stripe_field NETNS STRIPE KEY: of the first one there
stripe_field() {
	inc -n "$1" -j group show | tr -d ' \n' | sed 's/},{"group"/}\n{"group"/g' |
		grep "\"stripe\":$2," | json_number "$3"
}

spine_link() {
	ip -n "s$1" link set d1 "$2" && ip -n "s$1" link set d2 "$2"
}

spine_gone() {
	inc -n "s$1" node del dev all
}

# spine_lost COMMAND...: in mid-operation, at spine 2. Its stripe moves, at all ranks; the other does
# not, and all goes on.
spine_lost() {
	local ret=0 r

	rm -f "$INC_TMP/over"
	MOVES=$(($(moves_of_hosts) + 4))
	start_ranks 4 inc-coll --quiet --timeout 60000 --seed "$RANDOM" --ops 100 "${LONG[@]}" \
		--type "i8,u16,i32,u64" --until "$INC_TMP/over"
	blocks_flow && "$@" && wait_for 60 moved || ret=1
	# spine 1 has both now
	BLOCKS1=$(($(counter s1 blocks) + 50)) BLOCKS2=0
	[ "$ret" = 1 ] || wait_for 60 both_flow || ret=1
	for r in 1 2 3 4; do
		[ "$ret" = 0 ] && expect "moves of stripe 0 at h$r" "$(stripe_field "h$r" 0 moves)" -eq 0 &&
			expect "epoch of stripe 0 at h$r" "$(stripe_field "h$r" 0 epoch)" -eq 1 &&
			expect "moves of stripe 1 at h$r" "$(stripe_field "h$r" 1 moves)" -ge 1 || ret=1
	done
	touch "$INC_TMP/over"
	wait_ranks && return "$ret"
}

# Who says another number of stripes is refused, and told why; the others wait for the right one.
disagreement() {
	local first ret

	INC_GROUP_NR=$((INC_GROUP_NR + 1))
	INC_GROUP=$INC_GROUP_NR INC_RANK=0 INC_SIZE=2 in_ns h1 inc-allreduce --type i32 --count 10 &
	first=$!
	refused_others
	ret=$?
	INC_GROUP=$INC_GROUP_NR INC_RANK=1 INC_SIZE=2 in_ns h3 inc-allreduce --type i32 --count 10 &&
		wait "$first" && wait_for 60 no_groups_anywhere && return "$ret"
}

refused_others() {
	local mine

	wait_for 60 one_waits || return
	for mine in 1 3 8; do
		INC_STRIPES=$mine INC_GROUP=$INC_GROUP_NR INC_RANK=1 INC_SIZE=2 \
			in_ns h3 inc-allreduce --type i32 --count 10 --timeout 10000 >"$INC_TMP/other" 2>&1 &&
			return 1
		cat "$INC_TMP/other"
		grep -q "another number of stripes" "$INC_TMP/other" || return
	done
}

one_waits() {
	[ "$(inc -n h1 -j group show | tr -d ' \n' | grep -o '"state":"waiting"' | wc -l)" = 2 ]
}

# One stripe ends before the other one has formed, which nobody would come for any more: the rank
# that waits is told at once, and has not been busy.
half_formed() {
	local pid ret=0 begin=$SECONDS

	INC_GROUP_NR=$((INC_GROUP_NR + 1))
	INC_GROUP=$INC_GROUP_NR INC_RANK=0 INC_SIZE=2 in_ns h1 \
		inc-allreduce --type i32 --count 10 --timeout 60000 >"$INC_TMP/half" 2>&1 &
	pid=$!
	in_ns h3 python3 -s -S "$VM/half_striped.py" "$INC_GROUP_NR" || ret=1
	! wait "$pid" || ret=1
	cat "$INC_TMP/half"
	grep -q "rank 1 has ended the group.*(stripe 0 of 2)" "$INC_TMP/half" &&
		expect "seconds until it was told" $((SECONDS - begin)) -lt 30 &&
		wait_for 60 no_groups_anywhere && return "$ret"
}

# While a group works, one who says that it is another of its ranks' kind changes nothing.
liar() {
	local ret=0 mine

	start_ranks 4 inc-allreduce --type i32 --count 20000 --iters 1000000
	blocks_flow || ret=1
	for mine in 1 3; do
		INC_STRIPES=$mine INC_GROUP=$INC_GROUP_NR INC_RANK=1 INC_SIZE=4 \
			in_ns h1 inc-allreduce --type i32 --count 10 --timeout 3000 >"$INC_TMP/other" 2>&1 && ret=1
		cat "$INC_TMP/other"
		grep -q "another number of stripes" "$INC_TMP/other" || ret=1
	done
	blocks_flow || ret=1
	killed_rank 3 && return "$ret"
}

# killed_rank R: it dies, and all others hear of it in good time
killed_rank() {
	local dead=$1 r ret=0 begin=$SECONDS

	kill -KILL "$(rank_pid "$dead")"
	wait_rank "$dead" 137 || ret=1
	for r in "${!RANK_PIDS[@]}"; do
		wait_rank "$r" 1 || ret=1
		grep -q "rank $dead" "$(rank_log "$r")" || { cat "$(rank_log "$r")"; ret=1; }
	done
	expect "seconds until all ranks knew" $((SECONDS - begin)) -lt 30 &&
		wait_for 60 no_groups_anywhere && return "$ret"
}

killed() {
	start_ranks 4 inc-allreduce --type i32 --count 200000 --iters 1000000
	blocks_flow && killed_rank 3
}

# Ranks that disagree end the group, whether or not they have cut alike: all hear it, none waits.
# disagree COUNT EXTRA
disagree() {
	local r ret=0

	rank_args 2 "--extra $2"
	start_ranks 4 inc-allreduce --type i32 --count "$1" --iters 10 --fail-at 3
	for r in 0 1 2 3; do
		wait_rank "$r" 1 || ret=1
		grep -qi "disagree\|rank [0-9]* .*allreduce" "$(rank_log "$r")" ||
			{ cat "$(rank_log "$r")"; ret=1; }
		# what the program has asked for, not what the stripe has of it
		grep -qE "allreduce i32 sum ($1|$(($1 + $2))): stripe [01] of 2: " "$(rank_log "$r")" ||
			{ cat "$(rank_log "$r")"; ret=1; }
	done
	wait_for 60 no_groups_anywhere && return "$ret"
}

# What one rank divides in two parts another asks for in two operations, which have as many elements
# and go by the same stripes: no result is made of both.
divided() {
	local r ret=0

	rank_args 2 "--count 2048,2048"
	for r in 0 1 3; do rank_args "$r" "--count 4096"; done
	start_ranks 4 inc-allreduce --type i32 --iters 1
	for r in 0 1 2 3; do
		wait_rank "$r" 1 || ret=1
		grep -qF "(part)" "$(rank_log "$r")" || { cat "$(rank_log "$r")"; ret=1; }
	done
	wait_for 60 no_groups_anywhere && return "$ret"
}

# A rank dies, and the others are told that a striped group does not go on.
no_shrinking() {
	local r

	rm -f "$INC_TMP/over"
	start_ranks 4 inc-shrink --until "$INC_TMP/over"
	blocks_flow || return
	kill -KILL "$(rank_pid 3)"
	wait_rank 3 137 || return
	for r in 0 1 2; do
		wait_rank "$r" 1 &&
			grep -qF "it has 2 stripes, expected one (INC_STRIPES=1)" "$(rank_log "$r")" ||
			return
	done
	wait_for 60 no_groups_anywhere
}

inc_begin
set_up fabric_create
set_up nodes_create
check "parents of a leaf" parents_shown
check "any collective" coll --max 5000 --tree "$TREE"
check "long ones, as the tree folds them" coll "${LONG[@]}" --coll "allreduce,reduce,broadcast,scan,exscan" \
	--tree "$TREE"
check "the same without stripes" unstriped coll "${LONG[@]}" --tree "$TREE"
check "many at once" coll "${LONG[@]}" --tree "$TREE" --flight 64
INC_STRIPES=8 check "8 stripes over two spines" coll --max 60000 --tree "$TREE"
check "each spine has half of it" halves
check "events say which stripe it is" stripes_of_events
check "inc-coll --errors is refused" errors_refused
check "another number of stripes is refused" disagreement
check "a stripe ends before the other one has formed" half_formed
check "a liar changes nothing" liar
check "a rank is killed: all hear of it" killed
check "ranks disagree about a long operation" disagree 100000 1
check "ranks disagree, and have not cut alike" disagree 4000 2000
check "a part is not taken for a whole operation" divided
INC_PARENT=$SPINES check "stripes at two nodes, without leaves" coll "${LONG[@]}"
INC_PARENT=$SPINES check "a rank is killed there: a striped group does not shrink" no_shrinking
check "a spine's links go down: its stripe moves, the other goes on" spine_lost spine_link 2 down
set_up spine_link 2 up
check "and afterwards" coll "${LONG[@]}" --type i32,u8
check "a spine's node goes: its stripe moves, the other goes on" spine_lost spine_gone 2
inc_end
