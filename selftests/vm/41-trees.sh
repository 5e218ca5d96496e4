#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Groups over several nodes: leaves, a spine, more levels. Every scenario runs random collectives;
# inc-coll compares each element, floats in the order in which the tree folds them (--tree).
#
#	          sw: lo 10.255.0.1, node "all"
#	    d1 |            | d2		10.2.L.254
#	       |            |
#	   up0 |        up0 |			10.2.L.1
#	l1: br0 (node)   l2: br0 (node)		10.1.L.254, parent 10.255.0.1
#	   |     |          |     |
#	   h1    h3         h2    h4		10.1.L.N: odd hosts at l1, even ones at l2
#
# and likewise three levels, with ranks at each of them.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

OPS=${OPS:-25}
SPINE=10.255.0.1
EXTRA_NETNS=(l1 l2)

forwards() {
	in_ns "$1" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
}

# leaf L PARENT-NAMESPACE: a bridge with a node, and a link to the namespace above
leaf_create() {
	local l=$1 above=$2

	ip netns add "l$l" && ip -n "l$l" -batch - <<-END && ip -n "$above" \
		-batch - <<-END2 || return
		link set lo up
		link add br0 address $(mac $((200 + l))) type bridge
		link set br0 up
		addr add 10.1.$l.254/24 dev br0
		link add up0 type veth peer name d$l netns $above
		link set up0 up
		addr add 10.2.$l.1/24 dev up0
		route add default via 10.2.$l.254
	END
		link set d$l up
		addr add 10.2.$l.254/24 dev d$l
		route add 10.1.$l.0/24 via 10.2.$l.1
	END2
	forwards "l$l"
}

# at_leaf H L: host H is behind leaf L
at_leaf() {
	local h=$1 l=$2

	ip netns add "h$h" && ip -n "l$l" -batch - <<-END && ip -n "h$h" -batch - <<-END2
		link add p$h type veth peer name eth0 netns h$h
		link set p$h up
		link set p$h master br0
	END
		link set lo up
		link set eth0 up
		addr add 10.1.$l.$h/24 dev eth0
		route add default via 10.1.$l.254
	END2
}

# fabric HOSTS LEAVES: hosts dealt out to leaves in turn, below one spine
fabric_create() {
	local h l

	INC_HOSTS=$1
	ip netns add sw && ip -n sw -batch - <<-END || return
		link set lo up
		addr add $SPINE/32 dev lo
	END
	forwards sw || return
	for ((l = 1; l <= $2; l++)); do leaf_create "$l" sw || return; done
	for ((h = 1; h <= $1; h++)); do at_leaf "$h" $(((h - 1) % $2 + 1)) || return; done
}

nodes_create() {
	local l

	inc -n sw node add dev all || return
	for ((l = 1; l <= $1; l++)); do
		inc -n "l$l" node add dev br0 parent "$SPINE" || return
	done
}

# The next ranks ask the leaf of their host; rank R is on host R + 1.
at_leaves() {
	local n=$1 leaves=$2 r

	for ((r = 0; r < n; r++)); do
		rank_args "$r" "--parent 10.1.$((r % INC_HOSTS % leaves + 1)).254"
	done
}

no_groups_anywhere() {
	local ns groups

	for ns in sw "${EXTRA_NETNS[@]}"; do
		groups=$(inc -n "$ns" group show) && [ -z "$groups" ] || return
	done
}

# coll NAME RANKS LEAVES TREE [OPTIONS...]
coll() {
	local name=$1 n=$2 leaves=$3 tree=$4

	shift 4
	at_leaves "$n" "$leaves"
	check "$name" run_ranks "$n" inc-coll --quiet --timeout 20000 --seed "$RANDOM" \
		--ops "$OPS" --tree "$tree" "$@"
	check "$name: no node keeps the group" wait_for 60 no_groups_anywhere
}

# Types of which the last bits of a sum depend on the order.
FLOATS=(--type "f32,f64,f16,bf16,f8e4m3,c32,mxf8e4m3,mxf4e2m1" --op "sum,prod,avg"
	--coll "allreduce,reduce,reduce-scatter,scan")

in_canonical_order() {
	local -x INC_ORDER=canonical

	"$@"
}

parts() {
	local ns n=0

	for ns in "$@"; do n=$((n + $(counter "$ns" parts))); done
	echo "$n"
}

# canonical RANKS LEAVES NODE...: the bits are those of one node, and the nodes send parts for that.
canonical() {
	local n=$1 leaves=$2 before

	shift 2
	before=$(parts "$@")
	at_leaves "$n" "$leaves"
	in_canonical_order run_ranks "$n" inc-coll --quiet --timeout 20000 --seed "$RANDOM" \
		--ops "$OPS" "${FLOATS[@]}" &&
		expect "parts that were sent" "$(($(parts "$@") - before))" -gt 0 &&
		wait_for 60 no_groups_anywhere
}

# What does not depend on the order goes up in one, also where others have parts.
whole() {
	local before

	before=$(parts l1 l2)
	at_leaves 4 2
	in_canonical_order run_ranks 4 inc-coll --quiet --timeout 20000 --seed "$RANDOM" \
		--ops "$OPS" --type i32,u64 &&
		expect "parts of integers" "$(($(parts l1 l2) - before))" -eq 0 &&
		wait_for 60 no_groups_anywhere
}

parts_shown() {
	inc -n l1 -j group show | tr -d ' \n' | grep -q '"order":"canonical","parts":2[,}]'
}

# On the host of rank 0. No host has a parent: ranks are told theirs.
why_group() {
	inc -n h1 "$@" why parent 10.1.1.254 group "$INC_GROUP_NR"
}

# order_is ORDER: that of the sums of a group at work
order_is() {
	why_group -j | grep -q '"in_network":true,.*"order":"'"$1"'"'
}

# at_work SHOWN...: holds of a group of 4 ranks that are dealt out in turn, while it works
at_work() {
	local ret=0

	at_leaves 4 2
	start_ranks 4 inc-allreduce --type i32 --count 20000 --iters 1000000
	wait_for 60 "$@" || { ret=1; inc -n l1 group show; why_group; }
	kill -KILL "$(rank_pid 0)" && wait_rank 0 137 && wait_rank 1 1 && wait_rank 2 1 && wait_rank 3 1 &&
		wait_for 60 no_groups_anywhere && return "$ret"
}

# ranks_at_leaves RANKS LEAVES PROGRAM...
ranks_at_leaves() {
	local n=$1 leaves=$2

	shift 2
	at_leaves "$n" "$leaves"
	run_ranks "$n" "$@"
}

# Each leaf sends up one contribution for each block, and gets one result, however many ranks it
# has. The last block is LEAVE, which may be acknowledged before its result comes.
one_stream() {
	local before_up before_down before_blocks blocks got

	before_up=$(counter l1 contribs_sent) before_down=$(counter l1 results) \
		before_blocks=$(counter sw blocks)
	ranks_at_leaves 8 2 inc-allreduce --type i32 --count 40000 --iters 4 &&
		wait_for 60 no_groups_anywhere || return
	blocks=$(($(counter sw blocks) - before_blocks))
	expect "blocks" "$blocks" -gt 400 &&
		expect "contributions that the leaf sent up" \
			"$(($(counter l1 contribs_sent) - before_up))" -eq "$blocks" &&
		got=$(($(counter l1 results) - before_down)) &&
		expect "results that the leaf got" "$got" -le "$blocks" &&
		expect "results that the leaf got" "$got" -ge $((blocks - 1))
}

# All ranks of a group at one leaf: it is the root, and the nodes above need not know.
all_at_one_leaf() {
	local before

	before=$(counter l1 contribs_sent)
	rank_args 0 "--parent 10.1.1.254"
	rank_args 1 "--parent 10.1.1.254"
	rank_args 2 "--parent 10.1.1.254"
	run_ranks 3 inc-coll --quiet --timeout 20000 --seed "$RANDOM" --ops 10 &&
		expect "contributions that went up" \
			"$(($(counter l1 contribs_sent) - before))" -eq 0 &&
		wait_for 60 no_groups_anywhere
}

# between_nodes KIND VALUE...: all links between nodes are disturbed
between_nodes() {
	local l

	for l in 1 2; do
		tc -n "l$l" qdisc replace dev up0 root netem "$@" &&
			tc -n sw qdisc replace dev "d$l" root netem "$@" ||
			return
	done
}

undisturbed() {
	local l

	for l in 1 2; do
		tc -n "l$l" qdisc del dev up0 root
		tc -n sw qdisc del dev "d$l" root
	done
}

# A rank is killed in mid-operation: all others are told which.
killed() {
	local r

	at_leaves 4 2
	start_ranks 4 inc-allreduce --type i32 --count 200000 --iters 100000
	wait_for 60 blocks_flow || return
	kill -KILL "$(rank_pid 3)"
	wait_rank 3 137
	for r in 0 1 2; do
		wait_rank "$r" 1 || return
		grep -q "rank 3" "$(rank_log "$r")" || { cat "$(rank_log "$r")"; return 1; }
	done
	wait_for 60 no_groups_anywhere
}

blocks_flow() {
	[ "$(counter sw blocks)" -gt "$BLOCKS" ]
}

# lost NAMESPACE COMMAND...: what befalls a node in mid-operation ends the operation at all ranks
lost() {
	local r begin

	BLOCKS=$(counter sw blocks)
	at_leaves 4 2
	start_ranks 4 inc-allreduce --type i32 --count 200000 --iters 100000
	wait_for 60 blocks_flow || return
	"$@" || return
	begin=$SECONDS
	for r in 0 1 2 3; do
		wait_rank "$r" 1 || return
		# a message begins with the number of its own rank: what follows names another one
		if ! grep -qE ": (the node|a rank|rank [0-9]+) " "$(rank_log "$r")" ||
			grep -q "expected 0x" "$(rank_log "$r")"; then
			cat "$(rank_log "$r")"
			return 1
		fi
	done
	expect "seconds until all ranks knew" $((SECONDS - begin)) -lt 60
}

# while_working COMMAND...: what happens to a job that works until that is over. Integers, since
# floats are folded in another order at the edge than in the tree, unless they ask for one.
while_working() {
	local what=(--type "i8,u16,i32,u64") ret=0

	[ -z "${INC_ORDER:-}" ] || what=("${FLOATS[@]}")
	rm -f "$INC_TMP/over"
	BLOCKS=$(counter sw blocks)
	at_leaves 4 2
	start_ranks 4 inc-coll --quiet --timeout 60000 --seed "$RANDOM" --ops 100 --max 10000 \
		"${what[@]}" --until "$INC_TMP/over"
	wait_for 60 blocks_flow && "$@" || ret=1
	touch "$INC_TMP/over"
	wait_ranks && return "$ret"
}

moves_of_hosts() {
	local h n=0

	for h in 1 2 3 4; do n=$((n + $(counter "h$h" moves))); done
	echo "$n"
}

# Nothing of a group is left, at hosts neither.
no_groups_left() {
	no_groups_anywhere && no_groups
}

moved() {
	[ "$(moves_of_hosts)" -eq "$MOVES" ]
}

# moves_after N COMMAND...: what befalls a node makes so many ranks move, and no more
moves_after() {
	MOVES=$(($(moves_of_hosts) + $1))
	"${@:2}" && wait_for 60 moved
}

# goes_on COMMAND...: what befalls a node in mid-operation ends nothing: all ranks go to the edge,
# once.
goes_on() {
	local h blocks=()

	for h in 1 2 3 4; do blocks[h]=$(counter "h$h" blocks); done
	while_working moves_after 4 "$@" || return
	expect "moves" "$(moves_of_hosts)" -eq "$MOVES" || return
	for h in 1 2 3 4; do
		expect "blocks of the tree at h$h" "$(counter "h$h" blocks)" -gt "${blocks[h]}" ||
			return
	done
	wait_for 60 no_groups_left
}

there_and_back() {
	moves_after 4 "$1" && moves_after 4 "$2" || return
	expect "where the group is" "$(inc -n h1 -j group show | grep -c '"placement":"node"')" -eq 1 ||
		return
	BLOCKS=$(counter sw blocks)
	wait_for 60 blocks_flow
}

# returns LOSE RESTORE: both are functions that say what befalls a node of a group that works. All
# ranks go to the edge, and back when the node is there again, with the right results throughout.
returns() {
	while_working there_and_back "$@" || return
	expect "moves" "$(moves_of_hosts)" -eq "$MOVES" && wait_for 60 no_groups_left
}

lose_spine() {
	inc -n sw node del dev all
}

restore_spine() {
	inc -n sw node add dev all fallback edge dead 4000
}

lose_leaf() {
	inc -n l2 node del dev br0
}

restore_leaf() {
	inc -n l2 node add dev br0 parent "$SPINE"
}

silence_spine() {
	ip -n sw addr del "$SPINE/32" dev lo
}

hear_spine() {
	ip -n sw addr add "$SPINE/32" dev lo
}

# Somebody is dead, and not a node: no other place helps.
killed_all_the_same() {
	killed && wait_for 60 no_groups_left
}

with_fallback() {
	set_up inc -n sw node set dev all fallback edge dead 4000
	coll "with a fallback" 4 2 "(0,2),(1,3)"
	check "ranks that disagree, with a fallback" ranks_at_leaves 4 2 inc-coll --quiet \
		--timeout 20000 --errors
	set_up wait_for 60 no_groups_left
	BLOCKS=$(counter sw blocks)
	check "a rank is killed, with a fallback" killed_all_the_same
	check "the spine's node is removed: at the edge" goes_on lose_spine
	set_up restore_spine
	check "a leaf's node is removed: at the edge" goes_on lose_leaf
	set_up restore_leaf
	check "that of rank 0: at the edge" goes_on inc -n l1 node del dev br0
	set_up inc -n l1 node add dev br0 parent "$SPINE"
	check "the spine's node is silent: at the edge" goes_on silence_spine
	set_up hear_spine
	coll "and back in the tree" 4 2 "(0,2),(1,3)"
	check "the spine's node is there again: back in the tree" returns lose_spine restore_spine
	check "a leaf's node is there again: back in the tree" returns lose_leaf restore_leaf
	check "the spine's node is heard again: back in the tree" returns silence_spine hear_spine
	check "floats in canonical order, there and back" in_canonical_order returns lose_leaf \
		restore_leaf
}

# topo_of NAMESPACE ADDR...: what `inc topo` finds, without what differs from run to run
topo_of() {
	inc -n "$1" -j topo show "${@:2}" | tr -d '\n' | sed 's/},{/}\n{/g' |
		sed -n 's/.*"addr":"\([^"]*\)".*"answer":"\([a-z]*\)".*/\1 \2 &/p' |
		sed 's/^\([^ ]* [^ ]*\) .*"parent":"\([^"]*\)".*/\1 above \2/; t
			s/^\([^ ]* [^ ]*\) .*/\1/'
}

# expect_topo FOUND NAMESPACE ADDR...
expect_topo() {
	expect "what is found from $2 on" "$(topo_of "${@:2}" | paste -sd ';')" = "$1"
}

# From a host up to the spine, hop by hop; and from a leaf, which needs not be told where it begins.
topo_found() {
	expect_topo "10.1.1.254 told above $SPINE;$SPINE told" h1 10.1.1.254 &&
		expect_topo "10.1.1.254 told above $SPINE;10.1.2.254 told above $SPINE;$SPINE told" \
			h1 10.1.1.254 10.1.2.254 &&
		expect_topo "$SPINE told" l1 &&
		expect_topo "10.1.1.1 none" h1 10.1.1.1 timeout 200
}

# The number of types and operations is the same everywhere, and there is room.
topo_says() {
	local out

	out=$(inc -n h1 -j topo show 10.1.1.254) &&
		expect "capabilities" "$(grep -o '"caps":[0-9]*' <<<"$out" | sort -u | wc -l)" -eq 1 &&
		expect "nodes that have room" "$(grep -o '"memory_left":[1-9][0-9]*' <<<"$out" | wc -l)" -eq 2 &&
		expect "nodes that are idle" "$(grep -o '"groups":0,"max_groups":64,"children":0' <<<"$out" | wc -l)" \
			-eq 2 && expect "arrows" "$(inc -n h1 topo show --dot 10.1.1.254 | grep -c -- '->')" -eq 2
}

# Who has not got the key hears that there is a node, and of nothing above it.
topo_keyed() {
	local key=00112233445566778899aabbccddeeff ret=0

	inc -n l1 node set dev br0 key "$key" || return
	expect_topo "10.1.1.254 key" h1 10.1.1.254 &&
		expect_topo "10.1.1.254 key" h1 10.1.1.254 key "${key//f/e}" &&
		expect_topo "10.1.1.254 told above $SPINE;$SPINE key" h1 10.1.1.254 key "$key" || ret=1
	inc -n l1 node set dev br0 key none && return "$ret"
}

# A tenant is told what the node can, and not how its results come about.
topo_tenant() {
	local out ret=0

	inc -n l1 tenant add own from 10.1.1.0/24 || return
	out=$(inc -n h1 -j topo show 10.1.1.254)
	expect "what a tenant hears" "$(grep -o '"tenant":true,"parent_untold":false' <<<"$out")" != "" &&
		expect "of others" "$(grep -c '"parent":\|memory_left' <<<"$out")" -eq 0 || ret=1
	inc -n l1 tenant del own && return "$ret"
}

# Two ranks at one leaf and two at the other: the root has two children.
topo_children() {
	inc -n h1 -j topo show "$SPINE" | grep -q '"groups":1,"max_groups":64,"children":2'
}

# The way up that was found is planned for, and a tree is best where links are slow.
plan_found() {
	local out

	out=$(inc -n h1 -j plan show at 10.1.1.254 ranks 8 bytes 16M rate 100mbit | tr -d '\n' |
		sed 's/},{/}\n{/g' |
		sed -n 's/.*"placement":"\([a-z]*\)","at":"\([^"]*\)".*"best":\([a-z]*\),.*/\1 \2 \3/p') &&
		expect "placements" "$(paste -sd ';' <<<"$out")" = \
			"tree $SPINE true;node $SPINE false;node 10.1.1.254 false;host a rank false;edge a rank false"
}

# With one rank at each leaf the spine alone is faster by what a leaf takes; nodes without room are
# not chosen.
plan_applied() {
	inc -n h1 plan apply at 10.1.1.254 ranks 8 bytes 16M rate 100mbit >/dev/null &&
		expect "the tree's parent" "$(inc -n h1 parent show)" = "parent 10.1.1.254 port 5227" &&
		inc -n h1 plan apply ranks 2 bytes 8 >/dev/null &&
		expect "the spine as parent" "$(inc -n h1 parent show)" = "parent $SPINE port 5227" &&
		inc -n h1 parent del
}

two_levels() {
	set_up fabric_create 4 2
	set_up nodes_create 2
	check "topo: hop by hop up to the root" topo_found
	check "topo: what nodes say of themselves" topo_says
	check "topo: nothing without the key" topo_keyed
	check "topo: nothing of others to a tenant" topo_tenant
	check "topo: a group's children" at_work topo_children
	check "plan: the way up that was found" plan_found
	check "plan: the best one becomes the parent" plan_applied
	coll "2 leaves, 4 ranks dealt out in turn" 4 2 "(0,2),(1,3)"
	coll "2 leaves, 2 ranks" 2 2 "(0),(1)"
	coll "2 leaves, 3 ranks" 3 2 "(0,2),(1)"
	coll "2 leaves, 12 ranks, 3 on each host" 12 2 "(0,2,4,6,8,10),(1,3,5,7,9,11)"
	check "inc why: the order is the tree's" at_work order_is tree
	check "inc why: canonical order" in_canonical_order at_work order_is canonical
	check "inc group: parts in canonical order" in_canonical_order at_work parts_shown
	check "floats in canonical order, ranks dealt out in turn" canonical 4 2 l1 l2
	check "floats in canonical order, 12 ranks" canonical 12 2 l1 l2
	set_up inc -n l1 node set dev br0 max-memory 64K
	check "floats in canonical order, little memory" canonical 12 2 l1 l2
	set_up inc -n l1 node set dev br0 max-memory 64M
	check "integers go up whole" whole
	check "a leaf sends up one stream" one_stream
	check "a group of one leaf stays there" all_at_one_leaf
	at_leaves 4 2
	check "ranks that disagree, below a leaf and across leaves" run_ranks 4 inc-coll \
		--quiet --timeout 20000 --errors
	set_up wait_for 60 no_groups_anywhere
	set_up between_nodes loss 5%
	BEFORE=$(counter l1 contribs_resent)
	coll "loss between nodes" 4 2 "(0,2),(1,3)"
	check "loss between nodes that send parts" canonical 4 2 l1 l2
	check "what was lost was sent again" expect "contributions sent again" \
		"$(counter l1 contribs_resent)" -gt "$BEFORE"
	set_up between_nodes delay 2ms reorder 20% 50%
	coll "reordering between nodes" 4 2 "(0,2),(1,3)"
	set_up between_nodes duplicate 20%
	coll "duplicates between nodes" 4 2 "(0,2),(1,3)"
	set_up undisturbed
	BLOCKS=$(counter sw blocks)
	check "a rank is killed" killed
	check "the spine's node is removed" lost inc -n sw node del dev all
	set_up wait_for 60 no_groups_anywhere
	set_up inc -n sw node add dev all
	check "a leaf's node is removed" lost inc -n l2 node del dev br0
	set_up inc -n l2 node add dev br0 parent "$SPINE"
	set_up wait_for 60 no_groups_anywhere
	check "the link to the spine is lost" lost ip -n sw link set d1 down
	set_up ip -n sw link set d1 up
	set_up ip -n sw addr replace 10.2.1.254/24 dev d1
	set_up ip -n sw route replace 10.1.1.0/24 via 10.2.1.1
	set_up wait_for 60 no_groups_anywhere
	coll "and all is well again" 4 2 "(0,2),(1,3)"
	with_fallback
}

# h1 and h2 at l2, which is below l1, where h3 is, which is below sw, where h4 is
line_create() {
	INC_HOSTS=4
	ip netns add sw && ip -n sw -batch - <<-END || return
		link set lo up
		addr add $SPINE/32 dev lo
		link add br0 address $(mac 254) type bridge
		link set br0 up
		addr add 10.1.9.254/24 dev br0
	END
	ip -n sw route add 10.1.2.0/24 via 10.2.1.1 2>/dev/null
	forwards sw && leaf_create 1 sw && leaf_create 2 l1 && at_leaf 1 2 && at_leaf 2 2 &&
		at_leaf 3 1 &&
		ip -n sw route add 10.1.2.0/24 via 10.2.1.1 &&
		ip -n sw route add 10.2.2.0/24 via 10.2.1.1 || return
	ip netns add h4 && ip -n sw -batch - <<-END && ip -n h4 -batch - <<-END2
		link add p4 type veth peer name eth0 netns h4
		link set p4 up
		link set p4 master br0
	END
		link set lo up
		link set eth0 up
		addr add 10.1.9.4/24 dev eth0
		route add default via 10.1.9.254
	END2
}

# line NAME OPTIONS...: ranks 0 and 1 two levels below the root, 2 one, 3 at the root itself
line() {
	local name=$1

	shift
	rank_args 0 "--parent 10.1.2.254"
	rank_args 1 "--parent 10.1.2.254"
	rank_args 2 "--parent 10.1.1.254"
	rank_args 3 "--parent 10.1.9.254"
	check "$name" run_ranks 4 inc-coll --quiet --timeout 20000 --seed "$RANDOM" "$@"
	check "$name: no node keeps the group" wait_for 60 no_groups_anywhere
}

# Rank 0 is late; who hears it first is l2, who decides is sw.
late() {
	local r

	rank_args 0 "--parent 10.1.2.254 --delay-at 2:5000"
	rank_args 1 "--parent 10.1.2.254"
	rank_args 2 "--parent 10.1.1.254"
	rank_args 3 "--parent 10.1.9.254"
	start_ranks 4 inc-allreduce --type i32 --count 1000 --iters 5
	for r in 3 2 1 0; do wait_rank "$r" 1 || return; done
	for r in 1 2 3; do
		grep -q "rank 0" "$(rank_log "$r")" || { cat "$(rank_log "$r")"; return 1; }
	done
	wait_for 60 no_groups_anywhere
}

# What the parent refuses for good, the ranks are refused, and soon.
refused() {
	local r

	rank_args 0 "--parent 10.1.2.254"
	rank_args 1 "--parent 10.1.2.254"
	rank_args 2 "--parent 10.1.1.254"
	rank_args 3 "--parent 10.1.9.254"
	start_ranks 4 inc-coll --quiet --timeout 20000 --ops 1
	wait_rank 3 1 || return
	for r in 0 1 2; do
		wait_rank "$r" 1 || return
		grep -q "takes no nodes" "$(rank_log "$r")" || { cat "$(rank_log "$r")"; return 1; }
	done
	wait_for 60 no_groups_anywhere
}

# unanswered NAMESPACE: the group there says that its parent does not answer, and which one that is
unanswered() {
	inc -n "$1" group show | grep -q " parent $2 port 5227 UNANSWERED for "
}

# The monitor at l1 is there.
l1_is_heard() {
	inc -n l1 limits set sockets 100000 && grep -q '^limit-set netns$' "$INC_TMP/l1.events"
}

# told EVENT TEXT: the monitor at l1 has one of its node and parent, with this text
told() {
	grep -q "^$1 dev .* group .*: $SPINE port 5227 $2 [0-9]* ms\$" "$INC_TMP/l1.events"
}

# A group forms and ends sooner than a timer looks: what comes of the silence is told before.
back_before_formed() {
	wait_for 10 grep -q "^group-left" "$INC_TMP/l1.events" &&
		expect "events of l1" "$(awk '!/^limit-set/ { printf "%s ", $1 }' "$INC_TMP/l1.events")" \
			= "parent-silent parent-back group-formed group-left "
}

# Whoever waits for others is told by the leaf that the place above has never said anything; then it
# does, and the group forms. Both are events; the first takes a second of silence, three unanswered
# requests may take less.
never_answered() {
	local ret=0 pid

	inc -n l1 monitor >"$INC_TMP/l1.events" &
	pid=$!
	wait_for 30 l1_is_heard && never_answered_at_first || ret=1
	wait_for 10 told parent-back "answers again after" && back_before_formed || ret=1
	[ "$ret" = 0 ] || cat "$INC_TMP/l1.events"
	kill "$pid"
	wait "$pid" 2>/dev/null
	return "$ret"
}

never_answered_at_first() {
	rank_args 0 "--parent 10.1.2.254"
	rank_args 1 "--parent 10.1.2.254"
	rank_args 2 "--parent 10.1.1.254"
	rank_args 3 "--parent 10.1.9.254"
	ip -n sw addr del "$SPINE/32" dev lo &&
		start_ranks 4 inc-allreduce --type i32 --count 1000 --iters 2 &&
		wait_for 30 unanswered l1 "$SPINE" &&
		wait_for 30 told parent-silent "has not answered for" || return
	! unanswered l2 10.1.1.254 && ip -n sw addr add "$SPINE/32" dev lo && wait_ranks &&
		wait_for 60 no_groups_anywhere
}

# What the nodes above say does not matter to a group of which all ranks come to one node.
alone() {
	rank_args 0 "--parent 10.1.2.254"
	rank_args 1 "--parent 10.1.2.254"
	run_ranks 2 inc-allreduce --type i32 --count 1000 --iters 2 &&
		wait_for 60 no_groups_anywhere
}

three_levels() {
	set_up line_create
	set_up inc -n sw node add dev all
	set_up inc -n l1 node add dev br0 parent "$SPINE" window 128
	set_up inc -n l2 node add dev br0 parent 10.1.1.254 window 256
	line "3 levels, ranks at each" --ops "$OPS" --tree "((0,1),2),3"
	line "3 levels, small floats and saturating sums" --ops "$OPS" --tree "((0,1),2),3" \
		--max 9000 \
		--type f16,bf16,f8e4m3,f8e5m2,i8,u16,mxf8e5m2,mxi8 --op sum,prod,avg \
		--coll allreduce,reduce,reduce-scatter
	in_canonical_order line "3 levels, floats in canonical order" --ops "$OPS" "${FLOATS[@]}"
	check "a node in the middle sends parts" expect "parts of l1" "$(parts l1)" -gt 0
	line "3 levels, ranks that disagree" --errors
	check "a place above that never answers is named" never_answered
	set_up inc -n sw node set dev all late 1500 late-policy fail
	check "a late rank is named, two levels below the root" late
	set_up inc -n sw node set dev all late 300 late-policy partial
	check "no nodes below one that goes on without late ranks" refused
	check "but a group that is all at one of them" alone
}

# What the ranks of a host give leaves it once for each block, and one result comes in. The last block
# is LEAVE.
one_stream_for_host() {
	local before_blocks before_contribs blocks

	before_blocks=$(counter sw blocks) before_contribs=$(counter sw contribs)
	run_ranks 8 inc-allreduce --type i32 --count 40000 --iters 4 &&
		wait_for 60 no_groups_anywhere || return
	blocks=$(($(counter sw blocks) - before_blocks))
	expect "blocks" "$blocks" -gt 400 &&
		expect "contributions of two hosts" "$(($(counter sw contribs) - before_contribs))" \
			-eq $((2 * blocks))
}

ranks_at_own_nodes() {
	local r

	for ((r = 0; r < 8; r++)); do
		rank_args "$r" "--parent 10.7.0.$((r % 2 + 1))"
	done
}

# A node on each host, for its own ranks, below that of the switch.
own_nodes() {
	local h

	EXTRA_NETNS=(h1 h2)
	inc_topology_create 2
	for h in 1 2; do
		set_up inc -n "h$h" node add dev lo parent "$INC_NODE4"
	done
	ranks_at_own_nodes
	check "a node on each host" run_ranks 8 inc-coll --quiet --timeout 20000 --seed "$RANDOM" \
		--ops "$OPS" --tree "(0,2,4,6),(1,3,5,7)"
	ranks_at_own_nodes
	check "a node on each host, floats in canonical order" in_canonical_order \
		run_ranks 8 inc-coll --quiet --timeout 20000 --seed "$RANDOM" --ops "$OPS" \
		"${FLOATS[@]}"
	ranks_at_own_nodes
	check "a node on each host: one stream leaves it" one_stream_for_host
}

inc_begin
two_levels
inc_topology_destroy
three_levels
inc_topology_destroy
own_nodes
inc_end
