#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# In a guest of selftests/arch/run: programs of another processor, or of 32 bits, form groups and
# reduce, and what they get is compared element by element. ARCH: whose programs these are.

# shellcheck disable=SC1091
. "$(dirname "$0")/../vm/lib.sh"

# The machine in the header of an ELF file: 3 is i386, 183 arm64.
machine_of() {
	od -An -tu2 -j18 -N2 "$(command -v "$1")" | tr -d ' '
}

# It is really what was to be tested.
as_said() {
	case $ARCH in
	i386) expect "the programs' machine" "$(machine_of inc-coll)" = 3 ;;
	arm64)
		expect "the programs' machine" "$(machine_of inc-coll)" = 183 &&
			expect "the kernel's machine" "$(uname -m)" = aarch64 &&
			expect "the kernels in use" "$(variants)" = "neon "
		;;
	*) return 1 ;;
	esac
}

variants() {
	inc -j caps show | grep -o '"variant":"[a-z0-9]*"' | cut -d'"' -f4 | sort -u | tr '\n' ' '
}

# The same bits when nobody gets an FPU section.
without_fpu() {
	local status=0
	echo 1 >/sys/module/inc/parameters/fpu_deny_nth
	run_ranks 3 inc-coll --quiet --seed "$RANDOM" --ops 30 || status=$?
	echo 0 >/sys/module/inc/parameters/fpu_deny_nth
	return "$status"
}

# A program that rounds upward and flushes subnormals is what softirqs interrupt.
beside_rounding() {
	local pid status=0
	rounding &
	pid=$!
	run_ranks 3 inc-allreduce --special --count 353,5000,65539 --iters 3 --seed "$RANDOM" ||
		status=$?
	kill "$pid" || status=$?
	wait "$pid"
	expect "how it ended" "$?" = 143 && return "$status"
}

inc_begin
check "programs and kernels are of the machine" as_said
inc_topology_create 3
check "f32 with NaN, infinities, subnormals, zeros" run_ranks 3 inc-allreduce --special \
	--count 0,1,353,5000,65539 --iters 1 --seed "$RANDOM"
check "i32 in place, off its alignment" run_ranks 3 inc-allreduce --type i32 --inplace --align 3 \
	--count 1,355,5000 --iters 2 --seed "$RANDOM"
[ "$ARCH" != arm64 ] || check "beside a program with FPCR of its own" beside_rounding
for type in i8 u16 i64 f16 bf16 f64 f8e4m3 f8e5m2 c32 f64_i64 mxf8e4m3 mxf4e2m1; do
	check "type $type" run_ranks 3 inc-coll --quiet --seed "$RANDOM" --ops 15 --type "$type"
done
check "any collective" run_ranks 3 inc-coll --quiet --seed "$RANDOM" --ops 60
check "any collective without FPU sections" without_fpu
check "what must fail does, at every rank" run_ranks 3 inc-coll --quiet --errors --seed "$RANDOM"
inc_topology_destroy
inc_end
