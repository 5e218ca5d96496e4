# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# inc_launcher() under real launchers, those that are installed: inc-rank prints what it has found.
# To be sourced by run, whose result and wanted it uses, and its $tmp and $top.

# shellcheck disable=SC2154,SC2016

rank=$top/build/userspace/bin/inc-rank

# ranks_are NAME LAUNCHER SIZE LOCAL JOB COMMAND...: prints the lines of SIZE ranks, LOCAL being
# what is said of this host, with "R" for the rank; JOB is a number, or "derived". The job is kept
# in $job_number.
ranks_are()
{
	local name=$1 launcher=$2 size=$3 local=$4 job=$5 want='' r got
	shift 5
	job_number=
	if [ "$("$@" 2>"$tmp/launch.err" >"$tmp/launch.out"; echo $?)" = 0 ]; then
		job_number=$(sed -n 's/.* job \([0-9]*\).*/\1/p;q' "$tmp/launch.out")
	fi
	[ "$job" != derived ] || job="$job_number derived"
	for ((r = 0; r < size; r++)); do
		want+="launcher $launcher rank $r size $size${local:+ ${local//R/$r}} group 0 job $job"$'\n'
	done
	got=$(sort "$tmp/launch.out")
	if [ -n "$job_number" ] && [ "$got" = "${want%$'\n'}" ]; then
		result 0 "$name"
	else
		result 1 "$name"
		sed 's/^/# /' "$tmp/launch.out" "$tmp/launch.err"
		printf '# wanted:\n%s' "$want" | sed 's/^[^#]/# &/'
	fi
}

# refuses NAME TEXT COMMAND...: fails, and this is what inc-rank says
refuses()
{
	local name=$1 text=$2
	shift 2
	if ! "$@" >"$tmp/launch.out" 2>"$tmp/launch.err" &&
		grep -qF "inc-rank: $text" "$tmp/launch.err"; then
		result 0 "$name"
	else
		result 1 "$name"
		sed 's/^/# /' "$tmp/launch.out" "$tmp/launch.err"
	fi
}

# two_jobs NAME FIRST SECOND: both are derived, and not the same
two_jobs()
{
	[ "${2:-0}" != 0 ] && [ "${3:-0}" != 0 ] && [ "$2" != "$3" ]
	result $? "$1"
}

openmpi()
{
	local run first
	# shellcheck disable=SC2054 # one word
	run=(timeout 60 mpirun.openmpi --allow-run-as-root --oversubscribe -np 3)

	wanted "launcher Open MPI" || return
	if ! command -v mpirun.openmpi >/dev/null; then
		skip "launcher Open MPI" "openmpi-bin is not installed"
		return
	fi
	ranks_are "launcher Open MPI: 3 ranks" "Open MPI" 3 "local-rank R local-size 3" derived \
		"${run[@]}" "$rank"
	first=$job_number
	ranks_are "launcher Open MPI: a second job" "Open MPI" 3 "local-rank R local-size 3" \
		derived "${run[@]}" "$rank"
	two_jobs "launcher Open MPI: two jobs" "$first" "$job_number"
	ranks_are "launcher Open MPI: INC_JOB" "Open MPI" 3 "local-rank R local-size 3" 77 \
		"${run[@]}" -x INC_JOB=77 "$rank"
}

# Its launcher has nothing in the environment that tells jobs apart.
mpich()
{
	wanted "launcher MPICH" || return
	if ! command -v mpirun.mpich >/dev/null; then
		skip "launcher MPICH" "mpich is not installed"
		return
	fi
	# It forwards the end of its input, and fails if the ranks have ended before that: MPICH 4.0.2,
	# one time in thirty on a quiet machine. This input has no end.
	mkfifo "$tmp/input"
	ranks_are "launcher MPICH: INC_JOB" PMI 3 "local-rank R local-size 3" 78 \
		timeout 60 mpirun.mpich -genv INC_JOB 78 -np 3 "$rank" 0<>"$tmp/input"
	refuses "launcher MPICH: without INC_JOB" "PMI_RANK is set, PMI_JOBID is not" \
		timeout 60 mpirun.mpich -np 2 "$rank" 0<>"$tmp/input"
}

# What torchrun does, without its command line, which Debian 12's cannot read with Python 3.11.
torch_agent='
import sys
from torch.distributed.elastic.multiprocessing import Std
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
config = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2, run_id=sys.argv[1], rdzv_backend="c10d",
                      rdzv_endpoint="localhost:0", max_restarts=0, redirects=Std.NONE, tee=Std.NONE,
                      rdzv_configs={"last_call_timeout": 1})
elastic_launch(config, sys.argv[2])()
'

# as_one NAME FUNCTION: what FUNCTION says are one result, because not everybody has the launcher
as_one()
{
	local name=$1 before=$failed first=$num

	"$2" >"$tmp/one.results"
	grep -v '^ok ' "$tmp/one.results" | sed 's/^not ok [0-9]* -/# failed:/'
	set -- $((num > first && failed == before ? 0 : 1))
	num=$first failed=$before
	result "$1" "$name"
}

torch()
{
	wanted "launcher torchrun" || return
	if command -v torchrun >/dev/null; then
		as_one "launcher torchrun" torch_jobs
	else
		skip "launcher torchrun" "python3-torch is not installed"
	fi
}

torch_jobs()
{
	local run=(timeout 120 /usr/bin/python3 -c "$torch_agent") first

	ranks_are "2 ranks" torchrun 2 "local-rank R local-size 2" derived "${run[@]}" one "$rank"
	first=$job_number
	ranks_are "a second job" torchrun 2 "local-rank R local-size 2" derived "${run[@]}" two \
		"$rank"
	two_jobs "two jobs" "$first" "$job_number"
}

slurm_conf()
{
	local host
	host=$(uname -n)
	host=${host%%.*}
	cat <<-END
		ClusterName=inctest
		SlurmctldHost=$host(127.0.0.1)
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/none
		CredType=cred/none
		MpiDefault=none
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SwitchType=switch/none
		SelectType=select/linear
		ReturnToService=2
		StateSaveLocation=$tmp/slurm
		SlurmdSpoolDir=$tmp/slurm/spool
		SlurmctldPidFile=$tmp/slurm/slurmctld.pid
		SlurmdPidFile=$tmp/slurm/slurmd.pid
		SlurmctldLogFile=$tmp/slurm/slurmctld.log
		SlurmdLogFile=$tmp/slurm/slurmd.log
		NodeName=$host NodeAddr=127.0.0.1 State=UNKNOWN
		PartitionName=test Nodes=ALL Default=YES OverSubscribe=FORCE State=UP
	END
}

# What runs in a network namespace of its own, as "bash launchers.sh slurm": prints the results of
# jobs as files.
slurm_jobs()
{
	local here=$SLURM_CONF.jobs deadline=$((SECONDS + 30)) daemons=()
	# getaddrinfo() wants an address that is not 127.0.0.1
	ip link set lo up && ip addr add 10.9.9.9/32 dev lo || return
	slurmctld -D -c >/dev/null 2>&1 &
	daemons+=($!)
	slurmd -D >/dev/null 2>&1 &
	daemons+=($!)
	until [ "$(sinfo -h -o %t 2>/dev/null)" = idle ] ||
		[ $SECONDS -ge $deadline ]; do sleep 0.1; done
	timeout 30 srun -n 2 -O "$rank" >"$here.first" 2>&1
	timeout 30 srun -n 2 -O "$rank" >"$here.second" 2>&1
	timeout 30 srun -n 2 -O --mpi=pmi2 "$rank" >"$here.pmi2" 2>&1
	timeout 30 srun -n 2 -O --mpi=pmix "$rank" >"$here.pmix" 2>&1
	printf '#!/bin/sh\n"%s"\nsrun -n 2 "%s" >"%s"\nsrun -n 1 "%s" >"%s"\n' "$rank" "$rank" \
		"$here.step" "$rank" \
		"$here.one" >"$here.script"
	timeout 30 sbatch -W -n 2 -O -o "$here.batch" "$here.script" >/dev/null 2>&1
	kill "${daemons[@]}"
	wait
}

slurm_results()
{
	local here=$tmp/slurm.conf.jobs first unshare=(unshare -n)

	[ "$(id -u)" = 0 ] || unshare=(unshare -rn)
	mkdir "$tmp/slurm"
	slurm_conf >"$tmp/slurm.conf"
	SLURM_CONF=$tmp/slurm.conf timeout 200 "${unshare[@]}" bash -c \
		'top=$1; . "$2"; slurm_jobs' slurm "$top" "$top/selftests/tool/launchers.sh" \
		>"$tmp/slurm.out" 2>&1
	ranks_are "srun" Slurm 2 "local-rank R" derived cat "$here.first"
	first=$job_number
	ranks_are "a second job" Slurm 2 "local-rank R" derived cat "$here.second"
	two_jobs "two jobs" "$first" "$job_number"
	ranks_are "srun --mpi=pmi2" PMI 2 "" derived cat "$here.pmi2"
	ranks_are "srun --mpi=pmix" Slurm 2 "local-rank R" derived cat "$here.pmix"
	ranks_are "a step of a batch job" Slurm 2 "local-rank R" derived cat "$here.step"
	first=$job_number
	ranks_are "a smaller step" Slurm 1 "local-rank R" derived cat "$here.one"
	two_jobs "two steps" "$first" "$job_number"
	refuses "a batch script, not a step" "SLURM_PROCID is set, SLURM_STEP_ID is not" \
		sh -c 'cat "$1" >&2; exit 1' sh "$here.batch"
}

slurm()
{
	wanted "launcher Slurm" || return
	if command -v srun slurmctld slurmd >/dev/null; then
		as_one "launcher Slurm" slurm_results
	else
		skip "launcher Slurm" "slurm-wlm is not installed"
	fi
}

launchers()
{
	openmpi
	mpich
	torch
	slurm
}
