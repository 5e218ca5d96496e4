# SPDX-License-Identifier: GPL-2.0-only
# A result that is contributed again is not marked as such: it is folded once more.
s/kept.flags |= INC_F_FINAL;/kept.flags \&= ~INC_F_FINAL;/
