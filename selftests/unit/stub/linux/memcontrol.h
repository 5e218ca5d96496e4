/* SPDX-License-Identifier: GPL-2.0-only */
/* What node/edge.c uses of it is in stub/edge.h, for test_edge.c. */
#ifndef INC_STUB_MEMCONTROL_H
#define INC_STUB_MEMCONTROL_H

#include "stub/edge.h"

#endif
