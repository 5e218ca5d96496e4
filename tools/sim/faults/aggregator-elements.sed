# SPDX-License-Identifier: GPL-2.0-only
# options: --hostile rank
# What a contribution with elements has said of them outlives it: it is taken back, and comes again without.
/^static void take_back/,/^}/s/if (!(slot->flags & INC_F_PAYLOAD))/if (0)/
