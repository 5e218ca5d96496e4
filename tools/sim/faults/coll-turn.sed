# SPDX-License-Identifier: GPL-2.0-only
# From the third step on, an alltoall of more than three ranks takes its elements from too far behind.
s/sent = share \* op->count;/sent = share * op->count + (share > 1 \&\& op->size > 3 ? op->count - 1 : 0);/
