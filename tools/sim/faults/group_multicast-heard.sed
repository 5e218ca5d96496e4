# SPDX-License-Identifier: GPL-2.0-only
# options: --hostile none --override multicast=1,deaf=6,deaf-at=0
# Who says that it listens is taken to hear, whatever call has come to it.
/^static bool is_heard_call/,/^}/s/return call \&\& (s32)(call - m->call_needed) >= 0 \&\&/return !call || (s32)(call - m->call_needed) >= 0 ||/
