# SPDX-License-Identifier: GPL-2.0-only
# options: --seed 16001 --hostile none --override tree=4,fallback=2,standbys=0,networks=0,late-ms=0
# Who leaves a tree of nodes says so to nobody there, and is dead for good when it is missed. Either
# alone does no harm: what the others do not hear at once, they hear when it is missed. One seed in
# some thousands shows it, hence the first one.
s/if (!ep->left_tree.incarnation)/if (1)/
s/(standbys || ep->deep)/standbys/
