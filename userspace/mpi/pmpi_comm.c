// SPDX-License-Identifier: LGPL-2.1-or-later
/* What is known of a communicator stays until its last request has ended. */
#include <stdlib.h>

#include "pmpi.h"

void pmpi_comm_hold(struct pmpi_comm *c)
{
	__atomic_fetch_add(&c->refs, 1, __ATOMIC_RELAXED);
}

void pmpi_comm_release(struct pmpi_comm *c)
{
	if (__atomic_fetch_sub(&c->refs, 1, __ATOMIC_ACQ_REL) == 1)
		free(c);
}
