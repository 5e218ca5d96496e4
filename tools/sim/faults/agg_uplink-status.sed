# SPDX-License-Identifier: GPL-2.0-only
# options: --hostile none --override tree=4,fallback=0,late-ms=0
# What a node has sent up and its parent lacks is not sent again: STATUS is of no use.
/^u32 netinc_agg_repeat_up/,/^}/s/i < n && netinc_agg_take_work(agg, 1); i++) {/!r->have \&\& i < n \&\& netinc_agg_take_work(agg, 1); i++) {/
