#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# tools/vm/fabric itself: topologies that are wrong, exit statuses, limits, complaints of kernels,
# and that nothing stays when it is interrupted.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

LOGS=$INC_TMP/logs

# launch STATUS TEXT OPTIONS... -- COMMAND...: its exit status, and what it says, an expression;
# the topology is $INC_TMP/topology
launch() {
	local want=$1 text=$2 options=() status=0

	shift 2
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	"$LAUNCHER" --kernel "$KERNEL" --logs "$LOGS" "${options[@]}" "$INC_TMP/topology" "$@" \
		>"$INC_TMP/said" 2>&1 || status=$?
	if [ "$status" != "$want" ] || ! grep -qE -- "$text" "$INC_TMP/said"; then
		echo "exit status $status, expected $want, with: $text; it said:"
		cat "$INC_TMP/said"
		return 1
	fi
}

topology() {
	printf '%s\n' "$@" >"$INC_TMP/topology"
}

# wrong TEXT LINE...: a topology of these lines is refused, and why
wrong() {
	local text=$1

	shift
	topology "$@"
	launch 125 "$text" -- true
}

wrong_ones() {
	wrong "has no line 'node NAME'" "# nothing" &&
		wrong "topology:1: 'switch': expected node or host" "switch s" &&
		wrong "topology:1: 'host h': expected a node on the first line" "host h" &&
		wrong "topology:2: 'node m': expected the node above it" "node n" "node m" &&
		wrong "topology:2: 'x': expected a node of a line above" "node n" "host h x" &&
		wrong "topology:3: 'h': expected a node of" "node n" "host h n" "host i h" &&
		wrong "topology:2: name 'n' is there already" "node n" "host n n" &&
		wrong "topology:1: name 'eth0': expected a letter" "node eth0" &&
		wrong "topology:2: 'y': expected nothing behind 'n'" "node n" "host h n y" || return
	topology "node n"
	launch 125 "--kernel m=6.1: .* has no 'm'" --kernel m=6.1 -- true &&
		launch 125 "--mem 'x' is not a size" --mem x -- true &&
		launch 125 "--boots '0' is not a whole number" --boots 0 -- true
}

# status_of WANT COMMAND...
status_of() {
	local want=$1 status=0

	shift
	"$@" || status=$?
	expect "status of $*" "$status" -eq "$want"
}

no_sleeper() {
	status_of 1 on n pgrep -x sleep
}

# sleep_until COMMAND...: a command of the guest sleeps, and this ends it; its status is "slept"
sleep_until() {
	local pid

	on n sleep 1000 &
	pid=$!
	wait_for 60 on n pgrep -x sleep && "$@" "$pid" || return
	slept=0
	wait "$pid" || slept=$?
}

kill_guest() {
	on --kill n
}

# What a command beside the fabric sees: this test's second run.
in_fabric() {
	status_of 0 on n true &&
		status_of 7 on n sh -c 'echo said; exit 7' &&
		status_of 124 on --limit 2 n sleep 1000 &&
		status_of 127 on n no-such-program &&
		status_of 125 on m true &&
		expect "directory" "$(on n pwd)" = "$PWD" &&
		expect "host" "$(on n hostname)" = n || return
	sleep_until kill && expect "status of one that was ended" "$slept" -eq 143 &&
		wait_for 60 no_sleeper || return
	sleep_until kill_guest &&
		expect "status of one whose guest was ended" "$slept" -eq 125 &&
		status_of 125 on n true &&
		status_of 0 on --boot n &&
		status_of 125 on --boot n &&
		on n inc node show | grep -q "dev all"
}

statuses() {
	topology "node n"
	launch 5 said -- "$FABRIC/20-launcher.sh" in-fabric &&
		expect "logs" "$(cd "$LOGS" && echo *)" = "n-2.log n.log"
}

complaints() {
	topology "node n"
	launch 125 "the kernel of n complained: .*BUG: planted" -- \
		on n sh -c 'echo "BUG: planted" >/dev/kmsg; echo b >/proc/sysrq-trigger' &&
		grep -q "n ended by itself" "$INC_TMP/said" &&
		grep -q "BUG: planted" "$LOGS/n.log"
}

# One guest boots after the other, each for more than a third of a second.
too_long() {
	topology "node n" "host h1 n" "host h2 n" "host h3 n"
	launch 124 "not ended within 1 s; not set up: (n|h[1-3])$" --timeout 1 -- true
}

nothing_of() {
	status_of 1 pgrep -f "$1"
}

# interrupted STATUS COMMAND...: which is given the launcher's process, the leader of a group. Its
# command has a child of its own; all of it goes, and so do guests and files.
interrupted() {
	local want=$1 pid fabric

	shift
	rm -f "$INC_TMP/path"
	topology "node n"
	setsid "$LAUNCHER" --kernel "$KERNEL" --logs "$LOGS" "$INC_TMP/topology" -- sh -c \
		"echo \$INC_FABRIC >$INC_TMP/path.new; mv $INC_TMP/path.new $INC_TMP/path
		sh -c 'sleep 1000; : $INC_TMP/child'; :" &
	pid=$!
	RANK_PIDS=("$pid")	# it goes with this test
	# it may have to wait for its turn
	wait_for 900 test -e "$INC_TMP/path" || return
	fabric=$(cat "$INC_TMP/path")
	status_of 0 pgrep -f "$fabric/n" && status_of 0 pgrep -f "$INC_TMP/child" || return
	"$@" "$pid"
	RANK_PIDS=()
	status_of "$want" wait "$pid" && wait_for 20 nothing_of "$fabric/n" &&
		wait_for 20 nothing_of "$INC_TMP/child" && wait_for 20 test ! -e "$fabric"
}

# All processes of a terminal are told that it is closed.
close_terminal() {
	kill -HUP -- "-$1"
}

if [ "${1-}" = in-fabric ]; then
	trap 'rm -rf "$INC_TMP"' EXIT
	in_fabric && exit 5
	exit 1
fi
fabric_begin
check "topologies and options that are wrong" wrong_ones
check "exit statuses, limits, a guest that ends and is booted again" statuses
check "a kernel that complains, a guest that ends by itself" complaints
check "the time is over" too_long
check "nothing stays of one that is interrupted" interrupted 143 kill
check "nothing stays of one whose terminal is closed" interrupted 129 close_terminal
check "nothing stays of one that is killed" interrupted 137 kill -KILL
ktap_end
