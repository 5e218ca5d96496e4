#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Mishaps at random, several at once, to jobs that compare every element: see chaos.py.
# CHAOS=SECONDS of it.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

export CHAOS=${CHAOS:-$((FULL ? 300 : 20))}
LAB_TIMEOUT=$((CHAOS + 200))

# With it, and only with it, bridges have an option nf_call_iptables that does something; without
# more it is on for all.
bridge_netfilter() {
	local file

	for file in /proc/sys/net/bridge/bridge-nf-call-*; do
		echo 0 >"$file" || return
	done
}
export -f bridge_netfilter

inc_begin
BRIDGE_NETFILTER=0 UNLOAD=0
[ -e /sys/module/br_netfilter ] || UNLOAD=1
modprobe br_netfilter 2>/dev/null && BRIDGE_NETFILTER=1
inc_topology_create 4
[ "$BRIDGE_NETFILTER" = 0 ] || set_up in_ns sw bash -c bridge_netfilter
lab chaos.py
check "results are right afterwards" run_ranks 4 inc-coll --quiet --seed "$SEED" --ops 20
check "no group stays" wait_for 30 no_groups
inc_topology_destroy
[ "$BRIDGE_NETFILTER$UNLOAD" != 11 ] || set_up rmmod br_netfilter
inc_end
