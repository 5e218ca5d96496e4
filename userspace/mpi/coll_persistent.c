// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The component's persistent collectives, in front of those of the components below. Open MPI 4.1
 * has them as an extension, MPIX_Allreduce_init() and its like.
 */
#include <stddef.h>

#include "coll.h"
#include "pmpi_call.h"

#define END			MPI_Comm comm, struct ompi_info_t *info, MPI_Request *request, \
				mca_coll_base_module_t *module
#define ENDS			comm, info, request, its
#define TO			&call, comm_of(module)
#define COUNT			int
#define DISPL			int
#define SHARES(counts, displs)	pmpi_ints(counts, displs)

#define PERSISTENT(name, coll, parameters, arguments, keep)			\
static int mca_##coll##_init parameters						\
{										\
	struct coll_module *m = (struct coll_module *)module;			\
	mca_coll_base_module_t *its = m->below.coll_##coll##_init_module;	\
	struct pmpi_call call;							\
										\
	return keep ? coll_request_keep(call.kept, request) :			\
		      m->below.coll_##coll##_init arguments;			\
}
#include "pmpi_persistent.h"
PERSISTENT(Barrier, barrier, (END), (ENDS), pmpi_do_barrier(TO, &pmpi_persistent))

const struct coll_function coll_init_functions[] = {
	COLL_FUNCTION(barrier_init), COLL_FUNCTION(bcast_init), COLL_FUNCTION(reduce_init),
	COLL_FUNCTION(allreduce_init), COLL_FUNCTION(scan_init), COLL_FUNCTION(exscan_init),
	COLL_FUNCTION(reduce_scatter_init), COLL_FUNCTION(reduce_scatter_block_init),
	COLL_FUNCTION(gather_init), COLL_FUNCTION(gatherv_init), COLL_FUNCTION(scatter_init),
	COLL_FUNCTION(scatterv_init), COLL_FUNCTION(allgather_init),
	COLL_FUNCTION(allgatherv_init), COLL_FUNCTION(alltoall_init),
	COLL_FUNCTION(alltoallv_init), COLL_FUNCTION(alltoallw_init),
};

const size_t nr_coll_init_functions =
	sizeof(coll_init_functions) / sizeof(coll_init_functions[0]);
