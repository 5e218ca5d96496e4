#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Groups of thousands of ranks, all in one process: at one node, and with a node on each host, which
# names its ranks to the one above.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

inc_begin
inc_topology_create 4
lab thousands.py
inc_end
