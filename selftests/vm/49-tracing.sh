#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Each one-liner of Documentation/tracing.rst, run by bpftrace as it stands there, all at once, while
# ranks of h1, whose packets are super-packets, and of h2, whose are single ones, compute.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

inc_begin
inc_topology_create 2
set_up offloads_off sw p2
set_up offloads_off h2 eth0
lab one_liners.py
inc_end
