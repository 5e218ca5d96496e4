#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs of others, as Debian has them, a rank on each host: what they print is the same with
# libinc-mpi and without, but for times, and INC has done collectives of theirs. In a guest only if
# PROGRAMS=1 is set, as `make check-programs` does, which installs them.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/mpi_jobs.sh"

HOSTS=4
INC_TIMEOUT=600
libs=$INC_TOP/build/userspace/lib/mpi
tests=$(dirname "$0")
tests=$(cd "$tests" && pwd)

[ -z "${INC_VM-}" ] || [ "${PROGRAMS-}" = 1 ] ||
	skip_all "in a guest only with PROGRAMS=1: make check-programs"

# scalapack MPI: where it has the programs that test ScaLAPACK with this MPI
scalapack() {
	echo /usr/lib/*/scalapack/"$1"-tests
}

# What a program has printed, each character of it.
own_lines() {
	grep -v -e '^libinc-mpi: ' -e '^$' "$1"
}

# Of ScaLAPACK, whose figures with a point are times and rates; the launcher speaks of IEEE_.
without_times() {
	own_lines "$1" | sed -E 's/[0-9]+\.[0-9]+([ED][-+][0-9]+)?/T/g; s/ +/ /g' |
		grep -v -e IEEE_ -e '^ *T'
}

# same_output FILTER MPI COMMAND...: with libinc-mpi and without; what INC did is in $INC_TMP/with
same_output() {
	local filter=$1 mpi=$2

	shift 2
	JOB=()
	"start_$mpi" "$@" </dev/null >"$INC_TMP/without" 2>&1 ||
		{ cat "$INC_TMP/without"; return 1; }
	JOB=([LD_PRELOAD]=$libs/$mpi/libinc-mpi.so [INC_MPI]=verbose [INC_MPI_TIMEOUT]=120000)
	"start_$mpi" "$@" </dev/null >"$INC_TMP/with" 2>&1 || { cat "$INC_TMP/with"; return 1; }
	grep '^libinc-mpi: [bo]' "$INC_TMP/with"
	diff <("$filter" "$INC_TMP/without") <("$filter" "$INC_TMP/with") &&
		grep -q '^libinc-mpi: operations failed 0$' "$INC_TMP/with"
}

by_inc() {
	grep -qE "^libinc-mpi: by INC: $1: [1-9]" "$INC_TMP/with" ||
		{ echo "INC has done no $1"; return 1; }
}

# Matrices of 13 and 23 rows on all grids of the four processes. It reads its input where it runs.
factorizes() {
	sed -E 's/^4(.*problems sizes)/2\1/; s/^4 10 17 13/13 23/; s/^3(.*number of NB)/1\1/
		s/^3(.*number of NRHS)/1\1/' /usr/share/scalapack/LLT.dat >"$INC_TMP/LLT.dat"
	cd "$INC_TMP" || return
	same_output without_times "$1" "$(scalapack "$1")/xdllt" &&
		grep -qE '^ *[1-9][0-9]* tests completed and passed residual checks' \
			"$INC_TMP/with" &&
		grep -qE '^ *0 tests completed and failed residual checks' "$INC_TMP/with" &&
		by_inc '(bcast|allreduce|reduce)'
}

mpi4py() {
	same_output own_lines openmpi /usr/bin/python3 "$tests/mpi_arrays.py" && by_inc allreduce &&
		by_inc allgatherv && by_inc iallreduce
}

# HPC Challenge: HPL, PTRANS, RandomAccess, FFT and more, each of which looks at its own results. Both
# runs append to one file, in which all that is no time or rate stands twice.
challenge() {
	local file=$INC_TMP/hpccoutf.txt results='^(Success|CommWorldProcs|[A-Za-z_]*Errors|PTRANS_residual)='

	sed -E 's/^1000( +Ns)/120\1/' /usr/share/doc/hpcc/examples/_hpccinf.txt \
		>"$INC_TMP/hpccinf.txt" && cd "$INC_TMP" && same_output own_lines openmpi hpcc || return
	expect "runs that say they succeeded" "$(grep -c '^Success=1$' "$file")" -eq 2 &&
		expect "solutions of HPL that pass" "$(grep -c '\.\.\. PASSED$' "$file")" -eq 2 &&
		expect "errors" "$(grep -cE '^[A-Za-z_]*Errors=[1-9]' "$file")" -eq 0 &&
		expect "results that differ" \
			"$(grep -E "$results" "$file" | sort | uniq -c | awk '$1 != 2' | wc -l)" -eq 0 &&
		by_inc '(allreduce|reduce)' && by_inc bcast
}

inc_begin
inc_topology_create "$HOSTS"
write_launcher
for mpi in openmpi mpich; do
	if [ -x "$(scalapack "$mpi")/xdllt" ] && [ -d "$libs/$mpi" ]; then
		check "ScaLAPACK with $mpi: Cholesky factorizations" factorizes "$mpi"
	else
		skip "ScaLAPACK with $mpi: Cholesky factorizations" "scalapack-mpi-test is missing"
	fi
done
if /usr/bin/python3 -c 'import mpi4py' 2>/dev/null && [ -d "$libs/openmpi" ]; then
	check "mpi4py: collectives of arrays and objects" mpi4py
else
	skip "mpi4py: collectives of arrays and objects" "python3-mpi4py is missing"
fi
if [ -n "$(command -v hpcc)" ] && [ -d "$libs/openmpi" ]; then
	check "HPC Challenge: it finds its own results right" challenge
else
	skip "HPC Challenge: it finds its own results right" "hpcc is missing"
fi
check "groups are gone" wait_for 60 no_groups
inc_end
