/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Persistent collectives, as a list: PERSISTENT(Name, name, (parameters), (arguments), keep), where
 * @keep gives INC the call, see pmpi_call.h: true: it does it. This is included wherever all of
 * them are needed: no guard.
 *
 * Before: PERSISTENT(); END and ENDS, parameters and arguments that all have; COUNT and DISPL, the
 * types of counts and displacements; SHARES(counts, displs), a struct incmpi_shares of arrays of
 * these; TO, the call and the communicator for @keep.
 */
#define TYPED	COUNT count, MPI_Datatype type
#define SHARE	COUNT send_count, MPI_Datatype send_type
#define GOT	COUNT recv_count, MPI_Datatype recv_type
#define ARRAYS	const COUNT counts[], const DISPL displs[]
#define ALL	SHARES(counts, displs)
#define REQ	&pmpi_persistent

PERSISTENT(Bcast, bcast, (void *buf, TYPED, int root, END), (buf, count, type, root, ENDS),
	   pmpi_do_bcast(TO, buf, count, type, root, REQ))
PERSISTENT(Reduce, reduce, (const void *send, void *recv, TYPED, MPI_Op op, int root, END),
	   (send, recv, count, type, op, root, ENDS),
	   pmpi_do_reduction(TO, INCMPI_REDUCE, send, recv, count, type, op, root, REQ))
PERSISTENT(Allreduce, allreduce, (const void *send, void *recv, TYPED, MPI_Op op, END),
	   (send, recv, count, type, op, ENDS),
	   pmpi_do_reduction(TO, INCMPI_ALLREDUCE, send, recv, count, type, op, 0, REQ))
PERSISTENT(Scan, scan, (const void *send, void *recv, TYPED, MPI_Op op, END),
	   (send, recv, count, type, op, ENDS),
	   pmpi_do_reduction(TO, INCMPI_SCAN, send, recv, count, type, op, 0, REQ))
PERSISTENT(Exscan, exscan, (const void *send, void *recv, TYPED, MPI_Op op, END),
	   (send, recv, count, type, op, ENDS),
	   pmpi_do_reduction(TO, INCMPI_EXSCAN, send, recv, count, type, op, 0, REQ))
PERSISTENT(Reduce_scatter, reduce_scatter,
	   (const void *send, void *recv, const COUNT counts[], MPI_Datatype type, MPI_Op op, END),
	   (send, recv, counts, type, op, ENDS),
	   pmpi_do_reduce_scatter(TO, send, recv, SHARES(counts, NULL), type, op, REQ))
PERSISTENT(Reduce_scatter_block, reduce_scatter_block,
	   (const void *send, void *recv, TYPED, MPI_Op op, END),
	   (send, recv, count, type, op, ENDS),
	   pmpi_do_reduce_scatter_block(TO, send, recv, count, type, op, REQ))
PERSISTENT(Gather, gather, (const void *send, SHARE, void *recv, GOT, int root, END),
	   (send, send_count, send_type, recv, recv_count, recv_type, root, ENDS),
	   pmpi_do_gather(TO, send, send_count, send_type, recv, recv_count, recv_type, root, REQ))
PERSISTENT(Gatherv, gatherv,
	   (const void *send, SHARE, void *recv, ARRAYS, MPI_Datatype recv_type, int root, END),
	   (send, send_count, send_type, recv, counts, displs, recv_type, root, ENDS),
	   pmpi_do_gatherv(TO, send, send_count, send_type, recv, ALL, recv_type, root, REQ))
PERSISTENT(Scatter, scatter, (const void *send, SHARE, void *recv, GOT, int root, END),
	   (send, send_count, send_type, recv, recv_count, recv_type, root, ENDS),
	   pmpi_do_scatter(TO, send, send_count, send_type, recv, recv_count, recv_type, root, REQ))
PERSISTENT(Scatterv, scatterv,
	   (const void *send, ARRAYS, MPI_Datatype send_type, void *recv, GOT, int root, END),
	   (send, counts, displs, send_type, recv, recv_count, recv_type, root, ENDS),
	   pmpi_do_scatterv(TO, send, ALL, send_type, recv, recv_count, recv_type, root, REQ))
PERSISTENT(Allgather, allgather, (const void *send, SHARE, void *recv, GOT, END),
	   (send, send_count, send_type, recv, recv_count, recv_type, ENDS),
	   pmpi_do_shares(TO, INCMPI_ALLGATHER, send, send_count, send_type, recv, recv_count,
			  recv_type, REQ))
PERSISTENT(Allgatherv, allgatherv,
	   (const void *send, SHARE, void *recv, ARRAYS, MPI_Datatype recv_type, END),
	   (send, send_count, send_type, recv, counts, displs, recv_type, ENDS),
	   pmpi_do_allgatherv(TO, send, send_count, send_type, recv, ALL, recv_type, REQ))
PERSISTENT(Alltoall, alltoall, (const void *send, SHARE, void *recv, GOT, END),
	   (send, send_count, send_type, recv, recv_count, recv_type, ENDS),
	   pmpi_do_shares(TO, INCMPI_ALLTOALL, send, send_count, send_type, recv, recv_count,
			  recv_type, REQ))
PERSISTENT(Alltoallv, alltoallv,
	   (const void *send, ARRAYS, MPI_Datatype send_type, void *recv,
	    const COUNT recv_counts[], const DISPL recv_displs[], MPI_Datatype recv_type, END),
	   (send, counts, displs, send_type, recv, recv_counts, recv_displs, recv_type, ENDS),
	   pmpi_do_alltoallv(TO, send, ALL, send_type, recv, SHARES(recv_counts, recv_displs),
			     recv_type, REQ))
PERSISTENT(Alltoallw, alltoallw,
	   (const void *send, ARRAYS, const MPI_Datatype send_types[], void *recv,
	    const COUNT recv_counts[], const DISPL recv_displs[], const MPI_Datatype recv_types[],
	    END),
	   (send, counts, displs, send_types, recv, recv_counts, recv_displs, recv_types, ENDS),
	   pmpi_do_alltoallw(TO, send, ALL, send_types, recv, SHARES(recv_counts, recv_displs),
			     recv_types, REQ))

#undef TYPED
#undef SHARE
#undef GOT
#undef ARRAYS
#undef ALL
#undef REQ
