#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# sch_inc, alone: classes, service, limits, options, life and death. Arguments choose tests by words
# of their names.
#
#   +----------------- netns inc-qdisc-PID -------------+
#   |                                                   |
#   |   UDP sockets, raw frames          what left it   |
#   |          |                              |         |
#   |     + inc-q0 ------- veth ----------- inc-q1 +    |
#   |       10.9.0.1/24                                 |
#   |       qdisc under test                            |
#   +---------------------------------------------------+
#
# Addresses and neighbours are static and IPv6 is off but for one test, so that all counters can be
# compared exactly.
set -euo pipefail

dir=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=need.sh
. "$dir/need.sh"
ns=inc-qdisc-$$

create() {
	ip netns add "$ns"
	ip netns exec "$ns" sh -c "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6"
	ip -n "$ns" link add inc-q0 type veth peer name inc-q1
	ip -n "$ns" addr add 10.9.0.1/24 dev inc-q0
	ip -n "$ns" link set inc-q0 up
	ip -n "$ns" link set inc-q1 up
}

# The kernel takes a namespace down in the background, a link before the command returns.
destroy() {
	ip -n "$ns" link del inc-q0 2>/dev/null || true
	ip netns del "$ns" 2>/dev/null || true
	! module_is_ours sch_inc || rmmod sch_inc 2>/dev/null || true
}

need_machine
need_module sch_inc
echo "KTAP version 1"
trap destroy EXIT
create
ip netns exec "$ns" python3 -s -S "$dir/qdisc_tests.py" "$@"
