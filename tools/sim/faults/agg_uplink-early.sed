# SPDX-License-Identifier: GPL-2.0-only
# options: --hostile node --override tree=4,fallback=0,standbys=0,networks=0,late-ms=0
# A node takes its parent's word for a block to which the ranks below it have not all contributed.
/^static int check_result/,/^}/{
s/slot->state == NETINC_SLOT_FILLING || slot->state == NETINC_SLOT_BAD/slot->state == NETINC_SLOT_BAD/
s/slot->state != NETINC_SLOT_UP/slot->state == NETINC_SLOT_DONE/
}
