// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Persistent collectives are made, of MPI 4 or as Open MPI's extension. The MPI makes its request
 * of each, as it looks at arguments; where INC does the call, another one takes its place, which is
 * only what the program has for it (pmpi_active.c). Those of Open MPI 5, which has the names of
 * MPI 4 but not all of it, are left to it.
 */
#include "pmpi_call.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#if MPI_VERSION >= 4 || defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)

/*
 * The one that the MPI has made would never be started: the program gets a request that does
 * nothing in place of it. MPICH 4.0 would wait for ever for the other one.
 */
static void replace_request(const struct pmpi_comm *c, MPI_Request *request)
{
	MPI_Request nothing;

	if (PMPI_Recv_init(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, c->comm, &nothing) != MPI_SUCCESS)
		return;
	PMPI_Request_free(request);
	*request = nothing;
}

/* The MPI has taken the call and made @request. */
static int add_made(const struct pmpi_call *call, bool by_inc, MPI_Request *request)
{
	if (call->raised)
		return call->ret;
	if (by_inc) {
		replace_request(call->c, request);
		pmpi_active_add(call->kept, *request);
	}
	return MPI_SUCCESS;
}

#define END			MPI_Comm comm, MPI_Info info, MPI_Request *request
#define ENDS			comm, info, request
#define TO			&call, pmpi_comm_find(comm)
#define COUNT			int
#define DISPL			int
#define SHARES(counts, displs)	pmpi_ints(counts, displs)
#define BARRIER			pmpi_do_barrier(TO, &pmpi_persistent)

/* What both names of a function do. */
#define MAKE(make, arguments, keep)				\
{								\
	struct pmpi_call call;					\
	int ret = make arguments;				\
								\
	return ret == MPI_SUCCESS ? add_made(&call, keep, request) : ret;	\
}

#if MPI_VERSION >= 4

#define PERSISTENT(name, coll, parameters, arguments, keep)	\
int MPI_##name##_init parameters MAKE(PMPI_##name##_init, arguments, keep)
#include "pmpi_persistent.h"
PERSISTENT(Barrier, barrier, (END), (ENDS), BARRIER)

#undef PERSISTENT
#undef COUNT
#undef DISPL
#undef SHARES
#define COUNT			MPI_Count
#define DISPL			MPI_Aint
#define SHARES(counts, displs)	pmpi_wide(counts, displs)
#define PERSISTENT(name, coll, parameters, arguments, keep)	\
int MPI_##name##_init_c parameters MAKE(PMPI_##name##_init_c, arguments, keep)
#include "pmpi_persistent.h"

#else

/* Weak: another Open MPI of this version may be built without its extensions. */
#define PERSISTENT(name, coll, parameters, arguments, keep)	\
__typeof__(PMPIX_##name##_init) PMPIX_##name##_init __attribute__((weak));	\
int MPIX_##name##_init parameters MAKE(PMPIX_##name##_init, arguments, keep)
#include "pmpi_persistent.h"
PERSISTENT(Barrier, barrier, (END), (ENDS), BARRIER)

#endif

#endif
