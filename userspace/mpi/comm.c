// SPDX-License-Identifier: LGPL-2.1-or-later
/* States of communicators, and who does a call. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"

static const struct incmpi_skin *the_skin;
static struct incmpi_settings own_settings;
static bool has_requests, is_first;

/* Groups that are being left, each by a thread: closing one waits for the other ranks. */
static pthread_mutex_t leaving_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t leaving_cond = PTHREAD_COND_INITIALIZER;
static unsigned int nr_leaving;

void incmpi_init(const struct incmpi_skin *skin, const struct incmpi_settings *set, bool requests,
		 bool first)
{
	the_skin = skin;
	own_settings = *set;
	has_requests = requests;
	is_first = first;
}

bool incmpi_is_first(void)
{
	return is_first;
}

const struct incmpi_skin *incmpi_skin(void)
{
	return the_skin;
}

struct incmpi_comm *incmpi_comm_new(void *comm, int rank, int size, bool inter, bool strangers)
{
	struct incmpi_comm *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->comm = comm;
	c->rank = rank;
	c->size = size;
	c->inter = inter;
	c->strangers = strangers;
	c->refs = 1;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void incmpi_comm_add_rank(struct incmpi_comm *c, uint64_t process)
{
	const uint64_t prime = 0x100000001b3ULL;

	/* FNV-1a, of words, each of which is spread out first */
	process = (process + 1) * 0x9e3779b97f4a7c15ULL;
	c->ranks = ((c->ranks ?: 0xcbf29ce484222325ULL) ^ process ^ process >> 32) * prime;
}

int incmpi_comm_size(const struct incmpi_comm *c)
{
	return c->size;
}

bool incmpi_comm_reports(const struct incmpi_comm *c)
{
	return c->asked && c->reports;
}

static void leave_group(struct inc_group *group)
{
	if (inc_leave(group))
		inc_abort(group);
}

static void *leave_thread(void *group)
{
	leave_group(group);
	pthread_mutex_lock(&leaving_lock);
	if (!--nr_leaving)
		pthread_cond_broadcast(&leaving_cond);
	pthread_mutex_unlock(&leaving_lock);
	return NULL;
}

void incmpi_leave(struct inc_group *group)
{
	pthread_t thread;
	bool started;

	pthread_mutex_lock(&leaving_lock);
	started = !pthread_create(&thread, NULL, leave_thread, group);
	if (started)
		nr_leaving++;
	pthread_mutex_unlock(&leaving_lock);
	if (started)
		pthread_detach(thread);
	else
		leave_group(group);
}

void incmpi_wait_left(void)
{
	struct timespec until;

	incmpi_kept_leave();
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	pthread_mutex_lock(&leaving_lock);
	while (nr_leaving && !pthread_cond_timedwait(&leaving_cond, &leaving_lock, &until))
		;
	pthread_mutex_unlock(&leaving_lock);
}

void incmpi_comm_get(struct incmpi_comm *c)
{
	pthread_mutex_lock(&c->lock);
	c->refs++;
	pthread_mutex_unlock(&c->lock);
}

void incmpi_comm_put(struct incmpi_comm *c)
{
	unsigned int refs;

	pthread_mutex_lock(&c->lock);
	refs = --c->refs;
	pthread_mutex_unlock(&c->lock);
	if (refs)
		return;
	incmpi_kept_give(c);
	pthread_mutex_destroy(&c->lock);
	free(c->tune);
	free(c);
}

void incmpi_comm_free(struct incmpi_comm *c)
{
	incmpi_own_groups_put(c);
	incmpi_comm_put(c);
}

void incmpi_comm_ended(struct incmpi_comm *c, const char *why)
{
	if (!c->broken)
		snprintf(c->end, sizeof(c->end), "%s", why);
	c->broken = true;
}

const char *incmpi_comm_end(struct incmpi_comm *c)
{
	bool broken;

	pthread_mutex_lock(&c->lock);
	broken = c->broken;
	pthread_mutex_unlock(&c->lock);
	return broken ? c->end : NULL;
}

void incmpi_comm_break(struct incmpi_comm *c, const char *why)
{
	pthread_mutex_lock(&c->lock);
	incmpi_comm_ended(c, why);
	if (c->group)
		inc_abort(c->group);
	c->group = NULL;
	pthread_mutex_unlock(&c->lock);
}

/* ---- Who does a call ----------------------------------------------------- */

static bool is_logical(enum inc_op op)
{
	return op == INC_OP_LAND || op == INC_OP_LOR || op == INC_OP_LXOR;
}

static uint64_t side_bytes(const struct incmpi_side *side, int shares)
{
	uint64_t elements = 0;

	for (int i = 0; i < shares; i++)
		elements = incmpi_plus(elements, incmpi_share_count(side, i));
	return incmpi_times(elements, side->types->size);
}

/* ... of the root's buffer, in which this is a share. */
static uint64_t root_bytes(const struct incmpi_comm *c, const struct incmpi_side *share)
{
	return incmpi_times(side_bytes(share, 1), (uint64_t)c->size);
}

/* Bytes of the largest buffer that any rank gives, if all ranks know them. */
static bool known_bytes(const struct incmpi_comm *c, const struct incmpi_call *call,
			uint64_t *bytes)
{
	switch (call->fn) {
	case INCMPI_BCAST:
	case INCMPI_REDUCE:
	case INCMPI_ALLREDUCE:
	case INCMPI_SCAN:
	case INCMPI_EXSCAN:
		*bytes = side_bytes(&call->recv, 1);
		return true;
	case INCMPI_REDUCE_SCATTER:
	case INCMPI_REDUCE_SCATTER_BLOCK:
		*bytes = side_bytes(&call->send, c->size);
		return true;
	case INCMPI_ALLGATHER:
	case INCMPI_ALLGATHERV:
	case INCMPI_ALLTOALL:
		*bytes = side_bytes(&call->recv, c->size);
		return true;
	case INCMPI_GATHER:
		*bytes = root_bytes(c, call->send.in_place ? &call->recv : &call->send);
		return true;
	case INCMPI_SCATTER:
		*bytes = root_bytes(c, call->recv.in_place ? &call->send : &call->recv);
		return true;
	default:
		return false;
	}
}

bool incmpi_is_lacking(const struct incmpi_comm *c, const struct incmpi_call *call)
{
	unsigned int reduce = call->op == INC_OP_WSUM ? INC_OP_SUM : call->op;
	enum inc_coll coll = incmpi_fn_coll(call->fn);

	/* ranks fold these */
	if (!incmpi_fn_reduces(call->fn) || coll == INC_COLL_SCAN || coll == INC_COLL_EXSCAN)
		return false;
	return (c->lacks.types >> call->recv.types->type | c->lacks.ops >> reduce) & 1;
}

static enum incmpi_why by_reduction(const struct incmpi_call *call)
{
	const struct incmpi_type *type = call->recv.types;

	if (!call->op)
		return INCMPI_WHY_OP;
	if (!type->type || !(type->ops >> call->op & 1))
		return INCMPI_WHY_TYPE;
	if (call->fn == INCMPI_EXSCAN && is_logical(call->op))
		return INCMPI_WHY_OPERAND;
	return INCMPI_WHY_NONE;
}

static enum incmpi_class class_of(const struct incmpi_call *call)
{
	return incmpi_fn_reduces(call->fn) ? incmpi_class_of(call->recv.types->type) :
					     INCMPI_CLASS_ANY;
}

const struct incmpi_tune_line *incmpi_line_of(const struct incmpi_comm *c,
					      const struct incmpi_call *call)
{
	uint64_t bytes;

	if (!c->tune)
		return NULL;
	if (!known_bytes(c, call, &bytes))
		bytes = 0;
	return incmpi_tune_find(c->tune, call->fn, class_of(call), bytes);
}

static enum incmpi_why by_bytes(const struct incmpi_comm *c, uint64_t bytes)
{
	if (!bytes)
		return INCMPI_WHY_EMPTY;
	if (bytes < c->set.min)
		return INCMPI_WHY_MIN;
	return bytes > c->set.max ? INCMPI_WHY_MAX : INCMPI_WHY_NONE;
}

static enum incmpi_why by_table(const struct incmpi_comm *c, const struct incmpi_call *call)
{
	const struct incmpi_tune_line *line = incmpi_line_of(c, call);

	return !line || line->by_inc ? INCMPI_WHY_NONE :
				       incmpi_tune_why(c->tune, line, class_of(call));
}

/* Arguments that the MPI refuses at this rank, whatever others have: it waits for none of them. */
static bool is_refused(const struct incmpi_comm *c, const struct incmpi_call *call)
{
	return call->root < 0 || call->root >= c->size || !call->send.valid || !call->recv.valid;
}

static enum incmpi_why by_call(const struct incmpi_comm *c, const struct incmpi_call *call)
{
	enum incmpi_why why;
	uint64_t bytes;

	if (!(c->set.fns >> call->fn & 1))
		return INCMPI_WHY_CHOSEN;
	if (!call->blocking && !call->persistent && incmpi_has_unknown_shares(call->fn) &&
	    !(c->set.named >> call->fn & 1))
		return INCMPI_WHY_UNKNOWN;
	why = incmpi_fn_reduces(call->fn) ? by_reduction(call) : INCMPI_WHY_NONE;
	if (!why && known_bytes(c, call, &bytes))
		why = by_bytes(c, bytes);
	return why ?: by_table(c, call);
}

static enum incmpi_why by_nodes(const struct incmpi_comm *c, const struct incmpi_call *call)
{
	return incmpi_is_lacking(c, call) ? INCMPI_WHY_LACKS : INCMPI_WHY_NONE;
}

static void agree_once(struct incmpi_comm *c)
{
	incmpi_agree(c, &own_settings, has_requests);
	c->asked = true;
}

/* Agreeing waits for other ranks, which a non-blocking call must not; one that is made may. */
static enum incmpi_why by_comm(struct incmpi_comm *c, const struct incmpi_call *call)
{
	if (!c->asked) {
		if (!call->blocking && !call->persistent) {
			c->had_calls = true;
			return INCMPI_WHY_NOT_YET;
		}
		agree_once(c);
	}
	if (c->why)
		return c->why;
	return !call->blocking && !c->requests ? INCMPI_WHY_REQUESTS : INCMPI_WHY_NONE;
}

static enum incmpi_why by_ranks(const struct incmpi_comm *c)
{
	if (c->inter)
		return INCMPI_WHY_INTER;
	if (c->strangers)
		return INCMPI_WHY_STRANGERS;
	if (c->size == 1)
		return INCMPI_WHY_ALONE;
	return c->size > INC_MAX_RANKS ? INCMPI_WHY_RANKS : INCMPI_WHY_NONE;
}

bool incmpi_are_all_early(void)
{
	return own_settings.early;
}

bool incmpi_comm_is_early(const struct incmpi_comm *c)
{
	return own_settings.early || c->had_calls;
}

void incmpi_comm_form(struct incmpi_comm *c)
{
	if (!c->asked && !by_ranks(c))
		agree_once(c);
}

static enum incmpi_why count_why(enum incmpi_why why)
{
	if (why)
		incmpi_count(INCMPI_COUNT_WHY + why, 1);
	return why;
}

enum incmpi_why incmpi_decide(struct incmpi_comm *c, const struct incmpi_call *call)
{
	enum incmpi_why why = by_ranks(c);

	if (!why && is_refused(c, call))
		why = INCMPI_WHY_ARGS;
	return count_why(why ?: by_comm(c, call) ?: by_call(c, call) ?: by_nodes(c, call));
}

/*
 * What this rank has against INC; what others have, they tell. The group is not known yet, nor what
 * its nodes lack.
 */
static enum incmpi_why by_rank(struct incmpi_comm *c, const struct incmpi_call *call, bool able)
{
	enum incmpi_why why;

	if (!able)
		return INCMPI_WHY_NO_GROUP;
	if (is_refused(c, call))
		return INCMPI_WHY_ARGS;
	why = by_call(c, call);
	return !why && incmpi_refuses(c, call) ? INCMPI_WHY_SHARES : why;
}

enum incmpi_why incmpi_decide_init(struct incmpi_comm *c, const struct incmpi_call *call, bool able,
				   struct incmpi_comm **group)
{
	enum incmpi_why why = by_ranks(c) ?: by_comm(c, call);

	*group = NULL;
	if (!why)
		why = incmpi_agree_init(c, &own_settings, call, by_rank(c, call, able), group);
	return count_why(why);
}
