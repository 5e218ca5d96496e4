// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Descriptors that children do not get. The handler runs in the child, where only what is safe in
 * handlers of signals may be called, and other threads' locks are never released: so places are in
 * a list without a lock, used again, and never freed.
 */
#include "forks.hpp"

#include <atomic>

#include <pthread.h>
#include <unistd.h>

namespace inctorch {
namespace {

struct Place {
	std::atomic<int> fd;
	Place *next;
};

constexpr int no_fd = -1;

std::atomic<Place *> places;

void close_places()
{
	for (Place *place = places; place; place = place->next) {
		int fd = place->fd.exchange(no_fd);

		if (fd != no_fd)
			close(fd);
	}
}

bool change_place(int from, int to)
{
	for (Place *place = places; place; place = place->next) {
		int expected = from;

		if (place->fd.compare_exchange_strong(expected, to))
			return true;
	}
	return false;
}

} // namespace

void close_in_children(int fd)
{
	static const int registered = pthread_atfork(nullptr, nullptr, close_places);

	if (registered || change_place(no_fd, fd))
		return;
	auto *place = new Place{ { fd }, places };

	while (!places.compare_exchange_weak(place->next, place))
		;
}

void keep_in_children(int fd)
{
	change_place(fd, no_fd);
}

} // namespace inctorch
