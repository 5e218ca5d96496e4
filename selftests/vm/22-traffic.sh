#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Ordinary traffic through the node's bridge, while h1, h2 and h3 run a job: TCP, UDP, ping, VLANs,
# multicast, and UDP to INC's own port that is for others. It arrives as it was sent, and INC counts
# none of it.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

inc_begin
for gso in on off; do
	inc_topology_create 5 "$gso"
	echo "# offloads $gso"
	lab traffic.py
	check "offloads $gso: no group stays" wait_for 30 no_groups
	inc_topology_destroy
	[ "$FULL" = 1 ] || break
done
inc_end
