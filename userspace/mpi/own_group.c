// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Groups of persistent calls. Ranks may start their persistent calls in different orders, but the
 * operations of a group are the same at all ranks, in one order: each persistent call has a group
 * of its own. All of them belong to the communicator, which keeps those that are given back for
 * calls that are made later, and leaves them when it is freed; there are at most as many as
 * INC_MPI_PERSISTENT says.
 *
 * Making a persistent call is collective and may wait (MPI-4.0, 6.12): its ranks agree here, by
 * collectives of the MPI, on whether INC does it and in which group. Which groups there are is the
 * same at all ranks, which of them are in use is not: a request is freed at each rank on its own.
 * What the nodes of a group lack is the same at all ranks, too, but may differ from group to group:
 * it is what nodes were set to when the group was joined.
 */
#include "internal.h"

static struct incmpi_comm *group_new(const struct incmpi_comm *c)
{
	struct incmpi_comm *own = incmpi_comm_new(c->comm, c->rank, c->size, false, false);

	if (!own)
		return NULL;
	own->asked = true;
	own->requests = c->requests;
	own->set = c->set;
	return own;
}

static bool is_unused(struct incmpi_comm *own)
{
	bool unused;

	pthread_mutex_lock(&own->lock);
	unused = own->refs == 1 && own->group && !own->broken;
	pthread_mutex_unlock(&own->lock);
	return unused;
}

static enum incmpi_why add_group(struct incmpi_comm *c, const struct incmpi_settings *own,
				 const struct incmpi_call *call, struct incmpi_comm **group)
{
	struct incmpi_comm *more;

	if (c->nr_own >= c->set.persistent)
		return INCMPI_WHY_PERSISTENT;
	if (c->no_more)
		return INCMPI_WHY_NO_GROUP;
	more = group_new(c);
	if (!incmpi_join_more(c, more, own)) {
		c->no_more = true;
		if (more)
			incmpi_comm_put(more);
		return INCMPI_WHY_NO_GROUP;
	}
	c->own[c->nr_own++] = more;
	if (incmpi_is_lacking(more, call))
		return INCMPI_WHY_LACKS;
	incmpi_comm_get(more);
	*group = more;
	return INCMPI_WHY_NONE;
}

enum incmpi_why incmpi_agree_init(struct incmpi_comm *c, const struct incmpi_settings *own,
				  const struct incmpi_call *call, enum incmpi_why why,
				  struct incmpi_comm **group)
{
	int64_t all[1 + INCMPI_MAX_PERSISTENT] = { -(int64_t)why };
	bool is_lacking = false;

	for (unsigned int i = 0; i < c->nr_own; i++)
		all[1 + i] = is_unused(c->own[i]);
	if (incmpi_skin()->smallest(c->comm, all, 1 + c->nr_own))
		return INCMPI_WHY_NO_GROUP;
	if (all[0])
		return why ?: (enum incmpi_why)-all[0];
	for (unsigned int i = 0; i < c->nr_own; i++) {
		if (!all[1 + i])
			continue;
		if (incmpi_is_lacking(c->own[i], call)) {
			is_lacking = true;
			continue;
		}
		incmpi_comm_get(c->own[i]);
		*group = c->own[i];
		return INCMPI_WHY_NONE;
	}
	/* another one would most likely lack it, too */
	return is_lacking ? INCMPI_WHY_LACKS : add_group(c, own, call, group);
}

void incmpi_own_groups_put(struct incmpi_comm *c)
{
	while (c->nr_own)
		incmpi_comm_put(c->own[--c->nr_own]);
}
