#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Ranks that are late: their endpoints answer, but their applications have not submitted. What the
# node knows of how late each is, and what the policies wait, fail and partial do.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

inc_begin
inc_topology_create 3
lab late.py
inc_end
