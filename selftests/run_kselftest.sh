#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run_kselftest.sh: run the tests that `make -C selftests install` has put beside this script.
#
#   run_kselftest.sh [OPTION...]    all tests without an option
#
#   -l, --list                      print their names, run nothing
#   -c, --collection COLLECTION     the tests of this collection
#   -t, --test COLLECTION:TEST      this test
#   -d, --dry-run                   print what would be run
#   -h, --help
#
# Some need root, and the module: without, they are skipped. Exit status: 0 if nothing failed.
set -u

here=$(cd -P "$(dirname "$0")" && pwd)
list=$here/kselftest-list.txt
wanted=() dry=0

usage() { sed -n '/^# run_kselftest.sh:/,/^set /{s/^# \{0,1\}//;/^set /d;p;}' "$0"; }
die() { echo "run_kselftest.sh: $*" >&2; exit 2; }

# choose PATTERN WHAT: adds those of the list that match
choose() {
	local found

	mapfile -t found < <(grep -x -- "$1" "$list")
	[ ${#found[@]} -gt 0 ] || die "$2 is not known: see --list"
	wanted+=("${found[@]}")
}

[ -r "$list" ] || die "$list cannot be read: make -C selftests install writes it"
while [ $# -gt 0 ]; do
	case $1 in
	-l | --list) cat "$list"; exit ;;
	-d | --dry-run) dry=1 ;;
	-h | --help) usage; exit ;;
	-c | --collection | -t | --test)
		[ $# -gt 1 ] || die "$1 needs a name"
		[[ $2 =~ ^[A-Za-z0-9._:-]+$ ]] || die "'$2' is not a name"
		case $1 in
		-c | --collection) choose "${2//./\\.}:.*" "collection '$2'" ;;
		*) choose "${2//./\\.}" "test '$2'" ;;
		esac
		shift
		;;
	*) die "option '$1' is not known: see --help" ;;
	esac
	shift
done
[ ${#wanted[@]} -gt 0 ] || mapfile -t wanted <"$list"
if [ "$dry" = 1 ]; then
	printf '%s\n' "${wanted[@]}"
	exit
fi
failed=0
for collection in $(printf '%s\n' "${wanted[@]}" | cut -d: -f1 | uniq); do
	tests=()
	for test in "${wanted[@]}"; do
		[[ $test != "$collection":* ]] || tests+=("$here/selftests/$collection/${test#*:}")
	done
	"$here/selftests/runner" "$collection" "${tests[@]}"
	case $? in
	0 | 4) ;;
	*) failed=1 ;;
	esac
done
exit $failed
