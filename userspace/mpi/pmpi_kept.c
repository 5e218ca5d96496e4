// SPDX-License-Identifier: LGPL-2.1-or-later
/* The arguments of persistent calls that INC does, from when they are made until they are freed. */
#include <stdlib.h>
#include <string.h>

#include "pmpi_call.h"

void pmpi_kept_hold(struct pmpi_kept *k)
{
	__atomic_fetch_add(&k->refs, 1, __ATOMIC_RELAXED);
}

/* How many types a side has. One that nothing is of has no handle. */
static int nr_types(const struct pmpi_kept *k, const struct incmpi_side *side)
{
	if (!side->types)
		return 0;
	return side->type_per_rank ? incmpi_comm_size(k->call.c->mid) : 1;
}

static bool copy_array(const void **array, size_t bytes)
{
	void *copy;

	if (!*array)
		return true;
	copy = malloc(bytes);
	if (copy)
		memcpy(copy, *array, bytes);
	*array = copy;
	return copy;
}

static bool keep_shares(const struct pmpi_kept *k, struct incmpi_shares *shares)
{
	size_t n = (size_t)incmpi_comm_size(k->call.c->mid);
	bool counts, displs;

	counts = copy_array(&shares->counts, n * (shares->wide ? sizeof(int64_t) : sizeof(int)));
	displs = copy_array(&shares->displs, n * (shares->wide ? sizeof(ptrdiff_t) : sizeof(int)));
	return counts && displs;
}

static bool keep_types(const struct pmpi_kept *k, struct incmpi_side *side)
{
	size_t n = (size_t)nr_types(k, side);
	struct incmpi_type *types;
	bool ret = true;

	if (!n)
		return true;
	types = malloc(n * sizeof(*types));
	if (types)
		memcpy(types, side->types, n * sizeof(*types));
	side->types = types;
	for (size_t i = 0; types && i < n; i++) {
		if (!types[i].handle)
			continue;
		types[i].handle = pmpi_skin.hold(types[i].handle);
		ret = ret && types[i].handle;
	}
	return types && ret;
}

static bool keep_side(const struct pmpi_kept *k, struct incmpi_side *side)
{
	bool shares = keep_shares(k, &side->shares), types = keep_types(k, side);

	return shares && types;
}

static void drop_side(const struct pmpi_kept *k, struct incmpi_side *side)
{
	for (int i = 0; i < nr_types(k, side); i++)
		if (side->types[i].handle)
			pmpi_skin.release(side->types[i].handle);
	free((void *)side->types);
	free((void *)side->shares.counts);
	free((void *)side->shares.displs);
}

/* The MPI has to refuse it: its arguments may be anything. */
static bool is_refused(const struct pmpi_call *call)
{
	return !call->mid.send.valid || !call->mid.recv.valid;
}

struct pmpi_kept *pmpi_keep(const struct pmpi_call *call)
{
	struct pmpi_kept *k = calloc(1, sizeof(*k));
	bool send, recv;

	if (!k)
		return NULL;
	k->call = *call;
	k->refs = 1;
	k->active = MPI_REQUEST_NULL;
	pmpi_comm_hold(call->c);
	if (is_refused(call))
		return k;
	send = keep_side(k, &k->call.mid.send);
	recv = keep_side(k, &k->call.mid.recv);
	if (send && recv)
		return k;
	pmpi_kept_release(k);
	return NULL;
}

void pmpi_kept_release(struct pmpi_kept *k)
{
	if (__atomic_fetch_sub(&k->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	if (!is_refused(&k->call)) {
		drop_side(k, &k->call.mid.send);
		drop_side(k, &k->call.mid.recv);
	}
	if (k->group)
		incmpi_comm_put(k->group);
	pmpi_comm_release(k->call.c);
	free(k);
}
