#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The demo's job, on this machine: a bridge and N hosts in network namespaces, the bridge an INC node, a training run
# with one rank per host, and the proof that the network has done its part. tools/demo runs it in a VM; on a machine
# that loads modules it runs as it is, as root, and takes away what it has made.
#
#	in-vm.sh [HOSTS]	2..16, default 4
set -u

hosts=${1:-4}
steps=400
group=1
node=10.77.0.254
sw=inc-demo-sw
need_accuracy=95

here=$(cd "$(dirname "$0")" && pwd)
data=$here/data/digits.csv
[ -e "$data" ] || data=$(dirname "$(command -v inc-digits)")/../share/inc/digits.csv
tmp=$(mktemp -d) || exit 1
pids=()

say() { printf '\n=== %s\n' "$*"; }
host() { echo "inc-demo-h$1"; }

# Shows the commands that one would type.
run() {
	echo "# $*"
	"$@" || fail "this command failed"
}

fail() {
	local log

	for log in "$tmp"/rank*.log; do
		[ -s "$log" ] && sed "s|^|$(basename "$log" .log): |" "$log"
	done
	printf '\nDEMO FAILED: %s\n' "$*"
	exit 1
}

cleanup() {
	local h

	for h in "${pids[@]}"; do
		kill "$h" 2>/dev/null
		wait "$h" 2>/dev/null
	done
	for ((h = 1; h <= hosts; h++)); do
		ip netns del "$(host "$h")" 2>/dev/null
	done
	ip netns del "$sw" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

check_machine() {
	local tool

	[[ $hosts =~ ^([2-9]|1[0-6])$ ]] || fail "hosts \"$hosts\": expected a number in 2..16"
	[ "$(id -u)" = 0 ] || fail "this needs root: it makes network namespaces and loads a module"
	for tool in ip inc inc-digits sha256sum timeout; do
		command -v "$tool" >/dev/null || fail "$tool: not found in PATH"
	done
	[ -e "$data" ] || fail "$data: not found"
	if ip netns list | grep -q '^inc-demo-'; then
		fail "there are network namespaces inc-demo-* of another run: ip netns del them"
	fi
	run modprobe inc
}

picture() {
	local h top='' mid='' low=''

	for ((h = 1; h <= hosts && h <= 4; h++)); do
		top+="  +----------+"
		mid+="  |h$h, rank $((h - 1))|"
		low+="       |      "
	done
	[ "$hosts" -le 4 ] || mid+="  ... h$hosts"
	cat <<-END
		  each step:  4 gradients up, one each; 1 sum comes down

		$top
		$mid   network namespaces, 10.77.0.1 ... .$hosts
		$top
		$low   veth
		  +------------------------------------------------+
		  | br0  $node  a Linux bridge + inc.ko  |
		  +------------------------------------------------+
	END
}

make_network() {
	local h

	{
		ip netns add "$sw" &&
		ip -n "$sw" link set lo up &&
		ip -n "$sw" link add br0 type bridge &&
		ip -n "$sw" addr add "$node/24" dev br0 &&
		ip -n "$sw" link set br0 up
	} || fail "no bridge"
	for ((h = 1; h <= hosts; h++)); do
		{
			ip netns add "$(host "$h")" &&
			ip -n "$sw" link add "p$h" type veth peer name eth0 netns "$(host "$h")" &&
			ip -n "$sw" link set "p$h" master br0 up &&
			ip -n "$(host "$h")" addr add "10.77.0.$h/24" dev eth0 &&
			ip -n "$(host "$h")" link set lo up &&
			ip -n "$(host "$h")" link set eth0 up
		} || fail "no host $h"
	done
}

make_node() {
	local h

	run inc -n "$sw" node add dev br0
	for ((h = 1; h <= hosts; h++)); do
		run inc -n "$(host "$h")" parent set "$node"
	done
}

# rank PROGRAM...: rank $1 on its host
rank() {
	local r=$1

	exec ip netns exec "$(host $((r + 1)))" timeout 120 inc-digits --group "$group" --rank "$r" --size "$hosts" \
		--data "$data" --steps "$steps" --out "$tmp/weights.$r" --pause "$tmp/fifo"
}

# Rank 0's lines pass through until it says that all steps are done; it then waits for our end of the FIFO to close.
follow() {
	local line

	expected=
	while read -r -u 5 line; do
		echo "rank 0: $line"
		case $line in
		*accuracy*)
			accuracy=${line#*accuracy }
			accuracy=${accuracy%% *}
			;;
		*blocks)
			expected=${line##*: }
			expected=${expected% blocks}
			return
			;;
		esac
	done
	fail "the training did not come to its end"
}

train() {
	local r

	mkfifo "$tmp/fifo" || fail "no FIFO"
	exec 4<>"$tmp/fifo"
	for ((r = 1; r < hosts; r++)); do
		rank "$r" 4>&- >"$tmp/rank$r.log" 2>&1 &
		pids+=($!)
	done
	mkfifo "$tmp/progress" || fail "no FIFO"
	rank 0 4>&- >"$tmp/progress" 2>"$tmp/rank0.log" &
	pids+=($!)
	exec 5<"$tmp/progress"
	follow
}

finish_training() {
	local pid status

	exec 4>&-
	for pid in "${pids[@]}"; do
		wait "$pid"
		status=$?
		[ "$status" = 0 ] || fail "a rank ended with status $status"
	done
	pids=()
}

# number JSON KEY: the first one
number() {
	grep -o "\"$2\":[0-9]*" <<<"$1" | head -1 | cut -d: -f2
}

sum() {
	grep -o "\"$2\":[0-9]*" <<<"$1" | cut -d: -f2 | awk '{ s += $1 } END { print s + 0 }'
}

counters() {
	local stats ports contribs

	run inc -n "$sw" -s group show
	echo
	run inc -n "$sw" port show
	stats=$(inc -n "$sw" -j -s group show) || fail "no counters"
	ports=$(inc -n "$sw" -j port show) || fail "no counters of ports"
	blocks=$(number "$stats" blocks)
	contribs=$(number "$stats" contribs)
	echo
	printf '%s contributions became %s results, each of them sent to %s hosts.\n' \
		"$contribs" "$blocks" "$hosts"
	printf 'In over all ports: %s packets, %s bytes. Out: %s packets, %s bytes.\n' \
		"$(sum "$ports" rx_packets)" "$(sum "$ports" rx_bytes)" \
		"$(sum "$ports" tx_packets)" "$(sum "$ports" tx_bytes)"
	[ "${blocks:-0}" = "$expected" ] ||
		fail "the node reduced ${blocks:-no} blocks, $steps steps are $expected"
	# The other ranks wait in a barrier already: up to one contribution each that has no result yet.
	((contribs >= hosts * blocks && contribs < hosts * (blocks + 1))) ||
		fail "the node counted $contribs contributions to $blocks blocks of $hosts ranks"
}

prove() {
	local r

	inc-digits --single "$hosts" --data "$data" --steps "$steps" --report "$steps" --out "$tmp/weights.single" ||
		fail "the training in one process failed"
	(cd "$tmp" && sha256sum weights.*)
	for ((r = 0; r < hosts; r++)); do
		cmp "$tmp/weights.$r" "$tmp/weights.single" || fail "rank $r has other weights than one process alone"
	done
	awk -v a="$accuracy" -v n="$need_accuracy" 'BEGIN { exit !(a >= n) }' ||
		fail "test accuracy is $accuracy %: expected $need_accuracy % or more"
}

check_machine
say "The network: one bridge, $hosts hosts"
picture
make_network
say "The bridge becomes a node, and the hosts learn of it"
make_node
say "Training: $hosts ranks, $steps steps; every gradient is summed in the bridge"
train
say "What the node has counted"
counters
finish_training
say "The proof: the same training in one process that adds the $hosts gradients in the order of ranks"
prove
printf '\nDEMO OK: test accuracy %s %%, %s blocks reduced in the bridge, weights of all %s ranks and of one process are the same bits\n' \
	"$accuracy" "$blocks" "$hosts"
