#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Mishaps at random, several at once, to jobs in trees of nodes that are drawn at random: see
# chaos_tree.py. CHAOS=SECONDS of it.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

export CHAOS=${CHAOS:-$((FULL ? 300 : 20))}
LAB_TIMEOUT=$((CHAOS + 300))

inc_begin
lab chaos_tree.py
inc_end
