/* SPDX-License-Identifier: GPL-2.0-only */
/* What host/membership.c uses of it is in stub/membership.h, for test_membership.c. */
#ifndef INC_STUB_SOCK_H
#define INC_STUB_SOCK_H

#include "stub/membership.h"

#endif
