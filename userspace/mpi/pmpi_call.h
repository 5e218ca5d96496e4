/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collectives as MPI has them, for whatever sees them: functions MPI_* in front of the MPI
 * (pmpi_coll.c), or a component inside Open MPI (coll_calls.c).
 *
 * Arguments are MPI's. @c: of the communicator; NULL: INC is off. @request: of a non-blocking call,
 * else NULL. True: INC has done or started it, and call->ret is what MPI is to return; false:
 * nothing has been done, and the MPI's own implementation is to do it, as it is at all ranks.
 *
 * @request: &pmpi_persistent: a persistent call is being made, which nothing is started of. True:
 * INC does all of its starts, see call->kept.
 */
#ifndef INCMPI_PMPI_CALL_H
#define INCMPI_PMPI_CALL_H

#include "pmpi.h"

struct pmpi_call {
	struct pmpi_comm *c;
	struct incmpi_call mid;
	struct incmpi_type send_type, recv_type;
	MPI_Datatype send_handle, recv_handle;
	bool one_type_array;	/* of an alltoallw, for both sides */
	MPI_Request *request;
	struct pmpi_kept *kept;	/* of a persistent call that INC does */
	bool no_memory;		/* for its arguments; only seen of a persistent call */
	int ret;
	bool raised;		/* the MPI has refused the communicator: @ret is its error */
};

extern MPI_Request pmpi_persistent;

/*
 * pmpi_kept.c: a persistent call that INC does, with what the program may free or change after it
 * has been made: types and arrays. It goes with its request, and the operation that is under way
 * then.
 */
struct pmpi_kept {
	struct pmpi_call call;
	struct incmpi_comm *group;	/* its own, for its starts one after the other */
	unsigned long looked;		/* pmpi_watch.c */
	unsigned int refs;		/* its request, and the operation under way */
	/* libinc-mpi.so, pmpi_active.c: */
	MPI_Request request;		/* the MPI's, that the program has; never started */
	MPI_Request active;		/* of the operation under way; MPI_REQUEST_NULL: none */
	struct pmpi_kept *next;
};

/* NULL: no memory. The arguments of a @call that the MPI has to refuse are not looked at. */
struct pmpi_kept *pmpi_keep(const struct pmpi_call *call);
void pmpi_kept_hold(struct pmpi_kept *k);
void pmpi_kept_release(struct pmpi_kept *k);

/* pmpi_active.c: MPI has made @request of the call. */
void pmpi_active_add(struct pmpi_kept *k, MPI_Request request);

/* pmpi_request.c: an operation of the call begins. */
int pmpi_request_start_kept(struct pmpi_kept *k, MPI_Request *request);

static inline struct incmpi_shares pmpi_ints(const int counts[], const int displs[])
{
	return (struct incmpi_shares){ counts, displs, false };
}

/* Those of MPI 4. MPI_Count has 64 bits, and MPI_Aint is as wide as a pointer. */
static inline struct incmpi_shares pmpi_wide(const MPI_Count counts[], const MPI_Aint displs[])
{
	return (struct incmpi_shares){ counts, displs, true };
}

_Static_assert(sizeof(MPI_Count) == sizeof(int64_t) && sizeof(MPI_Aint) == sizeof(ptrdiff_t),
	       "the width of MPI_Count and MPI_Aint");

/* Does the MPI refuse buffers that are one? So far nobody has said that it does. */
void pmpi_look_for_aliases(bool does);

bool pmpi_do_barrier(struct pmpi_call *call, struct pmpi_comm *c, MPI_Request *request);
bool pmpi_do_bcast(struct pmpi_call *call, struct pmpi_comm *c, void *buf, MPI_Count count,
		   MPI_Datatype type, int root, MPI_Request *request);
bool pmpi_do_reduction(struct pmpi_call *call, struct pmpi_comm *c, enum incmpi_fn fn,
		       const void *send, void *recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
		       int root, MPI_Request *request);
bool pmpi_do_reduce_scatter(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
			    void *recv, struct incmpi_shares shares, MPI_Datatype type, MPI_Op op,
			    MPI_Request *request);
bool pmpi_do_reduce_scatter_block(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
				  void *recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
				  MPI_Request *request);
bool pmpi_do_gather(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
		    MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
		    MPI_Datatype recv_type, int root, MPI_Request *request);
bool pmpi_do_gatherv(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
		     MPI_Count send_count, MPI_Datatype send_type, void *recv,
		     struct incmpi_shares shares, MPI_Datatype recv_type, int root,
		     MPI_Request *request);
bool pmpi_do_scatter(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
		     MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
		     MPI_Datatype recv_type, int root, MPI_Request *request);
bool pmpi_do_scatterv(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
		      struct incmpi_shares shares, MPI_Datatype send_type, void *recv,
		      MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Request *request);
bool pmpi_do_shares(struct pmpi_call *call, struct pmpi_comm *c, enum incmpi_fn fn,
		    const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
		    MPI_Count recv_count, MPI_Datatype recv_type, MPI_Request *request);
bool pmpi_do_allgatherv(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
			MPI_Count send_count, MPI_Datatype send_type, void *recv,
			struct incmpi_shares shares, MPI_Datatype recv_type, MPI_Request *request);
bool pmpi_do_alltoallv(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
		       struct incmpi_shares sent, MPI_Datatype send_type, void *recv,
		       struct incmpi_shares got, MPI_Datatype recv_type, MPI_Request *request);
bool pmpi_do_alltoallw(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
		       struct incmpi_shares sent, const MPI_Datatype send_types[], void *recv,
		       struct incmpi_shares got, const MPI_Datatype recv_types[],
		       MPI_Request *request);

#endif
