// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Operations under way of which a request is to be told that they have ended, in the order in which
 * they began. Those of a communicator end in that order, but for those of persistent calls, which
 * have an order of their own each: behind one that goes on, none of its order is asked for, as each
 * question is a system call.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "pmpi.h"

static pthread_mutex_t watched_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pmpi_watch *watched, **watched_end = &watched;
static unsigned long nr_looks;
static _Atomic unsigned int nr_watched;

void pmpi_watch(struct pmpi_watch *w)
{
	pthread_mutex_lock(&watched_lock);
	w->next = NULL;
	*watched_end = w;
	watched_end = &w->next;
	atomic_fetch_add(&nr_watched, 1);
	pthread_mutex_unlock(&watched_lock);
}

bool pmpi_watch_goes_on(void)
{
	return atomic_load_explicit(&nr_watched, memory_order_acquire);
}

static int test_next(struct pmpi_watch *w)
{
	int ret = -EAGAIN;

	if (*w->looked != nr_looks)
		ret = incmpi_test(w->op);
	if (ret == -EAGAIN)
		*w->looked = nr_looks;
	return ret;
}

int pmpi_watch_look(void)
{
	struct pmpi_watch **at, *w;
	int ended = 0, ret;

	if (!pmpi_watch_goes_on() || pthread_mutex_trylock(&watched_lock))
		return 0;
	nr_looks++;
	at = &watched;
	while ((w = *at)) {
		ret = test_next(w);
		if (ret == -EAGAIN) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		if (!w->next)
			watched_end = at;
		ended++;
		w->ended(w, ret);
		atomic_fetch_sub(&nr_watched, 1);
	}
	pthread_mutex_unlock(&watched_lock);
	return ended;
}
