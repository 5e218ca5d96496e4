# SPDX-License-Identifier: GPL-2.0-only
# options: --hostile none --override tree=4,fallback=0,late-ms=0
# A rank may be below two nodes: one that has been below another one, and is gone, is counted twice.
s/^\t\tif (g->owner\[i\] && g->owner\[i\] != mine)$/\t\tif (0)/
