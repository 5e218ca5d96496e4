// SPDX-License-Identifier: LGPL-2.1-or-later
/* The short forms of operations, blocking and not: the list in calls.h, twice. */
#include "internal.h"

#define P(...) __VA_ARGS__

#define CALL(name, parameters, ...)							\
	int inc_##name(parameters)							\
	{										\
		return inc_collective(group, &(const struct inc_args) { __VA_ARGS__ });	\
	}
#include "calls.h"
#undef CALL

#define CALL(name, parameters, ...)							\
	int inc_i##name(parameters, struct inc_request *req)				\
	{										\
		return inc_icollective(group, &(const struct inc_args) { __VA_ARGS__ }, req);	\
	}
#include "calls.h"
