# SPDX-License-Identifier: GPL-2.0-only
# A slot is taken for the next block although ranks may still lack the result of its own.
s/if (q == slot->q + 2 \* agg->window && slot->state == NETINC_SLOT_DONE) {/if (q > slot->q) {/
