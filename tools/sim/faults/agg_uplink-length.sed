# SPDX-License-Identifier: GPL-2.0-only
# options: --hostile node --override tree=4,fallback=0,standbys=0,networks=0,late-ms=0
# A node passes on a result with other elements than the ranks below it have contributed.
/^static int check_result/,/^}/s/if ((slot->flags & pkt->flags & INC_F_PAYLOAD) &&/if (0 \&\& (slot->flags \& pkt->flags \& INC_F_PAYLOAD) \&\&/
