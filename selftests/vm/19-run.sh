#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# inc run: programs on hosts that it makes, what they find there, how they end, and that nothing is
# left then, whatever has ended it.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

unprivileged=(setpriv --reuid 65533 --regid 65533 --clear-groups)
# Seconds; with a fault that is planted there is nothing to wait for.
patience=${PATIENCE:-60}
mpi_libs=$INC_TOP/build/userspace/lib/mpi
mpi_programs=$INC_TOP/build/selftests/mpi

# run STATUS ARGUMENTS...: inc run, which ends with this status; its output is in $INC_TMP/out and
# $INC_TMP/err
run() {
	local want=$1 status=0

	shift
	timeout -k 5 "$INC_TIMEOUT" inc run "$@" >"$INC_TMP/out" 2>"$INC_TMP/err" || status=$?
	expect "exit status" "$status" = "$want" || { cat "$INC_TMP/out" "$INC_TMP/err"; return 1; }
}

# is FILE TEXT: the lines of this file, sorted
is() {
	local got

	got=$(sort "$INC_TMP/$1")
	[ "$got" = "$2" ] || { printf '%s is:\n%s\nexpected:\n%s\n' "$1" "$got" "$2"; return 1; }
}

# has FILE PATTERN
has() {
	grep -qE -- "$2" "$INC_TMP/$1" || { echo "$1: expected $2"; cat "$INC_TMP/$1"; return 1; }
}

files() {
	[ "$(find "$INC_TMP" -name "$2" | wc -l)" = "$1" ]
}

# The network namespaces that processes are in.
namespaces() {
	stat -Lc %i /proc/[0-9]*/ns/net 2>/dev/null | sort -u
}

soon() {
	wait_for "$patience" "$@"
}

# no_process ARGUMENTS...: of pgrep, which has looked for it
no_process() {
	pgrep "$@"
	[ $? = 1 ]
}

# Processes, sockets, network namespaces and devices of a run.
nothing_left() {
	no_process -x -r DRSTt inc-switch && no_process -f "$INC_TMP" && module_unused &&
		[ "$(namespaces)" = "$namespaces_before" ] &&
		[ "$(ip -br link)" = "$links_before" ] &&
		[ "$(ip netns list)" = "$netns_before" ]
}

left_over() {
	pgrep -a -x inc-switch
	pgrep -a -f "$INC_TMP"
	namespaces
	ip -br link
	ip netns list
}

all_gone() {
	rm -f "$INC_TMP"/{up*,go,got*,end}
	soon nothing_left || { left_over; return 1; }
}

# A process that nobody waits for, in a session of its own, and a rank in a group; then this one
# waits for what it has started. To be run with $INC_TMP as $0, by which it is found.
# shellcheck disable=SC2016
for_ever='setsid bash -c "sleep 1000; :" "$0" & inc-allreduce --iters 100000000 >/dev/null &
	touch "$0/up$INC_RANK"; wait'

module_used() {
	! module_unused
}

# start_run ARGUMENTS...: in the background, its first process in $run_pid; SIGINT has its effect
start_run() {
	env --default-signal=INT inc run "$@" >"$INC_TMP/out" 2>"$INC_TMP/err" &
	run_pid=$!
	RANK_PIDS+=("$run_pid")
}

has_ended() {
	! kill -0 "$run_pid"
}

# ends STATUS
ends() {
	local status=0

	soon has_ended || return
	wait "$run_pid" || status=$?
	unset 'RANK_PIDS[-1]'
	expect "exit status" "$status" = "$1" || { cat "$INC_TMP/out" "$INC_TMP/err"; return 1; }
}

# ---- What programs find --------------------------------------------------------------------------

allreduce() {
	run 0 -l -n "$1" "${@:2}" -- inc-allreduce --count 1000,1,7 &&
		expect "ranks that are right" \
			"$(grep -cE '^([0-9]+): rank \1 of .*every element right' "$INC_TMP/out")" = "$1"
}

environment() {
	local first want r

	# shellcheck disable=SC2016
	INC_PARENT=10.0.0.1 INC_KEY=00 TORCHELASTIC_USE_AGENT_STORE=True \
		run 0 -n 3 -- bash -c 'echo $INC_RANK $INC_SIZE \
		$INC_LOCAL_RANK $INC_LOCAL_SIZE $RANK \
		$WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR $MASTER_PORT $(hostname) \
		${INC_PARENT-no} ${INC_KEY-no} ${TORCHELASTIC_USE_AGENT_STORE-no}
		echo $INC_JOB >>"$0"' "$INC_TMP/jobs" || return
	want=''
	for r in 0 1 2; do
		want+="$r 3 0 1 $r 3 0 1 10.77.0.1 29500 10.77.0.$((r + 1)) no no no"$'\n'
	done
	is out "${want%$'\n'}" || return
	first=$(sort -u "$INC_TMP/jobs")
	expect "jobs of one run" "$(wc -l <<<"$first")" -eq 1 || return
	# shellcheck disable=SC2016
	run 0 -- bash -c 'echo $INC_JOB' || return
	expect "the job of another run" "$(sort -u "$INC_TMP/out")" != "$first"
}

# A new namespace has what its kernel puts there, such as sit0; files beside devices are none.
own_devices() {
	local fresh want

	fresh=$(unshare -n ip -o link | sed 's/^[0-9]*: \([^:@]*\).*/\1/') &&
		want=$(printf '%s\n' eth0 "$fresh" | sort | xargs) || return
	# shellcheck disable=SC2016
	run 0 -l --mtu 9000 -- bash -c \
		'cd /sys/class/net &&
			echo $(ls -d */ | tr -d / | sort) $(< eth0/mtu) $(readlink /proc/self/exe)' &&
		is out "0: $want 9000 $(readlink -f "$(command -v readlink)")
1: $want 9000 $(readlink -f "$(command -v readlink)")"
}

ranks_of_torchrun() {
	run 0 -n 2 -- env -u INC_RANK -u INC_SIZE inc-rank && has out 'launcher torchrun rank 0 size 2'
}

# Rank 0 reads last.
input() {
	# shellcheck disable=SC2016
	run 0 -l -n 3 -- bash -c 'if [ $INC_RANK = 0 ]; then
		until [ -e "$0/got1" ] && [ -e "$0/got2" ]; do sleep 0.1; done; fi
		cat; touch "$0/got$INC_RANK"' "$INC_TMP" <<<"for one" && is out "0: for one" && all_gone
}

labels() {
	# shellcheck disable=SC2016
	run 0 -l -n 2 -- bash -c 'printf "a\nb%s" $INC_RANK; echo c >&2' && is out "0: a
0: b0
1: a
1: b1" && is err "0: c
1: c" || return
	run 0 -l -n 1 -- head -c 5000 /dev/zero || return
	expect "pieces of a line that is too long" "$(tr -d '\0' <"$INC_TMP/out")" = "0: 
0: "
}

# A pipe that somebody else has made non-blocking, and that is full before it is read.
late_reader() {
	timeout -k 5 60 python3 -B -s -S - <<-'END'
		import os, select, subprocess, sys, time
		end, start = os.pipe()
		os.set_blocking(start, False)
		run = subprocess.Popen(["inc", "run", "-l", "-n", "1", "--", "seq", "50000"], stdout=start)
		while select.select([], [start], [], 0)[1]:
		    time.sleep(0.01)
		os.close(start)
		with open(end) as file:
		    lines = file.read().splitlines()
		if run.wait() or lines != [f"0: {i}" for i in range(1, 50001)]:
		    sys.exit(f"status {run.returncode}, {len(lines)} lines, expected 0 and all of 50000")
	END
}

full_device() {
	local status=0

	inc run -l -n 1 -- sh -c 'echo a; trap "" PIPE; while echo b; do :; done 2>/dev/null; exit 0' \
		>/dev/full 2>"$INC_TMP/err" || status=$?
	expect "exit status" "$status" = 2 || { cat "$INC_TMP/err"; return 1; }
	is err "inc: run: --label: stdout: No space left on device"
}

counters() {
	timeout -k 5 "$INC_TIMEOUT" inc -s run -n 4 -- inc-allreduce --count 1000 --iters 10 \
		>"$INC_TMP/out" 2>"$INC_TMP/err" || return
	has err '^blocks +[1-9]' && has err '^contribs +[1-9]' || return
	expect "contributions" "$(awk '$1 == "contribs" { print $2 }' "$INC_TMP/err")" = \
		"$(awk '$1 == "blocks" { print 4 * $2 }' "$INC_TMP/err")"
}

# What --show prints does the same, and takes it away again.
by_hand() {
	inc run --show -n 3 -6 -- inc-allreduce --count 1000 >"$INC_TMP/by-hand" || return
	bash -e "$INC_TMP/by-hand" </dev/null >"$INC_TMP/out" 2>&1 || { cat "$INC_TMP/out"; return 1; }
	expect "ranks that are right" "$(grep -c 'every element right' "$INC_TMP/out")" = 3 && all_gone
}

# ---- How it ends ---------------------------------------------------------------------------------

# A rank that fails ends those that would go on for ever, and what they have started.
failed_rank() {
	# shellcheck disable=SC2016
	run 7 -n 4 -- bash -c '[ $INC_RANK != 2 ] || exit 7
		setsid bash -c "sleep 1000; :" "$0" & sleep 1000; :' "$INC_TMP" &&
		is err "inc: run: rank 2 ended with status 7" && all_gone
}

killed_rank() {
	# shellcheck disable=SC2016
	run 137 -n 3 -- bash -c '[ $INC_RANK != 1 ] || kill -9 $$; sleep 1000' "$INC_TMP" &&
		is err "inc: run: rank 1 was killed by signal 9 (Killed)" && all_gone
}

# The others end by themselves, after it.
goes_on() {
	# shellcheck disable=SC2016
	run 3 -k -n 3 -- bash -c 'case $INC_RANK in 1) exit 3;; 2) until [ -e "$0" ]; do sleep 0.1; done;;
		esac; kill -0 1; [ $INC_RANK = 2 ] || { sleep 1; touch "$0"; }; echo $INC_RANK' "$INC_TMP/go" &&
		is out "0
2" && is err "inc: run: rank 1 ended with status 3" && all_gone
}

not_there() {
	run 127 -- no-such-program && is err "inc: run: no-such-program: No such file or directory" &&
		run 126 -- /etc && is err "inc: run: /etc: Permission denied" && all_gone
}

# What is killed cannot tidy up.
killed() {
	start_run "$@" -n 3 -- bash -c "$for_ever" "$INC_TMP"
	soon files 3 'up*' && soon module_used && kill -KILL "$run_pid" &&
		ends 137 && all_gone
}

# The same, where it is the switch that is killed.
killed_switch() {
	start_run -n 3 -- bash -c "$for_ever" "$INC_TMP"
	soon files 3 'up*' && pkill -KILL -x -P "$run_pid" inc-switch && ends 2 &&
		is err "inc: run: inc-switch was killed by signal 9 (Killed)" && all_gone
}

# gets SIGNAL STATUS: each rank once, and all ends
gets() {
	# shellcheck disable=SC2016
	start_run -n 2 -- bash -c 'trap "echo \$INC_RANK >>$0/got; exit" '"$1"'; touch "$0/up$INC_RANK"
		while :; do sleep 0.1; done' "$INC_TMP"
	soon files 2 'up*' && kill -"$1" "$run_pid" && ends "$2" && is got "0
1" && all_gone
}

# A rank that does not listen is killed after the grace.
ignores() {
	# shellcheck disable=SC2016
	start_run -n 2 -- bash -c 'trap "" TERM; touch "$0/up$INC_RANK"; while :; do sleep 0.1; done' \
		"$INC_TMP"
	soon files 2 'up*' && kill -TERM "$run_pid" && ends 143 && all_gone
}

pipe_full() {
	dd if=/dev/zero of="$INC_TMP/unread" oflag=nonblock bs=4096 count=1 2>"$INC_TMP/err"
	[ $? = 1 ] && has err 'Resource temporarily unavailable'
}

# unread SIGNAL STATUS: it ends although nobody reads what the ranks print
unread() {
	local pipe

	rm -f "$INC_TMP/unread"
	mkfifo "$INC_TMP/unread" && exec {pipe}<>"$INC_TMP/unread" || return
	# shellcheck disable=SC2016
	inc run -l -n 2 -- bash -c 'touch "$0/up$INC_RANK"; exec yes' "$INC_TMP" \
		>"$INC_TMP/unread" 2>"$INC_TMP/out" &
	run_pid=$!
	RANK_PIDS+=("$run_pid")
	soon files 2 'up*' && soon pipe_full && kill -"$1" "$run_pid" && ends "$2" && all_gone ||
		return
	exec {pipe}<&-
}

# SIGUSR1 is passed on, and ends nothing.
passed_on() {
	# shellcheck disable=SC2016
	start_run -n 2 -- bash -c 'trap "touch $0/got$INC_RANK" USR1; touch "$0/up$INC_RANK"
		until [ -e "$0/end" ]; do sleep 0.1; done' "$INC_TMP"
	soon files 2 'up*' && kill -USR1 "$run_pid" && soon files 2 'got*' &&
		touch "$INC_TMP/end" && ends 0 && all_gone
}

# Ctrl-C of a terminal: each rank gets one SIGINT, and no other one of inc, which is stopped until
# they have seen theirs. They say how many there were when SIGUSR1 comes, which inc passes on later.
interrupted() {
	timeout -k 5 60 python3 -B -s -S - "$INC_TMP" <<-'END' || return
		import os, pty, signal, sys
		rank = (r'n=0; trap "n=\$((n + 1)); echo seen" INT; trap "echo got \$n >>\$0/ints; exit" USR1; '
		        'echo up; while :; do sleep 0.1; done')
		pid, master = pty.fork()
		if not pid:
		    os.execvp("inc", ["inc", "run", "-n", "2", "--", "bash", "-c", rank, sys.argv[1]])
		text = b""
		def twice(word):
		    global text
		    while text.count(word) < 2:
		        text += os.read(master, 1000)
		twice(b"up")
		os.kill(pid, signal.SIGSTOP)
		os.write(master, b"\x03")
		twice(b"seen")
		os.kill(pid, signal.SIGUSR1)
		os.kill(pid, signal.SIGCONT)
		status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
		if status != 130:
		    sys.exit(f"exit status {status}, expected 130: {text}")
	END
	is ints "got 1
got 1" && all_gone
}

nohup_lasts() {
	# shellcheck disable=SC2016
	nohup inc run -- bash -c 'touch "$0/up$INC_RANK"; until [ -e "$0/end" ]; do sleep 0.1; done' \
		"$INC_TMP" >"$INC_TMP/out" 2>"$INC_TMP/err" &
	run_pid=$!
	RANK_PIDS+=("$run_pid")
	soon files 2 'up*' && kill -HUP "$run_pid" && touch "$INC_TMP/end" && ends 0 && all_gone
}

# ---- Without privilege ---------------------------------------------------------------------------

of_a_user() {
	local status=0

	# shellcheck disable=SC2016
	timeout -k 5 "$INC_TIMEOUT" "${unprivileged[@]}" inc run -n 3 -- bash -c '
		inc-allreduce --count 1000 &&
		echo $(id -u) $(id -g) $(grep CapEff /proc/self/status)' \
		>"$INC_TMP/out" 2>"$INC_TMP/err" || status=$?
	expect "exit status" "$status" = 0 || { cat "$INC_TMP/err"; return 1; }
	expect "ranks that are right" "$(grep -c 'every element right' "$INC_TMP/out")" = 3 || return
	expect "ranks without privilege" \
		"$(grep -c '^65533 65533 CapEff: 0000000000000000$' "$INC_TMP/out")" = 3 && all_gone
}

# ---- MPI -----------------------------------------------------------------------------------------

start_openmpi() {
	"${as[@]}" inc run -n 3 -- mpirun.openmpi -x LD_PRELOAD="$mpi_libs/openmpi/libinc-mpi.so" \
		-x INC_MPI=verbose -x INC_MPI_TIMEOUT=120000 "$@"
}

# It fails if the ranks end before its input does.
start_mpich() {
	"${as[@]}" inc run -n 3 -- mpiexec.mpich -genv LD_PRELOAD "$mpi_libs/mpich/libinc-mpi.so" \
		-genv INC_MPI verbose -genv INC_MPI_TIMEOUT 120000 "$@" 0<>"$INC_TMP/endless"
}

# mpi_job MPI [COMMAND...]: by this command
mpi_job() {
	local mpi=$1 status=0

	shift
	as=("$@")
	"start_$mpi" "$mpi_programs/$mpi/mpi-coll" --seed "$SEED" --ops 30 \
		>"$INC_TMP/out" 2>&1 </dev/null || status=$?
	# a fault of MPICH, which mpi-coll has noticed
	! grep -q 'mpi-coll: MPI_Finalize() does not return' "$INC_TMP/out" || status=0
	expect "exit status" "$status" = 0 || { cat "$INC_TMP/out"; return 1; }
	has out 'communicator of 3 ranks: group' && has out 'mpi-coll: by INC [1-9]' && all_gone
}

# Within a job of Slurm, by a program that closes what it inherits, as Python's subprocess does.
called_by_others() {
	local status=0

	timeout -k 5 "$INC_TIMEOUT" env HOME="$INC_TMP" SLURM_JOBID=1 SLURM_NODELIST=no-such-host \
		SLURM_NNODES=1 SLURM_TASKS_PER_NODE=1 SLURM_JOB_CPUS_PER_NODE=1 \
		"${unprivileged[@]}" inc run --mpi -n 3 -- python3 -B -s -S -c 'import subprocess
subprocess.run(["mpirun.openmpi", "--map-by", "node", "-n", "3", "hostname"], check=True)' \
		>"$INC_TMP/out" 2>"$INC_TMP/err" </dev/null || status=$?
	expect "exit status" "$status" = 0 || { cat "$INC_TMP/err"; return 1; }
	is out "10.77.0.1
10.77.0.2
10.77.0.3" && all_gone
}

mpi_tests() {
	local mpi

	mkfifo "$INC_TMP/endless"
	for mpi in openmpi mpich; do
		if [ ! -x "$mpi_programs/$mpi/mpi-coll" ]; then
			skip "$mpi" "it is not installed"
			continue
		fi
		check "$mpi: its launcher reaches the hosts, and INC does its collectives" \
			mpi_job "$mpi"
	done
	[ -x "$mpi_programs/openmpi/mpi-coll" ] || return 0
	check "openmpi: the same without privilege" mpi_job openmpi env HOME="$INC_TMP" \
		"${unprivileged[@]}"
	check "openmpi: called by Python, in a job of Slurm" called_by_others
}

inc_begin
chmod 777 "$INC_TMP"
links_before=$(ip -br link) namespaces_before=$(namespaces) netns_before=$(ip netns list)
check "an allreduce on 4 hosts" allreduce 4
check "on 16" allreduce 16
check "on 1" allreduce 1
check "by IPv6" allreduce 3 -6
check "all collectives, on long packets" run 0 -n 3 --mtu 9000 -- inc-coll --ops 50
check "rank, size, job and master are in the environment" environment
check "devices, mounts and processes of the host are seen" own_devices
check "who looks for torchrun's variables finds them" ranks_of_torchrun
check "stdin is that of rank 0" input
check "--label: the rank stands before each line, also an incomplete or a very long one" labels
check "--label: who reads late misses nothing" late_reader
check "--label: what cannot be written is an error" full_device
check "-s: what the node has counted" counters
check "--show: the commands do the same by hand" by_hand
check "a rank that fails ends the others" failed_rank
check "so does one that is killed" killed_rank
check "--keep-going: the others go on" goes_on
check "a program that is not there, or cannot be run" not_there
check "SIGKILL leaves no processes, network namespaces or devices" killed
check "nor does it with --label" killed -l
check "nor where the switch is killed" killed_switch
check "SIGTERM ends the ranks" gets TERM 143
check "so does SIGINT" gets INT 130
check "a rank that ignores it is killed" ignores
check "SIGTERM ends it, although nobody reads what --label prints" unread TERM 143
check "so does SIGKILL" unread KILL 137
check "SIGUSR1 is passed on" passed_on
check "Ctrl-C comes to each rank once" interrupted
check "nohup: SIGHUP does not end it" nohup_lasts
check "without privilege" of_a_user
mpi_tests
inc_end
