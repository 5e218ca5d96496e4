// SPDX-License-Identifier: LGPL-2.1-or-later
/* MPI's collectives by their names. The tool has this file, too, and nothing else of counters. */
#include <string.h>

#include "internal.h"

#define NAME_OF(name, text, coll) [INCMPI_##name] = text,
#define COLL_OF(name, text, coll) [INCMPI_##name] = coll,

static const char *const fn_names[INCMPI_NR_FNS] = { INCMPI_CALLS(NAME_OF) };
static const enum inc_coll fn_colls[INCMPI_NR_FNS] = { INCMPI_CALLS(COLL_OF) };

const char *incmpi_fn_name(enum incmpi_fn fn)
{
	return fn_names[fn];
}

enum inc_coll incmpi_fn_coll(enum incmpi_fn fn)
{
	return fn_colls[fn];
}

int incmpi_fn_parse(const char *name, size_t len)
{
	for (int i = 0; i < INCMPI_NR_FNS; i++)
		if (strlen(fn_names[i]) == len && !memcmp(fn_names[i], name, len))
			return i;
	return -1;
}

bool incmpi_fn_reduces(enum incmpi_fn fn)
{
	return fn >= INCMPI_REDUCE && fn <= INCMPI_EXSCAN;
}

bool incmpi_has_unknown_shares(enum incmpi_fn fn)
{
	switch (fn) {
	case INCMPI_GATHERV:
	case INCMPI_SCATTERV:
	case INCMPI_ALLTOALLV:
	case INCMPI_ALLTOALLW:
		return true;
	default:
		return false;
	}
}
