/* SPDX-License-Identifier: GPL-2.0-only */
/* What host/pin.c uses of it is in stub/pin.h, for test_pin.c. */
#ifndef INC_STUB_SIZES_H
#define INC_STUB_SIZES_H

#include "stub/pin.h"

#endif
