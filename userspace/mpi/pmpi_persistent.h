/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Persistent collectives, which are the MPI's. MPI 4 has each of them twice: this is included for
 * both, where PERSISTENT(Name, (parameters), (arguments)) is defined, and COUNT and DISPL are the
 * types of counts and displacements: no guard.
 */
#define END	MPI_Comm comm, MPI_Info info, MPI_Request *request
#define ENDS	comm, info, request
#define TYPED	COUNT count, MPI_Datatype type
#define SHARE	COUNT send_count, MPI_Datatype send_type
#define GOT	COUNT recv_count, MPI_Datatype recv_type
#define SHARES	const COUNT counts[], const DISPL displs[]

PERSISTENT(Bcast, (void *buf, TYPED, int root, END), (buf, count, type, root, ENDS))
PERSISTENT(Reduce, (const void *send, void *recv, TYPED, MPI_Op op, int root, END),
	   (send, recv, count, type, op, root, ENDS))
PERSISTENT(Allreduce, (const void *send, void *recv, TYPED, MPI_Op op, END),
	   (send, recv, count, type, op, ENDS))
PERSISTENT(Scan, (const void *send, void *recv, TYPED, MPI_Op op, END),
	   (send, recv, count, type, op, ENDS))
PERSISTENT(Exscan, (const void *send, void *recv, TYPED, MPI_Op op, END),
	   (send, recv, count, type, op, ENDS))
PERSISTENT(Reduce_scatter, (const void *send, void *recv, const COUNT counts[], MPI_Datatype type,
			    MPI_Op op, END),
	   (send, recv, counts, type, op, ENDS))
PERSISTENT(Reduce_scatter_block, (const void *send, void *recv, TYPED, MPI_Op op, END),
	   (send, recv, count, type, op, ENDS))
PERSISTENT(Gather, (const void *send, SHARE, void *recv, GOT, int root, END),
	   (send, send_count, send_type, recv, recv_count, recv_type, root, ENDS))
PERSISTENT(Gatherv, (const void *send, SHARE, void *recv, SHARES, MPI_Datatype recv_type, int root,
		     END),
	   (send, send_count, send_type, recv, counts, displs, recv_type, root, ENDS))
PERSISTENT(Scatter, (const void *send, SHARE, void *recv, GOT, int root, END),
	   (send, send_count, send_type, recv, recv_count, recv_type, root, ENDS))
PERSISTENT(Scatterv, (const void *send, SHARES, MPI_Datatype send_type, void *recv, GOT, int root,
		      END),
	   (send, counts, displs, send_type, recv, recv_count, recv_type, root, ENDS))
PERSISTENT(Allgather, (const void *send, SHARE, void *recv, GOT, END),
	   (send, send_count, send_type, recv, recv_count, recv_type, ENDS))
PERSISTENT(Allgatherv, (const void *send, SHARE, void *recv, SHARES, MPI_Datatype recv_type, END),
	   (send, send_count, send_type, recv, counts, displs, recv_type, ENDS))
PERSISTENT(Alltoall, (const void *send, SHARE, void *recv, GOT, END),
	   (send, send_count, send_type, recv, recv_count, recv_type, ENDS))
PERSISTENT(Alltoallv, (const void *send, SHARES, MPI_Datatype send_type, void *recv,
		       const COUNT recv_counts[], const DISPL recv_displs[],
		       MPI_Datatype recv_type, END),
	   (send, counts, displs, send_type, recv, recv_counts, recv_displs, recv_type, ENDS))
PERSISTENT(Alltoallw, (const void *send, SHARES, const MPI_Datatype send_types[], void *recv,
		       const COUNT recv_counts[], const DISPL recv_displs[],
		       const MPI_Datatype recv_types[], END),
	   (send, counts, displs, send_types, recv, recv_counts, recv_displs, recv_types, ENDS))

#undef END
#undef ENDS
#undef TYPED
#undef SHARE
#undef GOT
#undef SHARES
