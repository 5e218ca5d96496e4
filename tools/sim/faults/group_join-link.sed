# SPDX-License-Identifier: GPL-2.0-only
# options: --hostile rank
# The way to a member changes before its JOIN has been judged: what is for it goes to somebody else.
s/^\tif (netinc_join_shrinks(join) || netinc_group_shrinking(g))$/\tif (child < g->cfg.size \&\& netinc_group_moves(g, pkt, join))\n\t\tg->ops->link(g, child, peer);\n&/
