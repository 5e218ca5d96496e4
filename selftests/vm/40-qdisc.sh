#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# sch_inc, alone: classes, service, limits, options, life and death. For root, in a VM (tools/vm/run) or on a machine
# that may load the module. Arguments choose tests by words of their names.
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
# Addresses and neighbours are static and IPv6 is off but for one test, so that all counters can be compared exactly.
set -euo pipefail

dir=$(cd "$(dirname "$0")" && pwd)
ns=inc-qdisc-$$

bail() {
	echo "Bail out! $*"
	exit 1
}

create() {
	ip netns add "$ns" || bail "cannot make a network namespace"
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
}

[ "$(id -u)" = 0 ] || bail "this test must be run as root"
modprobe sch_inc || bail "modprobe sch_inc failed"
trap destroy EXIT
create
ip netns exec "$ns" python3 "$dir/qdisc_tests.py" "$@"
