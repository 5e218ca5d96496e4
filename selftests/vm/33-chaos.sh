#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Mishaps at random, several at once, to jobs that compare every element: see chaos.py. CHAOS=SECONDS of it.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

export CHAOS=${CHAOS:-$((FULL ? 300 : 20))}
LAB_TIMEOUT=$((CHAOS + 200))

inc_begin
inc_topology_create 4
lab chaos.py
check "results are right afterwards" run_ranks 4 inc-coll --quiet --seed "$SEED" --ops 20
check "no group stays" wait_for 30 no_groups
inc_topology_destroy
inc_end
