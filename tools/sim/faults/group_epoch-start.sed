# SPDX-License-Identifier: GPL-2.0-only
# After a move the epoch begins where the first rank wants to go on, not the last.
s/if ((s64)(m\[i\].next - start) < 0)/if ((s64)(m[i].next - start) > 0)/
