# SPDX-License-Identifier: GPL-2.0-only
# options: --hostile none --override tree=4,fallback=2,standbys=0,networks=0,late-ms=0
# Who leaves a tree of nodes says so to nobody there.
s/if (!ep->left_tree.incarnation)/if (1)/
