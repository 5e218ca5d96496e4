/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The collectives that have counts, in front of those of the MPI, which does what INC does not. MPI
 * 4 has each of them twice: this is included for both.
 *
 * Before: MPI_FN(Name) and PMPI_FN(Name), the functions; COUNT and DISPL, the types of counts and
 * displacements; SHARES(counts, displs), a struct incmpi_shares of arrays of these.
 */
int MPI_FN(Bcast)(void *buf, COUNT count, MPI_Datatype type, int root, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_bcast(&call, pmpi_comm_find(comm), buf, count, type, root, NULL) ?
	       call.ret : PMPI_FN(Bcast)(buf, count, type, root, comm);
}

int MPI_FN(Ibcast)(void *buf, COUNT count, MPI_Datatype type, int root, MPI_Comm comm,
		   MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_bcast(&call, pmpi_comm_find(comm), buf, count, type, root, request) ?
	       call.ret : PMPI_FN(Ibcast)(buf, count, type, root, comm, request);
}

/* ---- Reductions ------------------------------------------------------------- */

int MPI_FN(Allreduce)(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op,
		      MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_ALLREDUCE, send, recv, count,
				 type, op, 0, NULL) ?
	       call.ret : PMPI_FN(Allreduce)(send, recv, count, type, op, comm);
}

int MPI_FN(Iallreduce)(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op,
		       MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_ALLREDUCE, send, recv, count,
				 type, op, 0, request) ?
	       call.ret : PMPI_FN(Iallreduce)(send, recv, count, type, op, comm, request);
}

int MPI_FN(Reduce)(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op,
		   int root, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_REDUCE, send, recv, count,
				 type, op, root, NULL) ?
	       call.ret : PMPI_FN(Reduce)(send, recv, count, type, op, root, comm);
}

int MPI_FN(Ireduce)(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op,
		    int root, MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_REDUCE, send, recv, count,
				 type, op, root, request) ?
	       call.ret : PMPI_FN(Ireduce)(send, recv, count, type, op, root, comm, request);
}

int MPI_FN(Scan)(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op,
		 MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_SCAN, send, recv, count, type,
				 op, 0, NULL) ?
	       call.ret : PMPI_FN(Scan)(send, recv, count, type, op, comm);
}

int MPI_FN(Iscan)(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op,
		  MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_SCAN, send, recv, count, type,
				 op, 0, request) ?
	       call.ret : PMPI_FN(Iscan)(send, recv, count, type, op, comm, request);
}

int MPI_FN(Exscan)(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op,
		   MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_EXSCAN, send, recv, count,
				 type, op, 0, NULL) ?
	       call.ret : PMPI_FN(Exscan)(send, recv, count, type, op, comm);
}

int MPI_FN(Iexscan)(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op,
		    MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_reduction(&call, pmpi_comm_find(comm), INCMPI_EXSCAN, send, recv, count,
				 type, op, 0, request) ?
	       call.ret : PMPI_FN(Iexscan)(send, recv, count, type, op, comm, request);
}

int MPI_FN(Reduce_scatter)(const void *send, void *recv, const COUNT counts[], MPI_Datatype type,
			   MPI_Op op, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_reduce_scatter(&call, pmpi_comm_find(comm), send, recv, SHARES(counts, NULL),
				      type, op, NULL) ?
	       call.ret : PMPI_FN(Reduce_scatter)(send, recv, counts, type, op, comm);
}

int MPI_FN(Ireduce_scatter)(const void *send, void *recv, const COUNT counts[], MPI_Datatype type,
			    MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_reduce_scatter(&call, pmpi_comm_find(comm), send, recv, SHARES(counts, NULL),
				      type, op, request) ?
	       call.ret : PMPI_FN(Ireduce_scatter)(send, recv, counts, type, op, comm, request);
}

int MPI_FN(Reduce_scatter_block)(const void *send, void *recv, COUNT count, MPI_Datatype type,
				 MPI_Op op, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_reduce_scatter_block(&call, pmpi_comm_find(comm), send, recv, count, type,
					    op, NULL) ?
	       call.ret : PMPI_FN(Reduce_scatter_block)(send, recv, count, type, op, comm);
}

int MPI_FN(Ireduce_scatter_block)(const void *send, void *recv, COUNT count, MPI_Datatype type,
				  MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_reduce_scatter_block(&call, pmpi_comm_find(comm), send, recv, count, type,
					    op, request) ?
	       call.ret : PMPI_FN(Ireduce_scatter_block)(send, recv, count, type, op, comm,
							 request);
}

/* ---- Gather and scatter: the root's arguments for all shares count at the root only ---------- */

int MPI_FN(Gather)(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
		   COUNT recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_gather(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
			      recv_count, recv_type, root, NULL) ?
	       call.ret : PMPI_FN(Gather)(send, send_count, send_type, recv, recv_count, recv_type,
					  root, comm);
}

int MPI_FN(Igather)(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
		    COUNT recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
		    MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_gather(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
			      recv_count, recv_type, root, request) ?
	       call.ret : PMPI_FN(Igather)(send, send_count, send_type, recv, recv_count, recv_type,
					   root, comm, request);
}

int MPI_FN(Gatherv)(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
		    const COUNT counts[], const DISPL displs[], MPI_Datatype recv_type, int root,
		    MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_gatherv(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
			       SHARES(counts, displs), recv_type, root, NULL) ?
	       call.ret : PMPI_FN(Gatherv)(send, send_count, send_type, recv, counts, displs,
					   recv_type, root, comm);
}

int MPI_FN(Igatherv)(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
		     const COUNT counts[], const DISPL displs[], MPI_Datatype recv_type, int root,
		     MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_gatherv(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
			       SHARES(counts, displs), recv_type, root, request) ?
	       call.ret : PMPI_FN(Igatherv)(send, send_count, send_type, recv, counts, displs,
					    recv_type, root, comm, request);
}

int MPI_FN(Scatter)(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
		    COUNT recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_scatter(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
			       recv_count, recv_type, root, NULL) ?
	       call.ret : PMPI_FN(Scatter)(send, send_count, send_type, recv, recv_count, recv_type,
					   root, comm);
}

int MPI_FN(Iscatter)(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
		     COUNT recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
		     MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_scatter(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
			       recv_count, recv_type, root, request) ?
	       call.ret : PMPI_FN(Iscatter)(send, send_count, send_type, recv, recv_count,
					    recv_type, root, comm, request);
}

int MPI_FN(Scatterv)(const void *send, const COUNT counts[], const DISPL displs[],
		     MPI_Datatype send_type, void *recv, COUNT recv_count, MPI_Datatype recv_type,
		     int root, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_scatterv(&call, pmpi_comm_find(comm), send, SHARES(counts, displs),
				send_type, recv, recv_count, recv_type, root, NULL) ?
	       call.ret : PMPI_FN(Scatterv)(send, counts, displs, send_type, recv, recv_count,
					    recv_type, root, comm);
}

int MPI_FN(Iscatterv)(const void *send, const COUNT counts[], const DISPL displs[],
		      MPI_Datatype send_type, void *recv, COUNT recv_count, MPI_Datatype recv_type,
		      int root, MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_scatterv(&call, pmpi_comm_find(comm), send, SHARES(counts, displs),
				send_type, recv, recv_count, recv_type, root, request) ?
	       call.ret : PMPI_FN(Iscatterv)(send, counts, displs, send_type, recv, recv_count,
					     recv_type, root, comm, request);
}

/* ---- Allgather and alltoall ---------------------------------------------------- */

int MPI_FN(Allgather)(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
		      COUNT recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_shares(&call, pmpi_comm_find(comm), INCMPI_ALLGATHER, send, send_count,
			      send_type, recv, recv_count, recv_type, NULL) ?
	       call.ret : PMPI_FN(Allgather)(send, send_count, send_type, recv, recv_count,
					     recv_type, comm);
}

int MPI_FN(Iallgather)(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
		       COUNT recv_count, MPI_Datatype recv_type, MPI_Comm comm,
		       MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_shares(&call, pmpi_comm_find(comm), INCMPI_ALLGATHER, send, send_count,
			      send_type, recv, recv_count, recv_type, request) ?
	       call.ret : PMPI_FN(Iallgather)(send, send_count, send_type, recv, recv_count,
					      recv_type, comm, request);
}

int MPI_FN(Alltoall)(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
		     COUNT recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_shares(&call, pmpi_comm_find(comm), INCMPI_ALLTOALL, send, send_count,
			      send_type, recv, recv_count, recv_type, NULL) ?
	       call.ret : PMPI_FN(Alltoall)(send, send_count, send_type, recv, recv_count,
					    recv_type, comm);
}

int MPI_FN(Ialltoall)(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
		      COUNT recv_count, MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_shares(&call, pmpi_comm_find(comm), INCMPI_ALLTOALL, send, send_count,
			      send_type, recv, recv_count, recv_type, request) ?
	       call.ret : PMPI_FN(Ialltoall)(send, send_count, send_type, recv, recv_count,
					     recv_type, comm, request);
}

int MPI_FN(Allgatherv)(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
		       const COUNT counts[], const DISPL displs[], MPI_Datatype recv_type,
		       MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_allgatherv(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
				  SHARES(counts, displs), recv_type, NULL) ?
	       call.ret : PMPI_FN(Allgatherv)(send, send_count, send_type, recv, counts, displs,
					      recv_type, comm);
}

int MPI_FN(Iallgatherv)(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
			const COUNT counts[], const DISPL displs[], MPI_Datatype recv_type,
			MPI_Comm comm, MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_allgatherv(&call, pmpi_comm_find(comm), send, send_count, send_type, recv,
				  SHARES(counts, displs), recv_type, request) ?
	       call.ret : PMPI_FN(Iallgatherv)(send, send_count, send_type, recv, counts, displs,
					       recv_type, comm, request);
}

int MPI_FN(Alltoallv)(const void *send, const COUNT send_counts[], const DISPL send_displs[],
		      MPI_Datatype send_type, void *recv, const COUNT recv_counts[],
		      const DISPL recv_displs[], MPI_Datatype recv_type, MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_alltoallv(&call, pmpi_comm_find(comm), send,
				 SHARES(send_counts, send_displs), send_type, recv,
				 SHARES(recv_counts, recv_displs), recv_type, NULL) ?
	       call.ret : PMPI_FN(Alltoallv)(send, send_counts, send_displs, send_type, recv,
					     recv_counts, recv_displs, recv_type, comm);
}

int MPI_FN(Ialltoallv)(const void *send, const COUNT send_counts[], const DISPL send_displs[],
		       MPI_Datatype send_type, void *recv, const COUNT recv_counts[],
		       const DISPL recv_displs[], MPI_Datatype recv_type, MPI_Comm comm,
		       MPI_Request *request)
{
	struct pmpi_call call;

	return pmpi_do_alltoallv(&call, pmpi_comm_find(comm), send,
				 SHARES(send_counts, send_displs), send_type, recv,
				 SHARES(recv_counts, recv_displs), recv_type, request) ?
	       call.ret : PMPI_FN(Ialltoallv)(send, send_counts, send_displs, send_type, recv,
					      recv_counts, recv_displs, recv_type, comm, request);
}

/* ---- Alltoallw: a type for every share ------------------------------------------ */

int MPI_FN(Alltoallw)(const void *send, const COUNT send_counts[], const DISPL send_displs[],
		      const MPI_Datatype send_types[], void *recv, const COUNT recv_counts[],
		      const DISPL recv_displs[], const MPI_Datatype recv_types[], MPI_Comm comm)
{
	struct pmpi_call call;

	return pmpi_do_alltoallw(&call, pmpi_comm_find(comm), send,
				 SHARES(send_counts, send_displs), send_types, recv,
				 SHARES(recv_counts, recv_displs), recv_types, NULL) ?
	       call.ret : PMPI_FN(Alltoallw)(send, send_counts, send_displs, send_types, recv,
					     recv_counts, recv_displs, recv_types, comm);
}
