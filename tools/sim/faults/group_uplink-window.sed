# SPDX-License-Identifier: GPL-2.0-only
# options: --seed 101 --hostile none --override tree=4,fallback=0,late-ms=0
# A node says how many blocks it has slots for, and not that the nodes below it have fewer.
s/m.join.window = cpu_to_be16(netinc_children_window(g));/m.join.window = cpu_to_be16(g->cfg.settings.window);/
