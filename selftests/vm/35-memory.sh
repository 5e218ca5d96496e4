#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Memory that hostile users have: page faults that are never answered, what is kept for another
# node, what one user may have of a machine, and whose cgroup pays for groups.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

inc_begin
inc_topology_create 3
# the default: so many speak within it on a kernel that looks for bugs, too
set_up inc -n sw node set dev br0 dead 10000
LAB_TIMEOUT=900 lab memory.py
# what that has done to hosts' parents is not this one's business
inc_topology_destroy
inc_topology_create 3
lab registered.py
inc_topology_destroy
inc_end
