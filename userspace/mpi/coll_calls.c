// SPDX-License-Identifier: LGPL-2.1-or-later
/* The component's collectives, in front of those of the components below, which do the rest. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "coll.h"
#include "pmpi_call.h"

/*
 * MPI_Comm_idup() calls collectives of its communicator from Open MPI's progress engine, so before
 * a call of the program at one rank and after it at another, which INC's order does not allow:
 * those are for what is below. The program's come from a function of MPI, at @known.
 */
static struct pmpi_comm *comm_in_order(mca_coll_base_module_t *module, void *caller,
				       atomic_uintptr_t *known)
{
	Dl_info info;

	if ((uintptr_t)caller != atomic_load_explicit(known, memory_order_relaxed)) {
		if (!dladdr(caller, &info) || !info.dli_sname ||
		    (strncmp(info.dli_sname, "MPI_", 4) && strncmp(info.dli_sname, "PMPI_", 5)))
			return NULL;
		atomic_store_explicit(known, (uintptr_t)caller, memory_order_relaxed);
	}
	return comm_of(module);
}

/* Of the function that this is in. */
#define COMM_IN_ORDER(module)							\
({										\
	static atomic_uintptr_t known_;						\
										\
	comm_in_order(module, __builtin_return_address(0), &known_);		\
})

static int mca_barrier(MPI_Comm comm, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_barrier(&call, comm_of(module), NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_barrier, comm);
}

static int mca_ibarrier(MPI_Comm comm, MPI_Request *request, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_barrier(&call, comm_of(module), request) ?
	       call.ret : m->below.coll_ibarrier(comm, request,
						 m->below.coll_ibarrier_module);
}

static int mca_bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm,
		     mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_bcast(&call, comm_of(module), buf, count, type, root, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_bcast, buf, count, type, root, comm);
}

static int mca_ibcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm,
		      MPI_Request *request, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_bcast(&call, COMM_IN_ORDER(module), buf, count, type, root, request) ?
	       call.ret : m->below.coll_ibcast(buf, count, type, root, comm, request,
					       m->below.coll_ibcast_module);
}

static int mca_allreduce(const void *send, void *recv, int count, MPI_Datatype type,
			 MPI_Op op, MPI_Comm comm, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_reduction(&call, comm_of(module), INCMPI_ALLREDUCE, send, recv,
				 count, type, op, 0, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_allreduce, send, recv, count, type, op,
				     comm);
}

static int mca_iallreduce(const void *send, void *recv, int count, MPI_Datatype type,
			  MPI_Op op, MPI_Comm comm, MPI_Request *request,
			  mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_reduction(&call, COMM_IN_ORDER(module), INCMPI_ALLREDUCE, send, recv,
				 count, type, op, 0, request) ?
	       call.ret : m->below.coll_iallreduce(send, recv, count, type, op, comm,
						   request,
						   m->below.coll_iallreduce_module);
}

static int mca_reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
		      int root, MPI_Comm comm, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_reduction(&call, comm_of(module), INCMPI_REDUCE, send, recv, count,
				 type, op, root, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_reduce, send, recv, count, type, op,
				     root, comm);
}

static int mca_ireduce(const void *send, void *recv, int count, MPI_Datatype type,
		       MPI_Op op, int root, MPI_Comm comm, MPI_Request *request,
		       mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_reduction(&call, COMM_IN_ORDER(module), INCMPI_REDUCE, send, recv, count,
				 type, op, root, request) ?
	       call.ret : m->below.coll_ireduce(send, recv, count, type, op, root, comm,
						request, m->below.coll_ireduce_module);
}

static int mca_scan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
		    MPI_Comm comm, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_reduction(&call, comm_of(module), INCMPI_SCAN, send, recv, count,
				 type, op, 0, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_scan, send, recv, count, type, op, comm);
}

static int mca_iscan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
		     MPI_Comm comm, MPI_Request *request, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_reduction(&call, comm_of(module), INCMPI_SCAN, send, recv, count,
				 type, op, 0, request) ?
	       call.ret : m->below.coll_iscan(send, recv, count, type, op, comm, request,
					      m->below.coll_iscan_module);
}

static int mca_exscan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
		      MPI_Comm comm, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_reduction(&call, comm_of(module), INCMPI_EXSCAN, send, recv, count,
				 type, op, 0, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_exscan, send, recv, count, type, op,
				     comm);
}

static int mca_iexscan(const void *send, void *recv, int count, MPI_Datatype type,
		       MPI_Op op, MPI_Comm comm, MPI_Request *request,
		       mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_reduction(&call, comm_of(module), INCMPI_EXSCAN, send, recv, count,
				 type, op, 0, request) ?
	       call.ret : m->below.coll_iexscan(send, recv, count, type, op, comm, request,
						m->below.coll_iexscan_module);
}

static int mca_reduce_scatter(const void *send, void *recv, const int counts[],
			      MPI_Datatype type, MPI_Op op, MPI_Comm comm,
			      mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_reduce_scatter(&call, comm_of(module), send, recv, pmpi_ints(counts, NULL),
				      type, op, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_reduce_scatter, send, recv, counts, type,
				     op, comm);
}

static int mca_ireduce_scatter(const void *send, void *recv, const int counts[],
			       MPI_Datatype type, MPI_Op op, MPI_Comm comm,
			       MPI_Request *request, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_reduce_scatter(&call, comm_of(module), send, recv, pmpi_ints(counts, NULL),
				      type, op, request) ?
	       call.ret : m->below.coll_ireduce_scatter(send, recv, counts, type, op, comm,
							request,
							m->below.coll_ireduce_scatter_module);
}

static int mca_reduce_scatter_block(const void *send, void *recv, int count,
				    MPI_Datatype type, MPI_Op op, MPI_Comm comm,
				    mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_reduce_scatter_block(&call, comm_of(module), send, recv, count, type,
					    op, NULL) ?
	       call.ret :
	       COLL_BELOW(m, comm, coll_reduce_scatter_block, send, recv, count, type, op,
			  comm);
}

static int mca_ireduce_scatter_block(const void *send, void *recv, int count,
				     MPI_Datatype type, MPI_Op op, MPI_Comm comm,
				     MPI_Request *request, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_reduce_scatter_block(&call, comm_of(module), send, recv, count, type,
					    op, request) ?
	       call.ret :
	       m->below.coll_ireduce_scatter_block(send, recv, count, type, op, comm, request,
						   m->below.coll_ireduce_scatter_block_module);
}

static int mca_gather(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		      int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
		      mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_gather(&call, comm_of(module), send, send_count, send_type, recv,
			      recv_count, recv_type, root, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_gather, send, send_count, send_type,
				     recv, recv_count, recv_type, root, comm);
}

static int mca_igather(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		       int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
		       MPI_Request *request, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_gather(&call, comm_of(module), send, send_count, send_type, recv,
			      recv_count, recv_type, root, request) ?
	       call.ret : m->below.coll_igather(send, send_count, send_type, recv,
						recv_count, recv_type, root, comm, request,
						m->below.coll_igather_module);
}

static int mca_gatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		       const int counts[], const int displs[], MPI_Datatype recv_type,
		       int root, MPI_Comm comm, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_gatherv(&call, comm_of(module), send, send_count, send_type, recv,
			       pmpi_ints(counts, displs), recv_type, root, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_gatherv, send, send_count, send_type,
				     recv, counts, displs, recv_type, root, comm);
}

static int mca_igatherv(const void *send, int send_count, MPI_Datatype send_type,
			void *recv, const int counts[], const int displs[],
			MPI_Datatype recv_type, int root, MPI_Comm comm,
			MPI_Request *request, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_gatherv(&call, comm_of(module), send, send_count, send_type, recv,
			       pmpi_ints(counts, displs), recv_type, root, request) ?
	       call.ret : m->below.coll_igatherv(send, send_count, send_type, recv, counts,
						 displs, recv_type, root, comm, request,
						 m->below.coll_igatherv_module);
}

static int mca_scatter(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		       int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
		       mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_scatter(&call, comm_of(module), send, send_count, send_type, recv,
			       recv_count, recv_type, root, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_scatter, send, send_count, send_type,
				     recv, recv_count, recv_type, root, comm);
}

static int mca_iscatter(const void *send, int send_count, MPI_Datatype send_type,
			void *recv, int recv_count, MPI_Datatype recv_type, int root,
			MPI_Comm comm, MPI_Request *request, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_scatter(&call, comm_of(module), send, send_count, send_type, recv,
			       recv_count, recv_type, root, request) ?
	       call.ret : m->below.coll_iscatter(send, send_count, send_type, recv,
						 recv_count, recv_type, root, comm, request,
						 m->below.coll_iscatter_module);
}

static int mca_scatterv(const void *send, const int counts[], const int displs[],
			MPI_Datatype send_type, void *recv, int recv_count,
			MPI_Datatype recv_type, int root, MPI_Comm comm,
			mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_scatterv(&call, comm_of(module), send, pmpi_ints(counts, displs), send_type,
				recv, recv_count, recv_type, root, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_scatterv, send, counts, displs,
				     send_type, recv, recv_count, recv_type, root, comm);
}

static int mca_iscatterv(const void *send, const int counts[], const int displs[],
			 MPI_Datatype send_type, void *recv, int recv_count,
			 MPI_Datatype recv_type, int root, MPI_Comm comm,
			 MPI_Request *request, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_scatterv(&call, comm_of(module), send, pmpi_ints(counts, displs), send_type,
				recv, recv_count, recv_type, root, request) ?
	       call.ret : m->below.coll_iscatterv(send, counts, displs, send_type, recv,
						  recv_count, recv_type, root, comm,
						  request, m->below.coll_iscatterv_module);
}

static int mca_allgather(const void *send, int send_count, MPI_Datatype send_type,
			 void *recv, int recv_count, MPI_Datatype recv_type, MPI_Comm comm,
			 mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_shares(&call, comm_of(module), INCMPI_ALLGATHER, send, send_count,
			      send_type, recv, recv_count, recv_type, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_allgather, send, send_count, send_type,
				     recv, recv_count, recv_type, comm);
}

static int mca_iallgather(const void *send, int send_count, MPI_Datatype send_type,
			  void *recv, int recv_count, MPI_Datatype recv_type, MPI_Comm comm,
			  MPI_Request *request, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_shares(&call, comm_of(module), INCMPI_ALLGATHER, send, send_count,
			      send_type, recv, recv_count, recv_type, request) ?
	       call.ret : m->below.coll_iallgather(send, send_count, send_type, recv,
						   recv_count, recv_type, comm, request,
						   m->below.coll_iallgather_module);
}

static int mca_alltoall(const void *send, int send_count, MPI_Datatype send_type,
			void *recv, int recv_count, MPI_Datatype recv_type, MPI_Comm comm,
			mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_shares(&call, comm_of(module), INCMPI_ALLTOALL, send, send_count,
			      send_type, recv, recv_count, recv_type, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_alltoall, send, send_count, send_type,
				     recv, recv_count, recv_type, comm);
}

static int mca_ialltoall(const void *send, int send_count, MPI_Datatype send_type,
			 void *recv, int recv_count, MPI_Datatype recv_type, MPI_Comm comm,
			 MPI_Request *request, mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_shares(&call, comm_of(module), INCMPI_ALLTOALL, send, send_count,
			      send_type, recv, recv_count, recv_type, request) ?
	       call.ret : m->below.coll_ialltoall(send, send_count, send_type, recv,
						  recv_count, recv_type, comm, request,
						  m->below.coll_ialltoall_module);
}

static int mca_allgatherv(const void *send, int send_count, MPI_Datatype send_type,
			  void *recv, const int counts[], const int displs[],
			  MPI_Datatype recv_type, MPI_Comm comm,
			  mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_allgatherv(&call, comm_of(module), send, send_count, send_type, recv,
				  pmpi_ints(counts, displs), recv_type, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_allgatherv, send, send_count, send_type,
				     recv, counts, displs, recv_type, comm);
}

static int mca_iallgatherv(const void *send, int send_count, MPI_Datatype send_type,
			   void *recv, const int counts[], const int displs[],
			   MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request,
			   mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_allgatherv(&call, comm_of(module), send, send_count, send_type, recv,
				  pmpi_ints(counts, displs), recv_type, request) ?
	       call.ret : m->below.coll_iallgatherv(send, send_count, send_type, recv,
						    counts, displs, recv_type, comm,
						    request,
						    m->below.coll_iallgatherv_module);
}

static int mca_alltoallv(const void *send, const int send_counts[], const int send_displs[],
			 MPI_Datatype send_type, void *recv, const int recv_counts[],
			 const int recv_displs[], MPI_Datatype recv_type, MPI_Comm comm,
			 mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_alltoallv(&call, comm_of(module), send, pmpi_ints(send_counts, send_displs),
				 send_type, recv, pmpi_ints(recv_counts, recv_displs), recv_type,
				 NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_alltoallv, send, send_counts,
				     send_displs, send_type, recv, recv_counts, recv_displs,
				     recv_type, comm);
}

static int mca_ialltoallv(const void *send, const int send_counts[],
			  const int send_displs[], MPI_Datatype send_type, void *recv,
			  const int recv_counts[], const int recv_displs[],
			  MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request,
			  mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_alltoallv(&call, comm_of(module), send, pmpi_ints(send_counts, send_displs),
				 send_type, recv, pmpi_ints(recv_counts, recv_displs), recv_type,
				 request) ?
	       call.ret : m->below.coll_ialltoallv(send, send_counts, send_displs,
						   send_type, recv, recv_counts,
						   recv_displs, recv_type, comm, request,
						   m->below.coll_ialltoallv_module);
}

static int mca_alltoallw(const void *send, const int send_counts[], const int send_displs[],
			 const MPI_Datatype send_types[], void *recv,
			 const int recv_counts[], const int recv_displs[],
			 const MPI_Datatype recv_types[], MPI_Comm comm,
			 mca_coll_base_module_t *module)
{
	struct coll_module *m = (struct coll_module *)module;
	struct pmpi_call call;

	return pmpi_do_alltoallw(&call, comm_of(module), send, pmpi_ints(send_counts, send_displs),
				 send_types, recv, pmpi_ints(recv_counts, recv_displs),
				 recv_types, NULL) ?
	       call.ret : COLL_BELOW(m, comm, coll_alltoallw, send, send_counts,
				     send_displs, send_types, recv, recv_counts,
				     recv_displs, recv_types, comm);
}

#define ENTRY(name)	COLL_FUNCTION(name)

const struct coll_function coll_functions[] = {
	ENTRY(barrier), ENTRY(ibarrier), ENTRY(bcast), ENTRY(ibcast), ENTRY(allreduce),
	ENTRY(iallreduce), ENTRY(reduce), ENTRY(ireduce), ENTRY(scan), ENTRY(iscan),
	ENTRY(exscan), ENTRY(iexscan), ENTRY(reduce_scatter), ENTRY(ireduce_scatter),
	ENTRY(reduce_scatter_block), ENTRY(ireduce_scatter_block), ENTRY(gather),
	ENTRY(igather), ENTRY(gatherv), ENTRY(igatherv), ENTRY(scatter), ENTRY(iscatter),
	ENTRY(scatterv), ENTRY(iscatterv), ENTRY(allgather), ENTRY(iallgather), ENTRY(alltoall),
	ENTRY(ialltoall), ENTRY(allgatherv), ENTRY(iallgatherv), ENTRY(alltoallv),
	ENTRY(ialltoallv), ENTRY(alltoallw),
};

const size_t nr_coll_functions = sizeof(coll_functions) / sizeof(coll_functions[0]);
