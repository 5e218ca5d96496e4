#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A node with one port beside a plain bridge: h5 reduces for h1 .. h4, and its results go once, by
# IP multicast, to those who hear them there. h6 has nothing to do with it.
#
#	 h1   h2   h3   h4     h5: node   h6
#	  |    |    |    |      |          |
#	+-------------------------------------+
#	| br0                   netns sw      |
#	+-------------------------------------+

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

node_on_h5() {
	local h

	inc -n sw node del dev br0 && inc -n h5 node add dev eth0 || return
	for h in 1 2 3 4; do
		inc -n "h$h" parent set 10.7.0.5 || return
	done
	count_bytes h5 eth0
}

inc_begin
inc_topology_create 6
set_up node_on_h5
lab multicast.py
check "no group stays" wait_for 30 no_groups
inc_end
