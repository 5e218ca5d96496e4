/* SPDX-License-Identifier: GPL-2.0-only */
/* What node/uplink_io.c uses of it is in stub/uplink_io.h, for test_uplink_io.c. */
#ifndef INC_STUB_RCULIST_H
#define INC_STUB_RCULIST_H

#include "stub/uplink_io.h"

#endif
