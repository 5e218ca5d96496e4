#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tenants of a node: who may join, what each may have, and that one who takes all that he can get
# costs the others nothing that is theirs. And a node that is saved as commands and restored from
# them.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

inc_begin
inc_topology_create 4
lab tenants.py
check "no group stays" wait_for 30 no_groups
inc_topology_destroy
inc_end
