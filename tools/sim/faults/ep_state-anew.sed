# SPDX-License-Identifier: GPL-2.0-only
# options: --hostile node
# An operation of which blocks have been sent begins anew if a node says so: its memory may have been unpinned.
s/if ((s32)(ep->begun - ep->resume) > 0)/if (0)/
s/pkt->opseq = ep->begun;/pkt->opseq = ep->resume;/
