// SPDX-License-Identifier: LGPL-2.1-or-later
/* Operations under way of which a request is to be told that they have ended. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "pmpi.h"

static pthread_mutex_t watched_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pmpi_watch *watched;
static _Atomic unsigned int nr_watched;

void pmpi_watch(struct pmpi_watch *w)
{
	pthread_mutex_lock(&watched_lock);
	w->next = watched;
	watched = w;
	atomic_fetch_add(&nr_watched, 1);
	pthread_mutex_unlock(&watched_lock);
}

bool pmpi_watch_goes_on(void)
{
	return atomic_load_explicit(&nr_watched, memory_order_acquire);
}

int pmpi_watch_look(void)
{
	struct pmpi_watch **at, *w;
	int ended = 0, ret;

	if (!pmpi_watch_goes_on() || pthread_mutex_trylock(&watched_lock))
		return 0;
	at = &watched;
	while ((w = *at)) {
		ret = incmpi_test(w->op);
		if (ret == -EAGAIN) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		ended++;
		w->ended(w, ret);
		atomic_fetch_sub(&nr_watched, 1);
	}
	pthread_mutex_unlock(&watched_lock);
	return ended;
}
