// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Registered memory: what a program registers, which is found by its address when an operation
 * begins, and what a prepared operation keeps for itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "internal.h"

/* Bytes that the kernel copies instead of pinning pages, where nothing is written to. */
#define COPIED	112

static int register_range(struct inc_group *group, uint64_t addr, uint64_t len, uint32_t flags,
			  uint32_t *id)
{
	struct inc_register reg = { .addr = addr, .len = len, .flags = flags };
	int ret;

	do
		ret = ioctl(group->fd, INC_IOC_REGISTER, &reg);
	while (ret < 0 && errno == EINTR);
	*id = ret < 0 ? 0 : reg.id;
	return ret < 0 ? -errno : 0;
}

static int unregister_range(struct inc_group *group, uint32_t id)
{
	return ioctl(group->fd, INC_IOC_UNREGISTER, &id) < 0 ? -errno : 0;
}

/* A child of fork() has other pages there than its parent, whose entries it has no use for. */
static void drop_parents(struct inc_group *group)
{
	size_t left = 0;

	for (size_t i = 0; i < group->nregions; i++)
		if (group->regions[i].process == inc_process())
			group->regions[left++] = group->regions[i];
	__atomic_store_n(&group->nregions, left, __ATOMIC_RELEASE);
}

/* Only the program's are in the list. False: no memory for it. */
static bool add_region(struct inc_group *group, const struct inc_region *r)
{
	struct inc_region *more;

	pthread_mutex_lock(&group->memory);
	drop_parents(group);
	more = realloc(group->regions, (group->nregions + 1) * sizeof(*more));
	if (more) {
		group->regions = more;
		more[group->nregions] = *r;
		__atomic_store_n(&group->nregions, group->nregions + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&group->memory);
	return more;
}

static void drop_region(struct inc_group *group, uint32_t id)
{
	size_t n;

	pthread_mutex_lock(&group->memory);
	n = group->nregions;
	for (size_t i = 0; i < n; i++)
		if (group->regions[i].id == id) {
			group->regions[i] = group->regions[n - 1];
			__atomic_store_n(&group->nregions, n - 1, __ATOMIC_RELEASE);
			break;
		}
	pthread_mutex_unlock(&group->memory);
}

static const char *why_not_registered(int err)
{
	switch (err) {
	case -ENOMEM:
		return "no memory, or more than half of RLIMIT_MEMLOCK (ulimit -l) would be pinned";
	case -ENOBUFS:
		return "it would be more than half of the namespace's pinned-memory (inc limits)";
	case -EDQUOT:
		return "it would be more than half of the user's pinned-memory (inc limits)";
	case -ENOSPC:
		return "the group has as much registered as it may";
	case -EFAULT:
		return "there is no such memory, or it cannot be pinned";
	default:
		return inc_strerror(err);
	}
}

int inc_register(struct inc_group *group, const void *addr, uint64_t len, uint32_t flags,
		 uint32_t *id)
{
	struct inc_region r = { .addr = (uintptr_t)addr, .len = len, .process = inc_process() };
	int ret;

	if (!group || !id)
		return inc_null(group, group ? "id" : "group");
	*id = 0;
	if (flags & ~(uint32_t)INC_REGISTER_WRITE)
		return inc_fail(group, -EINVAL, "register: flags 0x%x: expected INC_REGISTER_WRITE",
				flags);
	if (!len)
		return inc_fail(group, -EINVAL, "register: 0 bytes: expected at least one");
	if (group->nstripes)
		return inc_stripes_register(group, addr, len, flags, id);
	r.write = flags & INC_REGISTER_WRITE;
	ret = register_range(group, r.addr, len, flags, &r.id);
	if (ret)
		return inc_fail(group, ret, "register: %llu bytes at %p: %s",
				(unsigned long long)len, addr, why_not_registered(ret));
	if (!add_region(group, &r)) {
		unregister_range(group, r.id);
		return inc_fail(group, -ENOMEM, "register: no memory");
	}
	*id = r.id;
	return 0;
}

int inc_unregister(struct inc_group *group, uint32_t id)
{
	int ret;

	if (!group)
		return inc_null(NULL, "group");
	if (group->nstripes)
		return inc_stripes_unregister(group, id);
	ret = unregister_range(group, id);
	if (ret == -EBUSY)
		return inc_fail(group, ret, "unregister: an operation on memory %u has not ended",
				id);
	if (ret)
		return inc_fail(group, ret, "unregister: memory %u: %s", id,
				ret == -ENOENT ? "there is none" : inc_strerror(ret));
	drop_region(group, id);
	return 0;
}

/* The registration that holds most of what is at @addr, and all @len bytes of it; 0: none does. */
static uint32_t find_region(const struct inc_group *group, uint64_t addr, uint64_t len,
			    bool write)
{
	unsigned int process = inc_process();
	uint64_t most = 0;
	uint32_t id = 0;

	for (size_t i = 0; i < group->nregions; i++) {
		const struct inc_region *r = &group->regions[i];
		uint64_t at = addr - r->addr;

		if (r->process != process || addr < r->addr || at >= r->len || (write && !r->write))
			continue;
		if (r->len - at >= len && r->len - at > most) {
			most = r->len - at;
			id = r->id;
		}
	}
	return id;
}

/* The kernel copies what it sends, and where that is waited for at once, what it gets. */
static bool is_copied(const struct inc_group *group, const struct inc_submit *op)
{
	const struct inc_shape *shape = inc_shape(op->coll);
	uint64_t shares = shape->send_shares || shape->recv_shares ? inc_size(group) : 1;

	return !(op->mode & INC_MODE_COUNTS) &&
	       op->count * shares * inc_type_size(op->type) <= COPIED;
}

void inc_memory_find(struct inc_group *group, struct inc_submit *op, bool awaited)
{
	if (!__atomic_load_n(&group->nregions, __ATOMIC_ACQUIRE))
		return;
	if (awaited && is_copied(group, op))
		return;
	pthread_mutex_lock(&group->memory);
	if (!op->send_reg)
		op->send_reg = find_region(group, op->send, 0, false);
	if (!op->recv_reg)
		op->recv_reg = find_region(group, op->recv, 0, true);
	pthread_mutex_unlock(&group->memory);
}

/* Of a buffer of @len bytes that the program has not registered; 0: of none. */
static uint32_t keep_buffer(struct inc_group *group, uint64_t addr, uint64_t len, bool write)
{
	uint32_t id;

	pthread_mutex_lock(&group->memory);
	id = find_region(group, addr, len, write);
	pthread_mutex_unlock(&group->memory);
	if (!id)
		register_range(group, addr, len, write ? INC_REGISTER_WRITE : 0, &id);
	else
		id = 0;
	return id;
}

void inc_memory_keep(struct inc_request *req, uint64_t send, uint64_t recv)
{
	struct inc_submit *op = &req->submit;

	if (op->send == op->recv && send > recv && recv)
		recv = send;
	if (recv)
		req->kept[1] = keep_buffer(req->group, op->recv, recv, true);
	if (op->send != op->recv && send > COPIED)
		req->kept[0] = keep_buffer(req->group, op->send, send, false);
	op->recv_reg = req->kept[1];
	op->send_reg = op->send == op->recv && recv ? req->kept[1] : req->kept[0];
}

int inc_release(struct inc_request *req)
{
	if (!req)
		return inc_null(NULL, "request");
	if (req->handle)
		return inc_fail(req->group, -EBUSY,
				"release: the request's operation %llu has not ended",
				(unsigned long long)req->handle);
	for (int i = 0; i < 2; i++) {
		if (req->kept[i])
			unregister_range(req->group, req->kept[i]);
		req->kept[i] = 0;
	}
	req->prepared = 0;
	if (req->parts)
		inc_parts_release(req);
	return 0;
}
