// SPDX-License-Identifier: GPL-2.0-only
/* The collectives that are measured, by INC and by the MPI. */
#include "tune.h"

const char *const tune_fn_names[NR_FNS] = {
	"barrier", "bcast", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block",
	"scan", "exscan", "gather", "scatter", "allgather", "allgatherv", "alltoall",
};

bool tune_fn_reduces(enum fn fn)
{
	return fn >= REDUCE && fn <= EXSCAN;
}

bool tune_fn_has_shares(enum fn fn)
{
	return fn == REDUCE_SCATTER || fn == REDUCE_SCATTER_BLOCK || fn >= GATHER;
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

	if (call->fn == BARRIER)
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
	case BARRIER:									\
		prefix##Barrier(comm_);							\
		break;									\
	case BCAST:									\
		prefix##Bcast(recv_, n_, type_, 0, comm_);				\
		break;									\
	case REDUCE:									\
		prefix##Reduce(send_, recv_, n_, type_, op_, 0, comm_);			\
		break;									\
	case ALLREDUCE:									\
		prefix##Allreduce(send_, recv_, n_, type_, op_, comm_);			\
		break;									\
	case REDUCE_SCATTER:								\
		prefix##Reduce_scatter(send_, recv_, c_->counts, type_, op_, comm_);	\
		break;									\
	case REDUCE_SCATTER_BLOCK:							\
		prefix##Reduce_scatter_block(send_, recv_, n_, type_, op_, comm_);	\
		break;									\
	case SCAN:									\
		prefix##Scan(send_, recv_, n_, type_, op_, comm_);			\
		break;									\
	case EXSCAN:									\
		prefix##Exscan(send_, recv_, n_, type_, op_, comm_);			\
		break;									\
	case GATHER:									\
		prefix##Gather(send_, n_, type_, recv_, n_, type_, 0, comm_);		\
		break;									\
	case SCATTER:									\
		prefix##Scatter(send_, n_, type_, recv_, n_, type_, 0, comm_);		\
		break;									\
	case ALLGATHER:									\
		prefix##Allgather(send_, n_, type_, recv_, n_, type_, comm_);		\
		break;									\
	case ALLGATHERV:								\
		prefix##Allgatherv(send_, n_, type_, recv_, c_->counts, c_->displs,	\
				   type_, comm_);					\
		break;									\
	case ALLTOALL:									\
		prefix##Alltoall(send_, n_, type_, recv_, n_, type_, comm_);		\
		break;									\
	case NR_FNS:									\
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
