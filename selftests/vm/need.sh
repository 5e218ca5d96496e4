# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What a machine must have for these tests, and the module: for a guest of tools/vm/run, which has
# all of it, and for any other machine, on which nothing is touched that the tests have not made.
#
#	need_machine	# exits with status 4 where they cannot run, and says why
#	need_module inc	# loads it
#
# INC_TOP: the project's tree, or where `make install` of the selftests has put what they need of
# it; two directories above this one without it.

INC_TOP=${INC_TOP:-$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
export INC_TOP
KSFT_SKIP=4
# Modules that were there before the test, which others may use: it leaves them loaded.
INC_KEPT=''

# skip_all REASON: nothing can be tested here
skip_all() {
	echo "KTAP version 1"
	echo "1..0 # SKIP $1"
	exit "$KSFT_SKIP"
}

# The programs that were built are meant, whatever is installed.
built_programs() {
	local dir=$INC_TOP/build/userspace

	PATH=$PATH:/usr/sbin:/sbin
	[ -x "$dir/bin/inc" ] || return 0
	PATH=$dir/bin:$PATH
	export LD_LIBRARY_PATH=$dir/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

# Names that the tests give to network namespaces.
taken_names() {
	ip netns list 2>/dev/null | cut -d' ' -f1 | grep -xE 'sw|w|many|[hl][0-9]+' | paste -s -d' '
}

need_machine() {
	local command taken

	[ "$(id -u)" = 0 ] || skip_all "this needs root"
	[ -r "$INC_TOP/uapi/linux/inc_netlink.h" ] ||
		skip_all \
			"INC_TOP=$INC_TOP: there is no uapi/linux/inc_netlink.h: set it to the project's tree"
	built_programs
	for command in ip tc bridge ethtool nsenter unshare setpriv ping pgrep python3 modprobe; do
		command -v "$command" >/dev/null || skip_all "there is no program $command"
	done
	for command in inc inc-allreduce; do
		command -v "$command" >/dev/null ||
			skip_all "there is no program $command: make userspace"
	done
	unshare --net --mount true 2>/dev/null || skip_all "no network namespaces can be made here"
	taken=$(taken_names) || true
	[ -z "$taken" ] || skip_all "network namespaces of these names are there already: $taken"
}

# module_file NAME: of the running kernel, not installed
module_file() {
	local file

	for file in "$INC_TOP/build/$(uname -r)"/{,kernel/sched/}"$1.ko"; do
		[ ! -r "$file" ] || { echo "$file"; return; }
	done
	return 1
}

module_known() {
	modprobe -q -n "$1" || module_file "$1" >/dev/null
}

# dead_limit MS: of nodes that are added from now on without another word
dead_limit() {
	echo "$1" > /sys/module/inc/parameters/dead_ms
}

# load_module NAME [PARAMETER=VALUE...]: one that is installed, else the one that was built; without
# it nothing happens.
# Tests wait for the dead limit often, and do not want to for as long as others do.
load_module() {
	insert_module "$@" || return
	[ "$1" != inc ] || { loaded_dead_limit && dead_limit 2000; }
}

# What the module has of itself, if this test has loaded it.
loaded_dead_limit() {
	INC_LOADED_DEAD_MS=$(</sys/module/inc/parameters/dead_ms)
	export INC_LOADED_DEAD_MS
}

insert_module() {
	local name=$1 file needs

	shift
	if modprobe -q -n "$name"; then
		modprobe "$name" "$@"
		return
	fi
	file=$(module_file "$name") || { echo "there is no module $name for $(uname -r)"; return \
		1; }
	[ ! -e "/sys/module/$name" ] || return 0
	needs=$(modinfo -F depends "$file") || return
	[ -z "$needs" ] || modprobe -a "${needs//,/ }" || return
	insmod "$file" "$@"
}

# The module was there before the test: so will its dead limit be after it.
keep_dead_limit() {
	INC_DEAD_MS=${INC_DEAD_MS:-$(</sys/module/inc/parameters/dead_ms)}
	export INC_DEAD_MS
	dead_limit 2000
}

# need_module NAME: loads it unless it is there; in a guest it is the tests' in any case
need_module() {
	if [ -e "/sys/module/$1" ] && [ "${INC_VM-}" != 1 ]; then
		INC_KEPT+=" $1 "
		export INC_KEPT
		[ "$1" != inc ] || keep_dead_limit
	elif ! module_known "$1"; then
		skip_all "there is no module $1 for $(uname -r): make && make install, or make"
	elif ! load_module "$1"; then
		echo "Bail out! the module $1 does not load"
		exit 1
	fi
}

# module_is_ours NAME: the test has loaded it, so it may take it away
module_is_ours() {
	[[ $INC_KEPT != *" $1 "* ]]
}
