// SPDX-License-Identifier: GPL-2.0-only
/* The collectives that are measured, by INC and by the MPI. */
#include "calls.h"

bool tune_fn_is_measured(enum incmpi_fn fn)
{
	return fn != INCMPI_GATHERV && fn != INCMPI_SCATTERV && fn != INCMPI_ALLTOALLV &&
	       fn != INCMPI_ALLTOALLW;
}

bool tune_fn_has_shares(enum incmpi_fn fn)
{
	return fn == INCMPI_REDUCE_SCATTER || fn == INCMPI_REDUCE_SCATTER_BLOCK ||
	       fn >= INCMPI_GATHER;
}

void tune_call_fill(struct tune_call *call, size_t bytes)
{
	int size = call->ways->size;
	size_t elements = bytes / call->element->size;

	if (tune_fn_has_shares(call->fn))
		elements /= (size_t)size;
	call->count = elements ? (int)elements : 1;
	for (int i = 0; i < size; i++) {
		call->counts[i] = call->count;
		call->displs[i] = i * call->count;
	}
}

size_t tune_call_bytes(const struct tune_call *call)
{
	size_t bytes = (size_t)call->count * call->element->size;

	if (call->fn == INCMPI_BARRIER)
		return 0;
	return tune_fn_has_shares(call->fn) ? bytes * (size_t)call->ways->size : bytes;
}

/* One text for MPI_X and PMPI_X. */
#define RUN(prefix, c, comm)								\
do {											\
	const struct tune_call *c_ = (c);						\
	MPI_Datatype type_ = c_->element->type;						\
	MPI_Op op_ = c_->element->op;							\
	MPI_Comm comm_ = (comm);							\
	void *send_ = c_->send, *recv_ = c_->recv;					\
	int n_ = c_->count;								\
											\
	switch (c_->fn) {								\
	case INCMPI_BARRIER:								\
		prefix##Barrier(comm_);							\
		break;									\
	case INCMPI_BCAST:								\
		prefix##Bcast(recv_, n_, type_, 0, comm_);				\
		break;									\
	case INCMPI_REDUCE:								\
		prefix##Reduce(send_, recv_, n_, type_, op_, 0, comm_);			\
		break;									\
	case INCMPI_ALLREDUCE:								\
		prefix##Allreduce(send_, recv_, n_, type_, op_, comm_);			\
		break;									\
	case INCMPI_REDUCE_SCATTER:							\
		prefix##Reduce_scatter(send_, recv_, c_->counts, type_, op_, comm_);	\
		break;									\
	case INCMPI_REDUCE_SCATTER_BLOCK:						\
		prefix##Reduce_scatter_block(send_, recv_, n_, type_, op_, comm_);	\
		break;									\
	case INCMPI_SCAN:								\
		prefix##Scan(send_, recv_, n_, type_, op_, comm_);			\
		break;									\
	case INCMPI_EXSCAN:								\
		prefix##Exscan(send_, recv_, n_, type_, op_, comm_);			\
		break;									\
	case INCMPI_GATHER:								\
		prefix##Gather(send_, n_, type_, recv_, n_, type_, 0, comm_);		\
		break;									\
	case INCMPI_SCATTER:								\
		prefix##Scatter(send_, n_, type_, recv_, n_, type_, 0, comm_);		\
		break;									\
	case INCMPI_ALLGATHER:								\
		prefix##Allgather(send_, n_, type_, recv_, n_, type_, comm_);		\
		break;									\
	case INCMPI_ALLGATHERV:								\
		prefix##Allgatherv(send_, n_, type_, recv_, c_->counts, c_->displs,	\
				   type_, comm_);					\
		break;									\
	case INCMPI_ALLTOALL:								\
		prefix##Alltoall(send_, n_, type_, recv_, n_, type_, comm_);		\
		break;									\
	default:									\
		break;									\
	}										\
} while (0)

void tune_call_run(const struct tune_call *call, bool by_inc)
{
	if (by_inc)
		RUN(MPI_, call, call->ways->inc);
	else
		RUN(PMPI_, call, call->ways->mpi);
}
