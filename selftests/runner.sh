# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs programs that are tests: they print KTAP and end with status 0 (passed), 1 (failed) or 4
# (skipped). What they say and how they end must agree: a plan that is missing or wrong, no result,
# another status, or a failed result with status 0 is a failure.
#
#	run_test LIMIT RELAY COMMAND...	RELAY gets each line; "verdict" and "why" are set then
#
# LIMIT are seconds, 0: as long as it likes. A test that takes longer is ended with all processes
# that it has started, and so is one that runs when this shell is interrupted.

KSFT_SKIP=4
seen=0 seen_failed=0 plan='' skip_reason=''
verdict='' why=''
test_pid='' watcher_pid=''

runner_tmp=$(mktemp -d) || exit 1
mkfifo "$runner_tmp/over" || exit 1
# A line comes from it when a test has ended in time.
exec {over}<>"$runner_tmp/over"
trap 'rm -rf "$runner_tmp"' EXIT
trap 'interrupted 130' INT
trap 'interrupted 143' TERM

# Processes of this session: what a test has started may have process groups of its own.
end_session() {
	local stat pid rest IFS=$' \t\n'	# a trap has that of the read that it interrupts

	for stat in /proc/[0-9]*/stat; do
		{ read -r rest <"$stat"; } 2>/dev/null || continue
		pid=${rest%% *}
		# behind the name, which may contain anything but ends with the last ")": state,
		# parent, group, session
		read -r _ _ _ rest _ <<<"${rest##*) }"
		[ "$rest" != "$1" ] || kill -KILL "$pid" 2>/dev/null
	done
}

# SIGTERM first, that it may take down what it has made.
end_test() {
	local i

	kill -TERM "$1" 2>/dev/null
	for ((i = 0; i < 100; i++)); do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.1
	done
	end_session "$1"
}

interrupted() {
	trap '' INT TERM
	[ -z "$watcher_pid" ] || { kill -KILL "$watcher_pid"; wait "$watcher_pid"; } 2>/dev/null
	[ -z "$test_pid" ] || end_test "$test_pid"
	exit "$1"
}

# Its lines one by one: to whoever wants them, and counted.
read_lines() {
	local line result='^(ok|not ok) [0-9]+'

	while IFS= read -r line; do
		[ "$line" != "$runner_tmp" ] || break
		if [[ $line =~ $result ]]; then
			seen=$((seen + 1))
			[[ $line != not* ]] || seen_failed=$((seen_failed + 1))
		elif [[ $line =~ ^1\.\.([0-9]+)(.*# SKIP ?(.*))?$ ]]; then
			plan=${BASH_REMATCH[1]} skip_reason=${BASH_REMATCH[3]}
		fi
		"$1" "$line"
	done
}

# judge STATUS LIMIT: sets verdict (ok, skip, not ok) and why
# shellcheck disable=SC2034 # the caller looks at the verdict
judge() {
	verdict="not ok"
	if [ -e "$runner_tmp/late" ]; then
		why="ended after $2 s"
	elif [ "$1" = "$KSFT_SKIP" ] && [ "$seen" = 0 ]; then
		verdict=skip why=$skip_reason
	elif [ "$seen" = 0 ] || [ "$plan" != "$seen" ]; then
		why="plan ${plan:-missing}, $seen results, exit status $1"
	elif [ "$1" != 0 ]; then
		why="exit status $1"
	elif [ "$seen_failed" != 0 ]; then
		why="exit status 0, but $seen_failed failed"
	else
		verdict=ok why=''
	fi
}

# watch LIMIT: ends the test when it takes longer
watch() {
	if ! read -r -t "$1" -u "$over"; then
		: >"$runner_tmp/late"
		end_test "$test_pid"
		# whoever is left in another session may keep the pipe open: nobody reads on behind
		# this line
		echo "$runner_tmp" 1<>"$runner_tmp/pipe"
	fi
} >/dev/null 2>&1

run_test() {
	local limit=$1 relay=$2 status=0

	shift 2
	seen=0 seen_failed=0 plan='' skip_reason=''
	rm -f "$runner_tmp"/{late,pipe}
	mkfifo "$runner_tmp/pipe" || exit 1
	# of one that was over just when it was late
	while read -r -t 0.01 -u "$over"; do :; done
	setsid "$@" </dev/null >"$runner_tmp/pipe" 2>&1 {over}>&- &
	test_pid=$!
	if [ "$limit" != 0 ]; then
		watch "$limit" &
		watcher_pid=$!
	fi
	read_lines "$relay" <"$runner_tmp/pipe"
	wait "$test_pid" || status=$?
	if [ "$limit" != 0 ]; then
		echo >&"$over"
		wait "$watcher_pid"
	fi
	test_pid='' watcher_pid=''
	judge "$status" "$limit"
}
