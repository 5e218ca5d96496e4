// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Persistent collectives, of MPI 4 or as Open MPI's extension: they are the MPI's, and are counted
 * where they are made, so that the report has them.
 */
#include "pmpi.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#define COUNT	int
#define DISPL	int

#if MPI_VERSION >= 4

#define PERSISTENT(name, parameters, arguments)		\
int MPI_##name##_init parameters			\
{							\
	pmpi_count_persistent();			\
	return PMPI_##name##_init arguments;		\
}
#include "pmpi_persistent.h"
PERSISTENT(Barrier, (MPI_Comm comm, MPI_Info info, MPI_Request *request), (comm, info, request))

#undef PERSISTENT
#undef COUNT
#undef DISPL
#define COUNT	MPI_Count
#define DISPL	MPI_Aint
#define PERSISTENT(name, parameters, arguments)		\
int MPI_##name##_init_c parameters			\
{							\
	pmpi_count_persistent();			\
	return PMPI_##name##_init_c arguments;		\
}
#include "pmpi_persistent.h"

#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)

/* Weak: another Open MPI of this version may be built without its extensions. */
#define PERSISTENT(name, parameters, arguments)		\
__typeof__(PMPIX_##name##_init) PMPIX_##name##_init __attribute__((weak));	\
int MPIX_##name##_init parameters			\
{							\
	pmpi_count_persistent();			\
	return PMPIX_##name##_init arguments;		\
}
#include "pmpi_persistent.h"
PERSISTENT(Barrier, (MPI_Comm comm, MPI_Info info, MPI_Request *request), (comm, info, request))

#endif
