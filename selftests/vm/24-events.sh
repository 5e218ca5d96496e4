#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What inc monitor shows, in order: nodes, parents, groups that form, fail, work again and are left,
# ranks that are late, back and dead. And the tracepoints.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

inc_begin
inc_topology_create 2
lab events.py
inc_end
