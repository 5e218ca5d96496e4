# SPDX-License-Identifier: GPL-2.0-only
# options: --hostile rank
# Members of all groups of a node have the same cookies: who is in one is taken for a member of another.
/^static u64 make_cookie/,/^}/s/m\[5\] = {.*$/m[5] = {/
