#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What a network may send to a box that nobody there means well with: packets to many, by addresses
# that nobody can have or that are the box's own, and junk without end. They are counted under one
# reason and not answered, nobody becomes a member by them; an answer is never longer than what it
# answers; and others join meanwhile. What an administrator's own rules do in front of the hooks:
# rules of the bridge family drop, and what a program gives back to the kernel (NFQUEUE), in a
# context of its own, is taken as from the wire. h1, h2 and h3 are members, h4 is the stranger.
#
# And packets in shapes that others give them: clones that tc makes or sends another way, what
# generic XDP has linearised or changed in length, pages of users and guests.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

inc_begin
inc_topology_create 4
lab hostile_network.py
lab packet_shapes.py
inc_end
