// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The collectives, in front of those of the MPI, which does what INC does not. MPI_Ialltoallw() is
 * always the MPI's.
 */
#include "pmpi_call.h"

int MPI_Barrier(MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_barrier(&call, pmpi_comm_find(comm), NULL) ? call.ret : PMPI_Barrier(comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_barrier(&call, pmpi_comm_find(comm), request) ?
	       call.ret : PMPI_Ibarrier(comm, request);
}

#define MPI_FN(name)		MPI_##name
#define PMPI_FN(name)		PMPI_##name
#define COUNT			int
#define DISPL			int
#define SHARES(counts, displs)	pmpi_ints(counts, displs)
#include "pmpi_counted.h"

#if MPI_VERSION >= 4

#undef MPI_FN
#undef PMPI_FN
#undef COUNT
#undef DISPL
#undef SHARES
#define MPI_FN(name)		MPI_##name##_c
#define PMPI_FN(name)		PMPI_##name##_c
#define COUNT			MPI_Count
#define DISPL			MPI_Aint
#define SHARES(counts, displs)	pmpi_wide(counts, displs)
#include "pmpi_counted.h"

#endif
