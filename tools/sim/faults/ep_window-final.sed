# SPDX-License-Identifier: GPL-2.0-only
# A result that is contributed again is not marked as such: it is folded once more.
s/kept.kind = NETINC_PAY_RETAINED_RESULT;/kept.kind = NETINC_PAY_RETAINED_OWN;/
