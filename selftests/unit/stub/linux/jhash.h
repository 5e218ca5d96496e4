/* SPDX-License-Identifier: GPL-2.0-only */
/* What sched/sch_drr.c uses of it is in stub/sched.h, for test_drr.c. */
#ifndef INC_STUB_JHASH_H
#define INC_STUB_JHASH_H

#include "stub/sched.h"

#endif
