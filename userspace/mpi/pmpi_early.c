// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Functions that make communicators. All ranks of the parent, and of the new communicator, are in
 * them, and MPI lets them wait for each other: a group that non-blocking calls could use can be
 * made here, where no blocking collective may ever come. See incmpi_comm_form().
 */
#include "pmpi.h"

/* False: the MPI has refused the parent, and called the error handler for it. */
static bool find_parent(MPI_Comm comm, struct pmpi_comm **parent, int *error)
{
	*parent = pmpi_comm_find(comm);
	*error = *parent ? (*parent)->error : MPI_SUCCESS;
	return *error == MPI_SUCCESS;
}

static int form_made(int ret, const MPI_Comm *made)
{
	struct pmpi_comm *c;

	if (ret != MPI_SUCCESS || *made == MPI_COMM_NULL)
		return ret;
	c = pmpi_comm_find(*made);
	if (c && c->error == MPI_SUCCESS)
		incmpi_comm_form(c->mid);
	return ret;
}

/* All ranks of @comm are in @call, which makes *@made: both may get their groups. */
#define WITH_PARENT(comm, made, call)						\
({										\
	struct pmpi_comm *parent_;						\
	int ret_;								\
										\
	if (find_parent(comm, &parent_, &ret_)) {				\
		bool early_ = parent_ && incmpi_comm_is_early(parent_->mid);	\
										\
		if (early_)							\
			incmpi_comm_form(parent_->mid);				\
		ret_ = call;							\
		if (early_)							\
			form_made(ret_, made);					\
	}									\
	ret_;									\
})

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
	return WITH_PARENT(comm, made, PMPI_Comm_dup(comm, made));
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *made)
{
	return WITH_PARENT(comm, made, PMPI_Comm_dup_with_info(comm, info, made));
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *made)
{
	return WITH_PARENT(comm, made, PMPI_Comm_create(comm, group, made));
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
	return WITH_PARENT(comm, made, PMPI_Comm_split(comm, color, key, made));
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made)
{
	return WITH_PARENT(comm, made, PMPI_Comm_split_type(comm, type, key, info, made));
}

int MPI_Cart_create(MPI_Comm comm, int n, const int dims[], const int periods[], int reorder,
		    MPI_Comm *made)
{
	return WITH_PARENT(comm, made, PMPI_Cart_create(comm, n, dims, periods, reorder, made));
}

int MPI_Cart_sub(MPI_Comm comm, const int remain[], MPI_Comm *made)
{
	return WITH_PARENT(comm, made, PMPI_Cart_sub(comm, remain, made));
}

int MPI_Graph_create(MPI_Comm comm, int n, const int index[], const int edges[], int reorder,
		     MPI_Comm *made)
{
	return WITH_PARENT(comm, made, PMPI_Graph_create(comm, n, index, edges, reorder, made));
}

int MPI_Dist_graph_create(MPI_Comm comm, int n, const int from[], const int degrees[],
			  const int to[], const int weights[], MPI_Info info, int reorder,
			  MPI_Comm *made)
{
	return WITH_PARENT(comm, made, PMPI_Dist_graph_create(comm, n, from, degrees, to, weights,
							      info, reorder, made));
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int nr_from, const int from[],
				   const int from_weights[], int nr_to, const int to[],
				   const int to_weights[], MPI_Info info, int reorder,
				   MPI_Comm *made)
{
	return WITH_PARENT(comm, made,
			   PMPI_Dist_graph_create_adjacent(comm, nr_from, from, from_weights,
							   nr_to, to, to_weights, info, reorder,
							   made));
}

/* Only some ranks of @comm are there. */
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made)
{
	int ret = PMPI_Comm_create_group(comm, group, tag, made);

	return incmpi_are_all_early() ? form_made(ret, made) : ret;
}

int MPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm *made)
{
	int ret = PMPI_Intercomm_merge(comm, high, made);

	return incmpi_are_all_early() ? form_made(ret, made) : ret;
}
