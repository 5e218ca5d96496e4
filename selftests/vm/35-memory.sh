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
LAB_TIMEOUT=900 lab memory.py
inc_topology_destroy
inc_end
