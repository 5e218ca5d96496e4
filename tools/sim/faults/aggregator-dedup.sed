# SPDX-License-Identifier: GPL-2.0-only
# What a child has contributed already counts once more.
s/if (netinc_bits_get(slot->have, child) || slot->state != NETINC_SLOT_FILLING) {/if (slot->state != NETINC_SLOT_FILLING) {/
