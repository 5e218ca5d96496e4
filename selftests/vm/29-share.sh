#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two groups and TCP share one link, shaped to RATE Mbit/s each way (default 20, what an emulated
# machine keeps full; 100 with FULL=1) with fq_codel as its queue: nobody starves, no operation
# fails.
#
#	   h1                h2            h3
#	 A0, B0, TCP       A1, B1          TCP
#	   |  the bottleneck |              |
#	   +------------- br0 --------------+

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

export RATE=${RATE:-$((FULL ? 100 : 20))}

inc_begin
inc_topology_create 3
set_up neighbours_known
echo "# $RATE Mbit/s"
LAB_TIMEOUT=900 lab share.py
check "no group stays" wait_for 30 no_groups
inc_topology_destroy
inc_end
