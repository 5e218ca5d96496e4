#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs of MPI with libinc-mpi preloaded, a rank on each host, for each MPI that is installed:
# all collectives against the MPI's own, who has done them, and what happens where there can be no
# group, or a rank is lost from one.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/mpi_jobs.sh"

HOSTS=4
# An MPI that waits takes the processor from whoever it waits for.
INC_TIMEOUT=240
programs=$INC_TOP/build/selftests/mpi
libs=$INC_TOP/build/userspace/lib/mpi

# Named, so that non-blocking ones whose shares no rank knows are INC's, too.
NAMES=barrier,bcast,reduce,allreduce,reduce_scatter,reduce_scatter_block,scan,exscan,gather,gatherv
NAMES+=,scatter,scatterv,allgather,allgatherv,alltoall,alltoallv,alltoallw

# Open MPI finds INC as a component of its own.
start_component() {
	local path=SYSTEM_DEFAULT:$libs/openmpi

	OMPI_MCA_mca_base_component_path=$path start_openmpi "$@"
}

# job MPI [NAME=VALUE...] -- ARGUMENTS...: mpi-coll at all hosts, with libinc-mpi, or with the
# component; what it says is in $INC_TMP/job
job() {
	job_of "$programs/${1/component/openmpi}/mpi-coll" "$@"
}

# The same with another program.
job_of() {
	local program=$1 mpi=$2 status=0

	shift 2
	# none of many communicators forms its group too late on a machine that is busy
	JOB=([INC_MPI_TIMEOUT]=120000)
	[ "$mpi" = component ] || JOB[LD_PRELOAD]=$libs/$mpi/libinc-mpi.so
	while [ "$1" != -- ]; do
		JOB[${1%%=*}]=${1#*=}
		shift
	done
	shift
	"start_$mpi" "$program" "$@" </dev/null >"$INC_TMP/job" 2>&1 || status=$?
	cat "$INC_TMP/job"
	# a fault of MPICH, which mpi-coll has noticed: all that it was to do has been done, and
	# says() looks at it
	! says 'mpi-coll: MPI_Finalize\(\) does not return' >/dev/null || status=0
	# another: its mpiexec, not a rank, of which it would tell, ends by SIGPIPE behind the job's end
	[ "$mpi:$status" != mpich:141 ] || ! says '^mpi-coll: by INC ' >/dev/null || status=0
	expect "exit status" "$status" = 0 || { why_stuck; return 1; }
}

says() {
	grep -qE -- "$1" "$INC_TMP/job" || { echo "expected: $1"; return 1; }
}

# The node has seen operations of this job.
all_by_inc() {
	local before after

	before=$(counter sw blocks)
	job "$1" INC_MPI=verbose INC_MPI_COLLS="$NAMES" -- --expect inc --seed "$2" --ops "$3" &&
		says 'mpi-coll: by INC [1-9]' && says 'libinc-mpi: by INC: ibcast' &&
		says 'libinc-mpi: by INC: barrier_init: [1-9]' || return
	after=$(counter sw blocks)
	expect "blocks that the node has completed" "$after" -gt "$before" && wait_for 60 no_groups
}

# Only one host knows a node: nobody has a group.
without_parent() {
	local h ret=0

	for h in 2 3 4; do
		inc -n "h$h" parent del || return
	done
	job "$1" INC_MPI=verbose -- --expect mpi --seed "$2" --ops 20 random semantics comms &&
		says 'no parent is named' && says 'by MPI: no_group' &&
		job "$1" -- --expect mpi --seed "$2" comms &&
		expect "how often it says so" "$(grep -c '^libinc-mpi: ' "$INC_TMP/job")" = 1 &&
		says '^libinc-mpi: no group for a communicator of 4 ranks, .* could not join one$' &&
		job "$1" INC_MPI=quiet -- --expect mpi --seed "$2" comms &&
		! grep '^libinc-mpi: ' "$INC_TMP/job" || ret=1
	for h in 2 3 4; do
		inc -n "h$h" parent set "$INC_NODE4" || return
	done
	return "$ret"
}

# What the node does not reduce the MPI does at all ranks; the rest is INC's, with the same group.
lacking() {
	local ret=0

	inc -n sw node set dev br0 types f32,f64,i64 operations sum,max || return
	job "$1" INC_MPI=verbose -- --seed "$2" --ops 60 random &&
		says '^libinc-mpi: by MPI: lacks \(.*\): [1-9]' && says 'mpi-coll: by INC [1-9]' || ret=1
	inc -n sw node set dev br0 types all operations all && wait_for 60 no_groups && return "$ret"
}

# No rank knows that another one has too much.
large_shares() {
	job "$1" INC_MPI_MAX=1000 -- --expect inc shares && says '^shares: passed'
}

# A file on a disk: its file system wants to know of every write.
make_disk() {
	modprobe -qa loop ext4
	truncate -s 16M "$INC_TMP/disk" && mkfs.ext4 -q "$INC_TMP/disk" &&
		mkdir "$INC_TMP/mnt" && mount -o loop "$INC_TMP/disk" "$INC_TMP/mnt" &&
		truncate -s 64K "$INC_TMP/mnt/file"
}

mapped_file() {
	job "$1" INC_MPI=verbose MPI_COLL_FILE="$INC_TMP/mnt/file" -- --expect inc mapped &&
		says '^mapped: passed' && says 'copied: memory .*: 3 calls'
}

# Where a thread of MPICH waits, no other one gets its lock on one processor of newer kernels, INC or
# not (seen with Linux 7.2 and MPICH 4.0): there, no thread waits for the MPI.
threads() {
	local test=threads

	[ "$1" != mpich ] || test=formed
	job "$1" -- --expect inc --threads "$test" && says "^$test: passed"
}

# Threads that wait for their requests; with MPICH, which has a lock in this mode, what a program
# without threads does, too.
requests_of_threads() {
	job "$1" -- --expect inc --threads waits && says '^waits: passed' || return
	[ "$1" = mpich ] || return 0
	job "$1" INC_MPI_COLLS="$NAMES" -- --expect inc --threads --seed "$2" --ops 20 \
		random requests progress attributes persistent end &&
		says 'mpi-coll: by INC [1-9]' && wait_for 60 no_groups
}

# Of rank 0, and of the others, which say the reverse and do not matter but to groups of their own.
write_tables() {
	cat >"$INC_TMP/tune.0" <<-'EOF'
		# floats of 4 to 64 KiB are for INC
		allreduce any any 0-4095 mpi 5000 1000
		allreduce float any 4096-65536 inc 10000 30000
		allreduce float 4 262144- mpi
		allreduce integer 2-4 4096 mpi
		barrier any any any mpi
		bcast any 2 any mpi
		bcast any 3 any mpi
	EOF
	printf '%s\n' 'allreduce any any 0-4095 inc' 'allreduce any any any mpi' >"$INC_TMP/tune.1"
	echo 'bcast any any any mpi' >"$INC_TMP/tune.2"
	echo 'allreduce any any' >"$INC_TMP/tune.3"
}

# Ten small and one non-blocking sum of four ranks, the one that makes the group, and one of a half.
by_table() {
	job "$1" INC_MPI=verbose MPI_COLL_TUNE="$INC_TMP/tune" -- --expect inc tune &&
		says '^tune: passed' &&
		says '^libinc-mpi: communicator of 4 ranks: group .*, 5 lines of the tuning table$' &&
		says '^libinc-mpi: by MPI: below_table \(.*\): 50 calls$' &&
		says '^libinc-mpi: by MPI: above_table \(.*\): 4 calls$' &&
		says '^libinc-mpi: by MPI: table ' &&
		says '^libinc-mpi: saved against the tuning table: 0.000880 s, by 44 blocking calls$'
}

broken_table() {
	local text="libinc-mpi: $INC_TMP/tune.3:1: expected .*; there is no tuning table"

	job "$1" INC_MPI_TUNE="$INC_TMP/tune.3" -- --expect inc untuned &&
		says '^untuned: passed' &&
		expect "how often it says so" "$(grep -c "^$text\$" "$INC_TMP/job")" = 1
}

# inc-mpi-tune has written it by the time when MPICH may not come back from MPI_Finalize(), as above.
measure_table() {
	local mpi=${1/component/openmpi}

	rm -f "$INC_TMP/new"
	INC_TIMEOUT=100 job_of "$libs/$mpi/inc-mpi-tune" "$1" -- -o "$INC_TMP/new" -s 8-2048 -n 2 \
		-t any,pair -c barrier,bcast,allreduce,reduce_scatter ||
		{ [ "$mpi" = mpich ] && [ -e "$INC_TMP/new" ]; }
}

# It can be read, and a program uses it.
measured_table() {
	measure_table "$1" && inc tune show "$INC_TMP/new" || return
	expect "lines" "$(grep -vc '^#' "$INC_TMP/new")" = $((1 + 4 * 5 + 4)) &&
		expect "lines for any size" "$(grep -c ' [0-9]*- *[im][np][ci] ' "$INC_TMP/new")" = 5 &&
		job "$1" INC_MPI=verbose INC_MPI_TUNE="$INC_TMP/new" -- bottom &&
		says ', 25 lines of the tuning table$'
}

# A program without any blocking collective.
nonblocking_only() {
	job "$1" INC_MPI=verbose -- --expect inc unasked && says '^unasked: passed' &&
		says '^libinc-mpi: by INC: iallreduce: 12 calls' &&
		says '^libinc-mpi: by MPI: not_yet \(.*\): 4 calls$' || return
	job "$1" INC_MPI=verbose INC_MPI_EARLY=1 -- --expect inc early && says '^early: passed' &&
		! says '^libinc-mpi: by MPI: not_yet ' && wait_for 60 no_groups
}

kept_groups() {
	job "$1" INC_MPI=verbose -- --expect inc again && says '^again: passed' &&
		says '^libinc-mpi: groups joined 20, communicators refused 0$' &&
		says '^libinc-mpi: groups used again 152$' && wait_for 60 no_groups
}

# To be run by a rank: takes the node away until all have heard of it, and adds another one if there
# is an argument.
write_gone() {
	cat >"$INC_TMP/gone" <<-EOF
		#!/bin/sh
		inc -n sw node del dev br0 || exit
		for h in 1 2 3 4; do
			while inc -n h\$h -j member show | grep -q '"state":"ready"'; do
				sleep 0.05
			done
		done
		[ \$# = 0 ] || inc -n sw node add dev br0
	EOF
	chmod +x "$INC_TMP/gone"
}

# The node of a group that is kept is another one, of which its ranks join a new group; or there is
# none any more.
gone_groups() {
	local ret=0

	job "$1" INC_MPI=verbose MPI_COLL_RUN="$INC_TMP/gone add" -- --expect inc gone &&
		says '^gone: passed' &&
		says '^libinc-mpi: groups joined 8, communicators refused 0$' && wait_for 60 no_groups ||
		return
	job "$1" INC_MPI=verbose INC_MPI_TIMEOUT=5000 MPI_COLL_RUN="$INC_TMP/gone" \
		-- --expect inc gone && says '^gone: passed' && says '^libinc-mpi: groups joined 4, ' &&
		says 'by MPI: no_group' || ret=1
	inc -n sw node add dev br0 && return "$ret"
}

# To be run by a rank: the hosts' packets to the node are lost from now on, and nobody has heard of it
# when the next communicator would use the group, which has been kept for more than a second.
write_silent() {
	cat >"$INC_TMP/silent" <<-'EOF'
		#!/bin/sh
		for h in 1 2 3 4; do
			nsenter --net=/run/netns/h$h nft 'add table inet silent;
				add chain inet silent out { type filter hook output priority 0; };
				add rule inet silent out udp dport 5227 drop' || exit
		done
		sleep 1.1
	EOF
	chmod +x "$INC_TMP/silent"
}

# No call fails: the ranks try the group before they use it, find no other one, and leave the calls to
# the MPI.
silent_groups() {
	local h ret=0

	job "$1" INC_MPI=verbose INC_MPI_TIMEOUT=5000 MPI_COLL_RUN="$INC_TMP/silent" \
		-- --expect inc gone && says '^gone: passed' && says '^libinc-mpi: groups joined 4, ' &&
		says '^libinc-mpi: operations failed 0$' && says 'by MPI: no_group' || ret=1
	for h in 1 2 3 4; do
		in_ns "h$h" nft delete table inet silent || ret=1
	done
	[ "$ret" = 0 ] && wait_for 60 no_groups
}

# A rank leaves its group in mid-operation.
lost_rank() {
	job "$1" -- --expect inc lost && says 'lost: ibarrier: .*rank 3' &&
		says 'lost: barrier_init: .*rank 3' &&
		says 'lost: allreduce: .* has failed before: .*rank 3' &&
		says '^lost: passed' && wait_for 60 no_groups
}

inc_begin
inc_topology_create "$HOSTS"
write_launcher
set_up make_disk
set_up write_tables
set_up write_gone
set_up write_silent
for mpi in openmpi mpich; do
	if [ ! -x "$programs/$mpi/mpi-coll" ]; then
		skip "$mpi" "it is not installed"
		continue
	fi
	check "$mpi: every collective is what MPI's own is, and INC does it" all_by_inc "$mpi" \
		"$SEED" \
		$((FULL ? 600 : 40))
	check "$mpi: where hosts know no node, the MPI does all of it" without_parent "$mpi" "$SEED"
	check "$mpi: what the node does not reduce is the MPI's" lacking "$mpi" "$SEED"
	check "$mpi: threads, each with a communicator" threads "$mpi"
	check "$mpi: threads wait for their requests" requests_of_threads "$mpi" "$SEED"
	check "$mpi: shares that are too large at one rank are the MPI's at all" large_shares \
		"$mpi"
	check "$mpi: a table leaves calls to the MPI, as rank 0's says" by_table "$mpi"
	check "$mpi: a table that cannot be read is told once" broken_table "$mpi"
	check "$mpi: a table is measured, and used" measured_table "$mpi"
	check "$mpi: who receives into a file that is mapped gets what all get" mapped_file "$mpi"
	check "$mpi: non-blocking collectives alone are INC's where ranks can agree" \
		nonblocking_only "$mpi"
	check "$mpi: groups are used again by communicators of the same ranks" kept_groups "$mpi"
	check "$mpi: a kept group that has ended is not used" gone_groups "$mpi"
	check "$mpi: a kept group whose node has fallen silent is not used" silent_groups "$mpi"
	check "$mpi: who loses a rank gets an error" lost_rank "$mpi"
done
if [ -e "$libs/openmpi/mca_coll_inc.so" ]; then
	check "component of openmpi: every collective is what MPI's own is, and INC does it" \
		all_by_inc component "$SEED" $((FULL ? 600 : 40))
	check "component of openmpi: where hosts know no node, other components do all of it" \
		without_parent component "$SEED"
	check "component of openmpi: a table leaves calls to other components, as rank 0's says" \
		by_table component
	check "component of openmpi: a table that cannot be read is told once" broken_table component
	check "component of openmpi: a table is measured, and used" measured_table component
	check "component of openmpi: threads, each with a communicator" threads component
	check "component of openmpi: threads wait for their requests" requests_of_threads component \
		"$SEED"
	check "component of openmpi: groups are used again by communicators of the same ranks" \
		kept_groups component
	check "component of openmpi: who loses a rank gets an error" lost_rank component
else
	skip "component of openmpi" "the headers of its components are not installed"
fi
umount "$INC_TMP/mnt"
inc_end
