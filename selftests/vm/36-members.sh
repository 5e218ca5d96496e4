#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Members that lie: they have joined as they should, with challenge, proof and key, and send what no
# rank would. They cannot harm the node, the other ranks' results or memory, nor take what is
# others'. h4 has the members that lie; h1 to h3 have ranks.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

inc_begin
inc_topology_create 4
lab members.py
inc_end
