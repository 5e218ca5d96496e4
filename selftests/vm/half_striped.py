# SPDX-License-Identifier: GPL-2.0-only
"""
A rank of two that joins one of two stripes, and ends it when it has formed: the other rank waits
for the second one by then. Started by 44-stripes.sh with the group's number.
"""
import socket
import sys

import inc_abi as abi

FIRST_OF_TWO = 1 << 3 << 8      # INC_STRIPE(0, 2) << INC_SA_STRIPE_SHIFT

rank = abi.Rank()
rank.start(int(sys.argv[1]), 1, 2, flags=FIRST_OF_TWO)
rank.joined()
rank.sock.shutdown(socket.SHUT_RDWR)
rank.sock.close()
