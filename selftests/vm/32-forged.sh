#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Packets that no friend has sent, while a job runs: malformed in every field, truncated at every
# length, with wrong checksums, in fragments, with cookies that are wrong or of others, of other
# epochs, replayed; joins that squat a rank, are replayed, or come as a flood; calls to move that no
# member has made. Each is counted under exactly the reason it is to be dropped for, and the job's
# results stay right. h1, h2 and h3 are members, h4 is the stranger.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"


inc_begin
inc_topology_create 4
lab forged.py
lab forged_join.py
lab forged_move.py
inc_end
