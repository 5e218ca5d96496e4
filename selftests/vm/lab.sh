# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For tests that are programs of their own, which print "ok - NAME", "not ok - NAME" or "skip -
# NAME # SKIP WHY" for each of their tests and "end" when they have come to their end. Their exit
# status is 0 whatever has failed: another one says that something went wrong outside the tests.
# Needs lib.sh before it.

LAB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PYTHONPATH=$LAB_DIR SEED
# Compiled once per machine, and not into the source tree.
export PYTHONPYCACHEPREFIX=${TMPDIR:-/tmp}/inc-selftests-pycache

# results_of PROGRAM ARGUMENTS...: every test of its becomes one of ours; one that does not come to
# its end is a failure
results_of() {
	local line ended=0 status=0

	"$@" >"$INC_TMP/results" 2>&1 || status=$?
	while IFS= read -r line; do
		case $line in
		"ok - "*) ktap_ok "${line#ok - }" ;;
		"skip - "*" # SKIP "*)
			line=${line#skip - }
			skip "${line%% # SKIP *}" "${line##* # SKIP }"
			;;
		"not ok - "*) ktap_not_ok "${line#not ok - }" ;;
		end) ended=1 ;;
		*) echo "# $line" ;;
		esac
	done <"$INC_TMP/results"
	[ "$ended$status" = 10 ] || ktap_not_ok "$* came to its end (exit status $status)"
}

# lab PROGRAM.py [WORD...]: the tests with one of these words in their names
lab() {
	local program=$1

	shift
	results_of timeout -k 5 "${LAB_TIMEOUT:-1200}" python3 -s -S "$LAB_DIR/$program" "$@"
}
