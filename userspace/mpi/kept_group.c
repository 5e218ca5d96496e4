// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Groups of communicators that have been freed. To join one takes several collectives of the MPI
 * and some round trips, and programs free communicators and make others of the same ranks: the last
 * few groups are kept for these. Whoever takes one asks the other ranks whether they have taken the
 * same one (agree.c). All operations of a group have ended at its rank when it is kept.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MAX_KEPT	2	/* rows and columns; each is a group less for others at the node */
#define IDLE_MS		1000	/* since its last operation: it is tried before it is used */

struct kept_group {
	struct inc_group *group;
	int64_t id;
	uint64_t ranks;
	struct inc_reduces lacks;
	int64_t last_ms;
	int rank, size;
	struct incmpi_settings set;
	struct incmpi_tune *tune;
};

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept_group all_kept[MAX_KEPT];	/* the oldest first */
static unsigned int nr_kept;

static struct kept_group remove_kept(unsigned int i)
{
	struct kept_group k = all_kept[i];

	nr_kept--;
	memmove(&all_kept[i], &all_kept[i + 1], (nr_kept - i) * sizeof(all_kept[0]));
	return k;
}

static void leave_kept(struct kept_group k)
{
	free(k.tune);
	incmpi_leave(k.group);
}

static bool is_of(const struct kept_group *k, const struct incmpi_comm *c)
{
	return k->ranks == c->ranks && k->rank == c->rank && k->size == c->size;
}

/* The newest one of these ranks. */
static bool remove_for(const struct incmpi_comm *c, struct kept_group *k)
{
	unsigned int i;

	pthread_mutex_lock(&kept_lock);
	for (i = nr_kept; i && !is_of(&all_kept[i - 1], c); i--)
		;
	if (i)
		*k = remove_kept(i - 1);
	pthread_mutex_unlock(&kept_lock);
	return i;
}

static bool is_ready(struct inc_group *group)
{
	struct inc_info info;

	return !inc_info(group, &info) && info.state == INC_STATE_READY;
}

void incmpi_kept_take(struct incmpi_comm *c)
{
	struct kept_group k;

	while (c->ranks && remove_for(c, &k)) {
		if (!is_ready(k.group)) {
			leave_kept(k);
			continue;
		}
		c->group = k.group;
		c->id = k.id;
		c->lacks = k.lacks;
		c->last_ms = k.last_ms;
		c->idle = incmpi_now_ms() - k.last_ms >= IDLE_MS;
		c->set = k.set;
		c->tune = k.tune;
		return;
	}
}

void incmpi_kept_give(struct incmpi_comm *c)
{
	struct kept_group k = {
		.group = c->group, .id = c->id, .ranks = c->ranks, .rank = c->rank,
		.size = c->size, .set = c->set, .tune = c->tune, .lacks = c->lacks,
		.last_ms = c->last_ms,
	};
	struct kept_group oldest = { };

	if (!k.group)
		return;
	c->group = NULL;
	c->id = 0;
	c->idle = false;
	c->tune = NULL;
	if (!k.ranks || c->broken) {
		leave_kept(k);
		return;
	}
	pthread_mutex_lock(&kept_lock);
	if (nr_kept == MAX_KEPT)
		oldest = remove_kept(0);
	all_kept[nr_kept++] = k;
	pthread_mutex_unlock(&kept_lock);
	if (oldest.group)
		leave_kept(oldest);
}

void incmpi_kept_leave(void)
{
	struct kept_group k = { };

	do {
		pthread_mutex_lock(&kept_lock);
		k.group = NULL;
		if (nr_kept)
			k = remove_kept(0);
		pthread_mutex_unlock(&kept_lock);
		if (k.group)
			leave_kept(k);
	} while (k.group);
}
