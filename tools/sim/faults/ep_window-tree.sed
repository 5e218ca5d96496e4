# SPDX-License-Identifier: GPL-2.0-only
# options: --hostile root --seed 7001
# Whatever root it comes from, a result is taken: one that lies can say what it likes about the blocks of others.
s/if (netinc_ep_tree_of(ep, b) != pkt->tree) {/if (0) {/
