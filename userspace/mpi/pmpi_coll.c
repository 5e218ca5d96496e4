// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The collectives, in front of those of the MPI, which does what INC does not. MPI_Ialltoallw() and
 * persistent collectives are always the MPI's.
 */
#include "pmpi_call.h"

/* ---- Barrier, broadcast ---------------------------------------------------- */

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

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_bcast(&call, pmpi_comm_find(comm), buf, count, type, root, NULL) ?
	       call.ret : PMPI_Bcast(buf, count, type, root, comm);
}

int MPI_Ibcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm,
	       MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_bcast(&call, pmpi_comm_find(comm), buf, count, type, root, request) ?
	       call.ret : PMPI_Ibcast(buf, count, type, root, comm, request);
}

/* ---- Reductions ------------------------------------------------------------- */

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
		  MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_ALLREDUCE, send, recv, count,
				 type, op, 0, NULL) ?
	       call.ret : PMPI_Allreduce(send, recv, count, type, op, comm);
}

int MPI_Iallreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
		   MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_ALLREDUCE, send, recv, count,
				 type, op, 0, request) ?
	       call.ret : PMPI_Iallreduce(send, recv, count, type, op, comm, request);
}

int MPI_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root,
	       MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_REDUCE, send, recv, count,
				 type, op, root, NULL) ?
	       call.ret : PMPI_Reduce(send, recv, count, type, op, root, comm);
}

int MPI_Ireduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
		int root, MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_REDUCE, send, recv, count,
				 type, op, root, request) ?
	       call.ret : PMPI_Ireduce(send, recv, count, type, op, root, comm, request);
}

int MPI_Scan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
	     MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_SCAN, send, recv, count, type,
				 op, 0, NULL) ?
	       call.ret : PMPI_Scan(send, recv, count, type, op, comm);
}

int MPI_Iscan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
	      MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_SCAN, send, recv, count, type,
				 op, 0, request) ?
	       call.ret : PMPI_Iscan(send, recv, count, type, op, comm, request);
}

int MPI_Exscan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
	       MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_EXSCAN, send, recv, count,
				 type, op, 0, NULL) ?
	       call.ret : PMPI_Exscan(send, recv, count, type, op, comm);
}

int MPI_Iexscan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
		MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_EXSCAN, send, recv, count,
				 type, op, 0, request) ?
	       call.ret : PMPI_Iexscan(send, recv, count, type, op, comm, request);
}

int MPI_Reduce_scatter(const void *send, void *recv, const int counts[], MPI_Datatype type,
		       MPI_Op op, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_reduce_scatter(&call, pmpi_comm_find(comm), send, recv, counts, type, op,
				      NULL) ?
	       call.ret : PMPI_Reduce_scatter(send, recv, counts, type, op, comm);
}

int MPI_Ireduce_scatter(const void *send, void *recv, const int counts[], MPI_Datatype type,
			MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_reduce_scatter(&call, pmpi_comm_find(comm), send, recv, counts, type, op,
				      request) ?
	       call.ret : PMPI_Ireduce_scatter(send, recv, counts, type, op, comm, request);
}

int MPI_Reduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype type,
			     MPI_Op op, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_reduce_scatter_block(&call, pmpi_comm_find(comm), send, recv, count, type,
					    op, NULL) ?
	       call.ret : PMPI_Reduce_scatter_block(send, recv, count, type, op, comm);
}

int MPI_Ireduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype type,
			      MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_reduce_scatter_block(&call, pmpi_comm_find(comm), send, recv, count, type,
					    op, request) ?
	       call.ret : PMPI_Ireduce_scatter_block(send, recv, count, type, op, comm, request);
}

/* ---- Gather and scatter: the root's arguments for all shares count at the root only ---------- */

int MPI_Gather(const void *send, int send_count, MPI_Datatype send_type, void *recv,
	       int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_gather(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
			      recv_count, recv_type, root, NULL) ?
	       call.ret : PMPI_Gather(send, send_count, send_type, recv, recv_count, recv_type,
				      root, comm);
}

int MPI_Igather(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
		MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_gather(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
			      recv_count, recv_type, root, request) ?
	       call.ret : PMPI_Igather(send, send_count, send_type, recv, recv_count, recv_type,
				       root, comm, request);
}

int MPI_Gatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		const int counts[], const int displs[], MPI_Datatype recv_type, int root,
		MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_gatherv(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
			       counts, displs, recv_type, root, NULL) ?
	       call.ret : PMPI_Gatherv(send, send_count, send_type, recv, counts, displs,
				       recv_type, root, comm);
}

int MPI_Igatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		 const int counts[], const int displs[], MPI_Datatype recv_type, int root,
		 MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_gatherv(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
			       counts, displs, recv_type, root, request) ?
	       call.ret : PMPI_Igatherv(send, send_count, send_type, recv, counts, displs,
					recv_type, root, comm, request);
}

int MPI_Scatter(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_scatter(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
			       recv_count, recv_type, root, NULL) ?
	       call.ret : PMPI_Scatter(send, send_count, send_type, recv, recv_count, recv_type,
				       root, comm);
}

int MPI_Iscatter(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		 int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
		 MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_scatter(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
			       recv_count, recv_type, root, request) ?
	       call.ret : PMPI_Iscatter(send, send_count, send_type, recv, recv_count, recv_type,
					root, comm, request);
}

int MPI_Scatterv(const void *send, const int counts[], const int displs[],
		 MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type,
		 int root, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_scatterv(&call, pmpi_comm_find(comm), send, counts, displs, send_type, recv,
				recv_count, recv_type, root, NULL) ?
	       call.ret : PMPI_Scatterv(send, counts, displs, send_type, recv, recv_count,
					recv_type, root, comm);
}

int MPI_Iscatterv(const void *send, const int counts[], const int displs[],
		  MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type,
		  int root, MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_scatterv(&call, pmpi_comm_find(comm), send, counts, displs, send_type, recv,
				recv_count, recv_type, root, request) ?
	       call.ret : PMPI_Iscatterv(send, counts, displs, send_type, recv, recv_count,
					 recv_type, root, comm, request);
}

/* ---- Allgather and alltoall ---------------------------------------------------- */

int MPI_Allgather(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		  int recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_shares(&call, pmpi_comm_find(comm), INCMPI_ALLGATHER, send, send_count,
			      send_type, recv, recv_count, recv_type, NULL) ?
	       call.ret : PMPI_Allgather(send, send_count, send_type, recv, recv_count, recv_type,
					 comm);
}

int MPI_Iallgather(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		   int recv_count, MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_shares(&call, pmpi_comm_find(comm), INCMPI_ALLGATHER, send, send_count,
			      send_type, recv, recv_count, recv_type, request) ?
	       call.ret : PMPI_Iallgather(send, send_count, send_type, recv, recv_count, recv_type,
					  comm, request);
}

int MPI_Alltoall(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		 int recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_shares(&call, pmpi_comm_find(comm), INCMPI_ALLTOALL, send, send_count,
			      send_type, recv, recv_count, recv_type, NULL) ?
	       call.ret : PMPI_Alltoall(send, send_count, send_type, recv, recv_count, recv_type,
					comm);
}

int MPI_Ialltoall(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		  int recv_count, MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_shares(&call, pmpi_comm_find(comm), INCMPI_ALLTOALL, send, send_count,
			      send_type, recv, recv_count, recv_type, request) ?
	       call.ret : PMPI_Ialltoall(send, send_count, send_type, recv, recv_count, recv_type,
					 comm, request);
}

int MPI_Allgatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		   const int counts[], const int displs[], MPI_Datatype recv_type,
		   MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_allgatherv(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
				  counts, displs, recv_type, NULL) ?
	       call.ret : PMPI_Allgatherv(send, send_count, send_type, recv, counts, displs,
					  recv_type, comm);
}

int MPI_Iallgatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		    const int counts[], const int displs[], MPI_Datatype recv_type,
		    MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_allgatherv(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
				  counts, displs, recv_type, request) ?
	       call.ret : PMPI_Iallgatherv(send, send_count, send_type, recv, counts, displs,
					   recv_type, comm, request);
}

int MPI_Alltoallv(const void *send, const int send_counts[], const int send_displs[],
		  MPI_Datatype send_type, void *recv, const int recv_counts[],
		  const int recv_displs[], MPI_Datatype recv_type, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_alltoallv(&call, pmpi_comm_find(comm), send, send_counts, send_displs,
				 send_type, recv, recv_counts, recv_displs, recv_type, NULL) ?
	       call.ret : PMPI_Alltoallv(send, send_counts, send_displs, send_type, recv,
					 recv_counts, recv_displs, recv_type, comm);
}

int MPI_Ialltoallv(const void *send, const int send_counts[], const int send_displs[],
		   MPI_Datatype send_type, void *recv, const int recv_counts[],
		   const int recv_displs[], MPI_Datatype recv_type, MPI_Comm comm,
		   MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_alltoallv(&call, pmpi_comm_find(comm), send, send_counts, send_displs,
				 send_type, recv, recv_counts, recv_displs, recv_type, request) ?
	       call.ret : PMPI_Ialltoallv(send, send_counts, send_displs, send_type, recv,
					  recv_counts, recv_displs, recv_type, comm, request);
}

/* ---- Alltoallw: a type for every share ------------------------------------------ */

int MPI_Alltoallw(const void *send, const int send_counts[], const int send_displs[],
		  const MPI_Datatype send_types[], void *recv, const int recv_counts[],
		  const int recv_displs[], const MPI_Datatype recv_types[], MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_alltoallw(&call, pmpi_comm_find(comm), send, send_counts, send_displs,
				 send_types, recv, recv_counts, recv_displs, recv_types) ?
	       call.ret : PMPI_Alltoallw(send, send_counts, send_displs, send_types, recv,
					 recv_counts, recv_displs, recv_types, comm);
}

/* MPICH looks at requests only in functions that wait or test, of which this is none. */
int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	pmpi_watch_look();
	return PMPI_Request_get_status(request, flag, status);
}
