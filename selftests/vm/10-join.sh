#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Joining: groups of every small size, late and missing ranks, ranks and sizes that contradict each
# other, keys, parents that are not there, both address families, unprivileged users; and that
# nothing stays behind.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

KEY1=000102030405060708090a0b0c0d0e0f
KEY2=ff0102030405060708090a0b0c0d0e0f

# refused TEXT RANK-ARGUMENTS...: host h2 tries to join, and is told this
refused() {
	local text=$1 out status=0

	shift
	out=$(in_ns h2 timeout 60 env "$@" 2>&1) || status=$?
	case $status in
	0) echo "succeeded: $*"; return 1 ;;
	# of timeout and env, and of a program that a signal has ended
	12[4-9] | 1[3-9]? | 2??) echo "status $status, not refused: $*: $out"; return 1 ;;
	esac
	grep -qF -- "$text" <<<"$out" || { echo "expected \"$text\", got: $out"; return 1; }
}

late_rank() {
	rank_args 2 "--start-delay 700"
	run_ranks 4 inc-allreduce --count 100
}

missing_rank() {
	refused "1 of 3 ranks have joined, rank 0 is missing" \
		inc-allreduce --group 7001 --rank 1 --size 3 --timeout 3000
}

group_has() {
	[ "$(group_field "$1" "$2")" = "$3" ]
}

# A rank may be taken by its own ghost, so this takes four times the dead limit: begun early, looked
# at late.
TAKEN=7002

taken_begin() {
	nsenter --net=/run/netns/h1 inc-allreduce --group "$TAKEN" \
		--rank 0 --size 3 --timeout 900000 \
		>/dev/null 2>&1 &
	HOLDER=$!
	wait_for 30 group_has sw joined 1 || return
	refused "rank is taken" \
		inc-allreduce --group "$TAKEN" \
		--rank 0 --size 3 --timeout 60000 >"$INC_TMP/taken" 2>&1 &
	INTRUDER=$!
}

rank_taken() {
	local ret=0

	wait "$INTRUDER" || { cat "$INC_TMP/taken"; ret=1; }
	kill "$HOLDER" || ret=1			# it still waits
	wait "$HOLDER" 2>/dev/null
	return "$ret"
}

other_size() {
	refused "has another size" inc-allreduce --group "$TAKEN" --rank 1 --size 4 --timeout 20000
}

# A node with a key lets in who has it.
with_key() {
	INC_KEY=$1 run_ranks 3 inc-allreduce --count 100
}

other_key() {
	refused "the key is not" INC_KEY="$1" inc-allreduce --rank 1 --size 3 --timeout 20000
}

no_parent() {
	local ret=0

	inc -n h2 parent del || return
	refused "inc parent set" inc-allreduce --rank 1 --size 2 || ret=1
	inc -n h2 parent set "$INC_NODE4" || ret=1
	return "$ret"
}

# Of the network namespace's own parent, and of one that is named.
no_route() {
	local ret=0

	inc -n h2 parent set 192.0.2.1 || return
	refused "192.0.2.1: no route of this host leads there" \
		inc-allreduce --rank 1 --size 2 || ret=1
	inc -n h2 parent set "$INC_NODE4" || ret=1
	refused "192.0.2.9: no route of this host leads there" \
		inc-allreduce --rank 1 --size 2 --parent 192.0.2.9 || ret=1
	return "$ret"
}

# What no host has, which `parent set` cannot know.
broadcast_address() {
	refused "10.7.0.255: it is the address of no host" \
		inc-allreduce --rank 1 --size 2 --parent 10.7.0.255
}

# port_taken PROGRAM...: while it has INC's UDP port in the network namespace of h2
port_taken() {
	local ret=0 holder

	# the module's own socket may still be there, of a rank that has just gone
	nsenter --net=/run/netns/h2 python3 -s -S -c 'import signal, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    try:
        s.bind(("", 5227))
        break
    except OSError:
        time.sleep(0.05)
open(sys.argv[1], "w").close()
signal.pause()' "$INC_TMP/has-port" &
	holder=$!
	wait_for 60 test -e "$INC_TMP/has-port" || ret=1
	refused "another program has INC's UDP port on this host" \
		inc-allreduce --rank 1 --size 2 || ret=1
	kill "$holder"
	wait "$holder" 2>/dev/null
	return "$ret"
}

two_groups() {
	local ret=0 first

	start_ranks 4 inc-allreduce --count 5000 --iters 20
	first=("${RANK_PIDS[@]}")
	start_ranks 4 inc-allreduce --count 3000 --iters 20 --type i32
	wait_ranks || ret=1
	for pid in "${first[@]}"; do
		wait "$pid" || ret=1
	done
	return "$ret"
}

# groups_of_jobs N: how many different jobs the node has groups of, and members
groups_of_jobs() {
	local object

	for object in group member; do
		[ "$(inc -n sw -j "$object" show | grep -o '"job":[0-9]*' | sort -u | wc -l)" = "$1" ] ||
			return
	done
}

# Rank 0 begins when a file is there, which is the first argument; then the program and its own.
# shellcheck disable=SC2016
HELD='until [ "$INC_RANK" != 0 ] || [ -e "$0" ]; do sleep 0.1; done; exec "$@"'

# two_jobs GROUP: each has a group of this number, at the same ranks of the same hosts
two_jobs() {
	local ret=0 first go=$INC_TMP/go

	# neither ends before both have been seen
	INC_GROUP_NR=$(($1 - 1))
	INC_JOB=4711 start_ranks 4 sh -c "$HELD" "$go" inc-allreduce --count 5000 --iters 20
	first=("${RANK_PIDS[@]}")
	INC_GROUP_NR=$(($1 - 1))
	INC_JOB=night-run start_ranks 4 sh -c "$HELD" "$go" \
		inc-allreduce --count 3000 --iters 20 --type i32
	wait_for 60 groups_of_jobs 2 || ret=1
	touch "$go"
	wait_ranks || ret=1
	for pid in "${first[@]}"; do
		wait "$pid" || ret=1
	done
	return "$ret"
}

# A rank of one job gives up before the group has formed; the same rank of the other one stays.
job_given_up() {
	local ret=0 stays

	INC_GROUP_NR=$(($1 - 1))
	INC_JOB=1 start_ranks 1 inc-allreduce --size 2
	stays=${RANK_PIDS[0]}
	wait_for 30 group_has sw job 1 || return
	INC_GROUP_NR=$(($1 - 1))
	INC_JOB=2 start_ranks 1 inc-allreduce --size 2
	wait_for 30 groups_of_jobs 2 || ret=1
	kill -KILL "$(rank_pid 0)"
	wait_rank 0 any
	wait_for 30 groups_of_jobs 1 || ret=1
	group_has sw job 1 || ret=1
	RANK_PIDS=("$stays")
	kill -KILL "$(rank_pid 0)"
	wait_rank 0 any
	return "$ret"
}

# nobody, with the memory limit that a container may have
unprivileged() {
	# shellcheck disable=SC2016
	run_ranks 4 sh \
		-c \
		'ulimit -l 64; exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
		--bounding-set=-all "$0" "$@"' inc-allreduce --count 50000 --iters 3
}

not_configurable() {
	refused "needs CAP_NET_ADMIN in this network namespace" \
		setpriv --reuid 65534 --regid 65534 --clear-groups inc node add dev eth0
}

# Ranks that wait for the last one ask seldom: 100 times per second together, however many they are.
many_ranks() {
	local n=$1 before joins begin=$SECONDS most

	before=$(total joins)
	rank_args $((n - 1)) "--start-delay 3000"
	run_ranks "$n" inc-allreduce --count 100 || return
	joins=$(($(total joins) - before))
	most=$((8 * n + 200 * (SECONDS - begin + 1)))
	echo "# $joins JOINs of $n ranks"
	[ "$joins" -ge $((2 * n)) ] || { echo "expected two of each rank"; return 1; }
	[ "$joins" -le "$most" ] || { echo "expected at most $most"; return 1; }
}

killed_while_joining() {
	start_ranks 1 inc-allreduce --size 2 --group "$((INC_GROUP_NR + 1))"
	wait_for 30 group_has h1 rank 0 || return
	kill -KILL "$(rank_pid 0)"
	wait_rank 0 any
	wait_for 30 no_groups
}

# pinged CODE ANSWERED [ADDRESS]: twice, by host 1
pinged() {
	local out

	out=$(inc -n h1 -j ping "${@:3}" count 2 interval 100 timeout 2000)
	out=$(grep -o '"answered":[0-9]*,"last":"[a-z-]*"' <<<"$out")
	expect "what the ping of ${3-the parent} says" "$out" = "\"answered\":$2,\"last\":\"$1\""
}

ping_node() {
	# an address of a link that has just come up is not used yet
	wait_for 30 pinged node 2 "$INC_NODE6" && pinged node 2 &&
		pinged node 2 "$INC_NODE4" || return
	inc -n sw node set dev br0 key "$KEY1" || return
	pinged node 2 || return
	inc -n sw node set dev br0 key none && wait_for 30 no_groups
}

ping_others() {
	local ret=0

	pinged refused 0 10.7.0.2 && pinged unreachable 0 10.7.0.77 &&
		pinged refused 0 10.7.0.254 port 9 || return
	start_ranks 1 inc-allreduce --size 2 --group "$((INC_GROUP_NR + 2))"
	wait_for 30 group_has h1 rank 0 && pinged no-node 0 10.7.0.1 || ret=1
	kill -KILL "$(rank_pid 0)"
	wait_rank 0 any
	wait_for 30 no_groups && return "$ret"
}

# The node's address is found by the name of its host, at ranks and by the tool.
named_by_name() {
	local names out ret=0

	# nobody has the address that the resolver has put in front, or behind
	printf '%s\n' "127.0.0.1 localhost" "$INC_NODE4 switch1.example" \
		"10.7.0.77 switch2.example" "$INC_NODE4 switch2.example" \
		"10.7.0.3 switch3.example" "10.7.0.1 switch3.example" >"$INC_TMP/hosts"
	# shellcheck disable=SC2016
	names=(unshare --mount sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$INC_TMP/hosts")
	run_ranks 2 "${names[@]}" inc-allreduce --count 1000 --parent switch1.example:5227 || ret=1
	# a rank asks at the next one, too, where a host is no node, or nobody answers
	run_ranks 2 "${names[@]}" inc-allreduce --count 1000 --parent switch2.example || ret=1
	refused "10.7.0.3, then 10.7.0.1: it is no node" \
		"${names[@]}" inc-allreduce --rank 1 --size 2 --parent switch3.example || ret=1
	"${names[@]}" inc -n h1 parent set switch1.example || ret=1
	out=$(inc -n h1 parent show)
	expect "the parent that was set by its name" "$out" = "parent $INC_NODE4 port 5227" || ret=1
	"${names[@]}" inc -n h1 parent set 10.7.0.77 &&
		"${names[@]}" inc -n h1 parent set switch2.example || ret=1
	out=$(inc -n h1 parent show)
	expect "the address that answers" "$out" = "parent $INC_NODE4 port 5227" || ret=1
	refused 'parent "x.invalid": no address of x.invalid is found' \
		inc-allreduce --rank 1 --size 2 --parent x.invalid && return "$ret"
}

inc_begin
inc_topology_create 4

for n in 1 2 4; do
	check "$n ranks join, reduce and leave" run_ranks "$n" \
		inc-allreduce --count 1000 --seed "$SEED"
done
taken_begin
check "another size is refused" other_size
check "the same over IPv6" run_ranks 4 inc-allreduce --count 1000 --parent "$INC_NODE6"
check "the parent named with its port" run_ranks 2 inc-allreduce --count 1000 \
	--parent "[$INC_NODE6]:5227"
check "the parent named by its host's name" named_by_name
check "the others wait for a rank that comes late" late_rank
check "32 ranks wait for the last one" many_ranks 32
check "a rank that does not come is named" missing_rank
check "two groups at once" two_groups
check "two jobs with groups of the same number" two_jobs 4000
check "two jobs, one of them gives up" job_given_up 4001
check "an unprivileged user with ulimit -l 64" unprivileged
check "a rank that is taken is refused" rank_taken
set_up inc -n sw node set dev br0 key "$KEY1"
check "ranks with the node's key join" with_key "$KEY1"
check "another key is refused" other_key "$KEY2"
check "no key is refused" other_key ""
(umask 077 && echo "$KEY2" >"$INC_TMP/key")
set_up inc -n sw node set dev br0 key "@$INC_TMP/key"
check "ranks and node have the key from a file" with_key "@$INC_TMP/key"
check "the key in that file is another one" other_key "$KEY1"
set_up inc -n sw node set dev br0 key none
check "a node without key takes none" other_key "$KEY1"
check "no parent: told how to set one" no_parent
check "no route: told so, and where to" no_route
check "a broadcast address: told so" broadcast_address
check "another program has the UDP port: told so" port_taken
check "a parent that is no node: told so" refused "is no node" \
	inc-allreduce --rank 1 --size 2 --parent 10.7.0.1 --timeout 10000
check "a parent that is not there: told so" refused "does not answer" \
	inc-allreduce --rank 1 --size 2 --parent 10.7.0.77 --timeout 3000
check "ping: the node answers, and keeps nothing" ping_node
check "ping: what is no node, or not there" ping_others
check "a bad parent is named" refused 'parent "10.7.0"' \
	inc-allreduce --rank 1 --size 2 --parent 10.7.0
check "a bad rank is named" refused "rank 2: expected 0..1" inc-allreduce --rank 2 --size 2
check "a node is root's to add" not_configurable
set_up inc -n sw node set dev br0 dead 500
check "killed while joining: nothing stays" killed_while_joining
# with ONLY nobody may have asked for its end
kill "$HOLDER" 2>/dev/null
check "groups are gone after the last has left" wait_for 30 no_groups
inc_end
