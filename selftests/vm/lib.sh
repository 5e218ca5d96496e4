# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the VM tests share: hosts around a bridge, disturbed links, ranks, counters, waiting,
# results.
#
#	 netns h1      h2      ...     hN
#	    eth0      eth0            eth0	10.7.0.1 ... .N/24, fd00:7::1 ... :N/64 (hexadecimal)
#	     |         |               |	veth
#	    p1        p2              pN
#	  +---------------------------------+
#	  | br0    10.7.0.254  fd00:7::fe   |	netns sw: the node
#	  +---------------------------------+
#
# A test is a script that sources this file, calls check or skip for everything it tests, and ends
# with ktap_end. Its exit status is 0 if nothing failed, 1 if something did, 4 if nothing of it can
# be tested here (need.sh):
#
#	. "$(dirname "$0")/lib.sh"
#	inc_begin
#	inc_topology_create 4
#	check "4 ranks" run_ranks 4 inc-allreduce --count 1000
#	inc_topology_destroy
#	inc_end		# audits, unloads, prints the plan, exits
#
# FULL=1: the whole matrix instead of a covering sample. SEED=n: the seed of all random choices,
# else that of today, or of the run (RUN_SEED=n, see tools/check), and of this kernel. ONLY=PATTERN:
# only the checks whose names it matches; a test that has none ends with status 4. What is drawn at
# random stands in braces in a check's name.

# shellcheck source=need.sh
. "$(dirname "${BASH_SOURCE[0]}")/need.sh"

INC_TMP=$(mktemp -d) || exit 1
INC_NODE4=10.7.0.254
INC_NODE6=fd00:7::fe
INC_NODE2=10.8.0.254	# on the second bridge, if there is one
INC_HOSTS=0
INC_GROUP_NR=${INC_GROUP_NR:-$((($$ % 1000) * 1000))}
INC_TIMEOUT=${INC_TIMEOUT:-180}	# seconds after which a run of ranks counts as hung
FULL=${FULL:-0}
ONLY=${ONLY-}
SEED=${SEED:-${RUN_SEED:-$(date +%y%m%d)}$(($(uname -r | cksum | cut -d' ' -f1) % 900 + 100))}

# More arguments of single ranks, see rank_args
declare -A RANK_ARGS=()
EXTRA_NETNS=()
RANK_PIDS=()
KTAP_N=0
KTAP_FAILED=0

# ---- Results -------------------------------------------------------------------------------------

ktap_ok() {
	echo "ok $((++KTAP_N)) - $1"
}

ktap_not_ok() {
	echo "not ok $((++KTAP_N)) - $1"
	KTAP_FAILED=$((KTAP_FAILED + 1))
}

# skip NAME REASON
skip() {
	[[ $1 =~ $ONLY ]] || return 0
	echo "ok $((++KTAP_N)) - $1 # SKIP $2"
}

# check NAME COMMAND...: passes if the command does; what it says is shown when it does not
check() {
	local name=$1 begin=$SECONDS ret=0

	shift
	[[ $name =~ $ONLY ]] || return 0
	if "$@" >"$INC_TMP/check.log" 2>&1; then
		ktap_ok "$name"
	else
		ret=1
		ktap_not_ok "$name"
		sed 's/^/# /' "$INC_TMP/check.log"
	fi
	[ $((SECONDS - begin)) -lt 4 ] || echo "# that took $((SECONDS - begin)) s"
	return "$ret"
}

# set_up COMMAND...: without it what follows would test nothing: if it fails, that is a failure,
# and the test ends. Not to be called by what check runs.
set_up() {
	"$@" >"$INC_TMP/set_up.log" 2>&1 && return
	ktap_not_ok "set-up: $*"
	sed 's/^/# /' "$INC_TMP/set_up.log"
	ktap_end
}

# expect WHAT GOT OPERATOR WANTED, the operator being one of test(1): -eq -lt = ...
expect() {
	if ! test "$2" "$3" "$4"; then
		echo "$1 is \"$2\", expected $3 $4"
		return 1
	fi
}

ktap_end() {
	if [ "$KTAP_N" = 0 ] && [ -n "$ONLY" ]; then
		echo "1..0 # SKIP no name here matches ONLY='$ONLY'"
		exit 4
	fi
	echo "1..$KTAP_N"
	[ "$KTAP_N" -gt 0 ] && [ "$KTAP_FAILED" = 0 ]
	exit
}

# ---- Waiting -------------------------------------------------------------------------------------

# wait_for SECONDS COMMAND...: until the command passes; fails after that time, and says so
wait_for() {
	local deadline=$((SECONDS + $1))

	shift
	until "$@" >/dev/null 2>&1; do
		if ((SECONDS >= deadline)); then
			echo "waited too long for: $*"
			return 1
		fi
		sleep 0.05
	done
}

# ---- Topology ------------------------------------------------------------------------------------

# EXTRA_NETNS: a test's own, which go with the others
all_netns() {
	local h ns

	for ns in sw "${EXTRA_NETNS[@]}"; do echo "$ns"; done
	for ((h = 1; h <= INC_HOSTS; h++)); do
		echo "h$h"
	done
}

# in_ns NETNS COMMAND...: `ip netns exec` would mount a /sys of that namespace, too, which takes its
# time
in_ns() {
	local ns=$1

	shift
	nsenter --net="/run/netns/$ns" "$@"
}

# mac NUMBER: of host NUMBER's eth0; 254: of br0
mac() {
	printf '02:00:00:00:07:%02x' "$1"
}

offloads_off() {
	in_ns "$1" ethtool -K "$2" tso off gso off gro off tx-udp-segmentation off >/dev/null
}

# What `ip -batch` is to do in netns sw, in each host, and before both in this one; one process per
# netns, because a VM without KVM takes 50 ms for each.
topology_batch() {
	local h

	echo "netns add sw"
	for ((h = 1; h <= $1; h++)); do
		echo "netns add h$h"
	done
}

switch_batch() {
	local h

	echo "link set lo up"
	# without an address of its own it has that of a port, and another one when that port goes
	echo "link add br0 address $(mac 254) mtu $2 type bridge"
	echo "addr add $INC_NODE4/24 dev br0"
	[ "$2" -lt 1280 ] || echo "addr add $INC_NODE6/64 dev br0 nodad"
	echo "link set br0 up"
	for ((h = 1; h <= $1; h++)); do
		echo \
			"link add p$h mtu $2 type veth peer name eth0 address $(mac "$h") mtu $2 netns h$h"
		echo "link set p$h master br0 up"
	done
}

# host_batch NUMBER MTU
host_batch() {
	echo "link set lo up"
	echo "addr add 10.7.0.$1/24 dev eth0"
	[ "$2" -lt 1280 ] || echo "addr add fd00:7::$(printf %x "$1")/64 dev eth0 nodad"
	echo "link set eth0 up"
}

# host_create NUMBER GSO MTU
host_create() {
	if [ "$2" = off ]; then
		offloads_off sw "p$1" && offloads_off "h$1" eth0 || return
	fi
	host_batch "$1" "$3" | ip -n "h$1" -batch -
}

ports_forward() {
	[ "$(bridge -n sw link show | grep -c 'state forwarding')" = "$INC_HOSTS" ]
}

# inc_topology_create HOSTS [GSO on|off] [MTU] [NODE-ADDRESS]: links, the node on br0, the hosts'
# default parents
inc_topology_create() {
	set_up create_topology "$@"
}

create_topology() {
	local h

	INC_HOSTS=$1
	topology_batch "$1" | ip -batch - && switch_batch "$1" "${3:-1500}" |
		ip -n sw -batch - || return
	for ((h = 1; h <= $1; h++)); do
		host_create "$h" "${2:-on}" "${3:-1500}" || return
	done
	wait_for 60 ports_forward && inc -n sw node add dev br0 || return
	for ((h = 1; h <= $1; h++)); do
		inc -n "h$h" parent set "${4:-$INC_NODE4}" || return
	done
}

has_vrfs() {
	modprobe vrf 2>/dev/null
	ip link add vrfx type vrf table 99 && ip link del vrfx
}

inc_topology_destroy() {
	all_netns | sed 's/^/netns del /' | ip -force -batch - 2>/dev/null
	INC_HOSTS=0
}

# second_bridge NETNS: another one, with a node, that all hosts are on too
second_bridge() {
	local ns=$1 h

	{
		echo "link add br1 address $(mac 253) type bridge"
		echo "addr add $INC_NODE2/24 dev br1"
		echo "link set br1 up"
		for ((h = 1; h <= INC_HOSTS; h++)); do
			echo "link add q$h type veth peer name eth1 netns h$h"
			echo "link set q$h master br1 up"
		done
	} | ip -n "$ns" -batch - || return
	for ((h = 1; h <= INC_HOSTS; h++)); do
		printf 'addr add 10.8.0.%d/24 dev eth1\nlink set eth1 up\n' "$h" |
			ip -n "h$h" -batch - || return
	done
	inc -n "$ns" node add dev br1
}

# No ARP and no neighbour discovery from now on: they ask once a second, and a node that is not
# heard for two is dead.
# For links that lose packets, of an MTU that has IPv6.
neighbours_known() {
	local entry='neigh replace %s lladdr %s dev %s nud permanent\n' node host h

	node=$(mac 254)
	for ((h = 1; h <= INC_HOSTS; h++)); do
		host=$(mac "$h")
		# shellcheck disable=SC2059
		printf "$entry" "$INC_NODE4" "$node" eth0 "$INC_NODE6" "$node" eth0 |
			ip -n "h$h" -batch - || return
		# shellcheck disable=SC2059
		printf "$entry" "10.7.0.$h" "$host" br0 "fd00:7::$(printf %x "$h")" "$host" br0 |
			ip -n sw -batch - || return
	done
}

# set_links NETEM-ARGUMENTS...: on every link, both directions
set_links() {
	local h

	for ((h = 1; h <= INC_HOSTS; h++)); do
		tc -n "h$h" qdisc replace dev eth0 root netem limit 100000 "$@" || return
		tc -n sw qdisc replace dev "p$h" root netem limit 100000 "$@" || return
	done
}

set_loss() { set_links loss "$1"; }
set_dup() { set_links duplicate "$1"; }
set_reorder() { set_links delay 2ms reorder "$1" 50%; }

# Packets (super-packets are one each) that netem has dropped since the links were set.
lost_on_links() {
	local h

	for ((h = 1; h <= INC_HOSTS; h++)); do
		tc -n "h$h" -s -j qdisc show dev eth0 root || return
		tc -n sw -s -j qdisc show dev "p$h" root || return
	done | json_sum drops
}

# Datagrams on their way from h1 to h2 that others have overtaken, each time that this is asked
# some more are sent.
overtaken() {
	local dir more

	dir=$(dirname "${BASH_SOURCE[0]}")
	more=$(PYTHONPATH=$dir python3 -B -s -S "$dir/disorder.py") || return
	echo "$more" >>"$INC_TMP/overtaken"
	awk '{ sum += $1 } END { print sum + 0 }' "$INC_TMP/overtaken"
}

clear_links() {
	local h

	for ((h = 1; h <= INC_HOSTS; h++)); do
		tc -n "h$h" qdisc del dev eth0 root 2>/dev/null
		tc -n sw qdisc del dev "p$h" root 2>/dev/null
	done
	return 0
}

# ---- Ranks ---------------------------------------------------------------------------------------

rank_log() { echo "$INC_TMP/rank$1.log"; }

# rank_args RANK ARGUMENTS: more arguments of this rank in the next start_ranks or run_ranks
rank_args() {
	RANK_ARGS[$1]=$2
}

# start_ranks N PROGRAM ARGUMENTS...: rank r on host r + 1 (modulo the hosts there are), in a new
# group, in background
start_ranks() {
	local n=$1 r

	shift
	INC_GROUP_NR=$((INC_GROUP_NR + 1))
	RANK_PIDS=()
	for ((r = 0; r < n; r++)); do
		# shellcheck disable=SC2086
		INC_GROUP=$INC_GROUP_NR INC_RANK=$r INC_SIZE=$n nsenter \
			--net="/run/netns/h$((r % INC_HOSTS + 1))" \
			timeout -k 5 "$INC_TIMEOUT" "$@" \
			${RANK_ARGS[$r]:-} >"$(rank_log "$r")" 2>&1 &
		RANK_PIDS[r]=$!
	done
	RANK_ARGS=()
}

# rank_pid R: of the program itself; RANK_PIDS are those of the `timeout` around it
rank_pid() {
	# not every kernel has /proc/PID/task/PID/children
	grep -l "^PPid:[[:space:]]*${RANK_PIDS[$1]}\$" /proc/[0-9]*/status 2>/dev/null | cut -d/ -f3
}

# wait_rank R [STATUS]: its exit status is to be this one (0; "any"; 137 is SIGKILL)
wait_rank() {
	local status=0 want=${2:-0}

	wait "${RANK_PIDS[$1]}" || status=$?
	unset "RANK_PIDS[$1]"
	[ "$want" != any ] || return 0
	if [ "$status" != "$want" ]; then
		echo "rank $1 ended with status $status, expected $want:"
		sed 's/^/  /' "$(rank_log "$1")"
		return 1
	fi
}

# All that were started and not waited for.
wait_ranks() {
	local r ret=0

	for r in "${!RANK_PIDS[@]}"; do
		wait_rank "$r" || ret=1
	done
	[ "$ret" = 0 ] || why_stuck
	return "$ret"
}

# run_ranks N PROGRAM ARGUMENTS...: passes if all of them do
run_ranks() {
	start_ranks "$@"
	wait_ranks
}

# What the groups look like, for whoever reads a failed test.
why_stuck() {
	local ns

	for ns in $(all_netns); do
		inc -n "$ns" -s group show 2>&1 | sed "s/^/  $ns: /"
	done
}

# ---- What the kernel counts ----------------------------------------------------------------------

# json_number KEY: the first number of this key in the JSON on stdin; nothing if there is none
json_number() {
	first_number "$1" "$(cat)"
}

# first_number KEY JSON: the same, without a process
first_number() {
	[[ ! $2 =~ \"$1\":([0-9]+) ]] || echo "${BASH_REMATCH[1]}"
}

# json_sum KEY: all of them
json_sum() {
	grep -o "\"$1\":[0-9]*" | cut -d: -f2 | awk '{ s += $1 } END { printf "%d\n", s }'
}

# counter NETNS COUNTER: of all groups that this namespace has had
counter() {
	local stats value

	stats=$(inc -n "$1" -j -s stats show)
	value=$(first_number "$2" "$stats")
	echo "${value:-0}"
}

# total COUNTER...: their sum over all namespaces
total() {
	local ns c stats value sum=0

	for ns in $(all_netns); do
		stats=$(inc -n "$ns" -j -s stats show) || return
		for c in "$@"; do
			value=$(first_number "$c" "$stats")
			sum=$((sum + ${value:-0}))
		done
	done
	echo "$sum"
}

# group_field NETNS KEY: of the first group there
group_field() {
	first_number "$2" "$(inc -n "$1" -j -s group show)"
}

# ip_bytes NETNS DEV: IP bytes that left a device, headers of every segment included. Needs
# count_bytes before.
count_bytes() {
	tc -n "$1" qdisc replace dev "$2" root handle 1: prio
}

ip_bytes() {
	first_number bytes "$(tc -n "$1" -s -j qdisc show dev "$2" root)"
}

# more_blocks N: the node has completed some more than N
more_blocks() {
	[ "$(counter sw blocks)" -ge $(($1 + 10)) ]
}

no_groups() {
	local ns

	for ns in $(all_netns); do
		[[ $(inc -n "$ns" -j group show) != *'"group"'* ]] || return 1
	done
}

nothing_held() {
	no_groups && [ "$(inc -n sw -j node show | json_sum memory)" = 0 ]
}

# ---- Begin and end -------------------------------------------------------------------------------

inc_cleanup() {
	local pid

	for pid in "${RANK_PIDS[@]}"; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	inc_topology_destroy
	[ -z "${INC_DEAD_MS-}" ] || dead_limit "$INC_DEAD_MS"
	rm -rf "$INC_TMP"
}

# What a test may begin with: namespaces are its own, the module is loaded.
inc_begin() {
	trap 'rm -rf "$INC_TMP"' EXIT
	need_machine
	need_module inc
	trap inc_cleanup EXIT
	echo "KTAP version 1"
	echo "# $(basename "$0"): seed $SEED"
	RANDOM=$SEED
}

module_unused() {
	[ "$(cat /sys/module/inc/refcnt)" = 0 ]
}

module_unloads() {
	wait_for 60 module_unused || return
	rmmod inc || return
	[ ! -e /sys/module/inc ]
}

# unloading NAME COMMAND...: a check that takes the module away, which it does only if the test has
# loaded it
unloading() {
	local name=$1

	shift
	if module_is_ours inc; then
		check "$name" "$@"
	else
		skip "$name" "it was loaded before the test"
	fi
}

# Everything that was made is gone: groups, namespaces, the module.
inc_end() {
	[ "$INC_HOSTS" = 0 ] || inc_topology_destroy
	if [ "$KTAP_N" = 0 ] && [ -n "$ONLY" ]; then
		! module_is_ours inc || set_up module_unloads
	else
		ONLY='' unloading "the module unloads" module_unloads
	fi
	ktap_end
}
