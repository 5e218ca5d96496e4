// SPDX-License-Identifier: LGPL-2.1-or-later
/* Begin and end of MPI, communicators, and what the middle needs of MPI. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pmpi_call.h"

#define ALL_SECONDS	30	/* until all ranks have begun: MPI_Init() itself waits for them */

static bool is_on;
static bool does_report, is_first;
static int comm_keyval = MPI_KEYVAL_INVALID;
static int end_keyval = MPI_KEYVAL_INVALID;

static MPI_Comm never_comm;
static MPI_Request never;
static pthread_mutex_t never_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t comms_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pmpi_comm comms = { .next = &comms, .prev = &comms };

/* ---- What the middle needs ----------------------------------------------- */

static int skin_bcast(void *comm, void *buf, size_t len)
{
	struct pmpi_comm *c = comm;

	return PMPI_Bcast(buf, (int)len, MPI_BYTE, 0, c->comm) != MPI_SUCCESS;
}

static int smallest_of(MPI_Comm comm, int64_t *values, size_t n)
{
	return PMPI_Allreduce(MPI_IN_PLACE, values, (int)n, MPI_INT64_T, MPI_MIN, comm) !=
	       MPI_SUCCESS;
}

static int skin_smallest(void *comm, int64_t *values, size_t n)
{
	struct pmpi_comm *c = comm;

	return smallest_of(c->comm, values, n);
}

/*
 * A test of a request makes MPI look at everything it has under way; a probe does not, in MPICH.
 * This request is never complete. Only one thread may test it, which does it for all.
 */
static void skin_progress(void)
{
	int flag;

	pmpi_watch_look();
	if (pthread_mutex_trylock(&never_lock))
		return;
	PMPI_Test(&never, &flag, MPI_STATUS_IGNORE);
	pthread_mutex_unlock(&never_lock);
}

static bool never_init(void)
{
	return !PMPI_Comm_dup(MPI_COMM_SELF, &never_comm) &&
	       !PMPI_Comm_set_errhandler(never_comm, MPI_ERRORS_RETURN) &&
	       !PMPI_Irecv(NULL, 0, MPI_BYTE, 0, 0, never_comm, &never);
}

static void never_exit(void)
{
	PMPI_Cancel(&never);
	PMPI_Wait(&never, MPI_STATUS_IGNORE);
	PMPI_Comm_free(&never_comm);
}

const struct incmpi_skin pmpi_skin = {
	.bcast = skin_bcast, .smallest = skin_smallest, .progress = skin_progress,
	.pack = pmpi_pack, .unpack = pmpi_unpack,
	.hold = pmpi_type_hold, .release = pmpi_type_release,
};

/* MPI can be told not to look for what it refuses: it is tried. */
static bool refuses_aliases(void)
{
	int sum = 0;

	return PMPI_Reduce(&sum, &sum, 1, MPI_INT, MPI_SUM, 0, never_comm) != MPI_SUCCESS;
}

/* MPI tells nobody, and refuses it where it is used. */
bool pmpi_type_is_committed(MPI_Datatype type)
{
	char none = 0;
	int at = 0;

	return PMPI_Pack(&none, 0, type, &none, 1, &at, never_comm) == MPI_SUCCESS;
}

/* Programs have no such types. */
bool pmpi_type_is_opaque(MPI_Datatype type)
{
	(void)type;
	return false;
}

/* ---- Communicators -------------------------------------------------------- */

/* Communicators that this thread is about to free, the innermost first. */
struct freeing {
	MPI_Comm comm;
	bool may_stay;			/* a callback of the program's may refuse it */
	struct pmpi_comm *state;	/* whose attribute is away */
	struct freeing *outer;
};

static _Thread_local struct freeing *being_freed;

static struct freeing *find_freeing(MPI_Comm comm)
{
	struct freeing *f;

	for (f = being_freed; f && f->comm != comm; f = f->outer)
		;
	return f;
}

static void comm_gone(struct pmpi_comm *c)
{
	pthread_mutex_lock(&comms_lock);
	c->freed = true;
	c->next->prev = c->prev;
	c->prev->next = c->next;
	pthread_mutex_unlock(&comms_lock);
	incmpi_comm_free(c->mid);
	pmpi_comm_release(c);
}

static int comm_freed(MPI_Comm comm, int keyval, void *value, void *extra)
{
	struct freeing *f = find_freeing(comm);
	struct pmpi_comm *c = value;

	(void)keyval;
	(void)extra;
	if (f && f->may_stay) {
		c->freed = true;
		f->state = c;
	} else {
		comm_gone(c);
	}
	return MPI_SUCCESS;
}

/*
 * Ranks of another job, that has been spawned or has connected, may not have this library, and
 * nobody could ask them. They say the same of these ranks. NULL: there are some. Else which ranks
 * of MPI_COMM_WORLD they are; to be freed.
 */
static int *world_ranks(MPI_Comm comm, int size)
{
	int *ranks = malloc(2 * (size_t)size * sizeof(*ranks)), *own = ranks + size, i = 0;
	MPI_Group group, world;

	if (!ranks || PMPI_Comm_group(comm, &group) || PMPI_Comm_group(MPI_COMM_WORLD, &world)) {
		free(ranks);
		return NULL;
	}
	for (i = 0; i < size; i++)
		own[i] = i;
	PMPI_Group_translate_ranks(group, size, own, world, ranks);
	for (i = 0; i < size && ranks[i] != MPI_UNDEFINED; i++)
		;
	PMPI_Group_free(&group);
	PMPI_Group_free(&world);
	if (i == size)
		return ranks;
	free(ranks);
	return NULL;
}

static struct incmpi_comm *middle_new(struct pmpi_comm *c, int size)
{
	int *ranks = c->inter ? NULL : world_ranks(c->comm, size);
	struct incmpi_comm *mid;

	mid = incmpi_comm_new(c, c->rank, size, c->inter, !c->inter && !ranks);
	for (int i = 0; mid && ranks && i < size; i++)
		incmpi_comm_add_rank(mid, (uint64_t)ranks[i]);
	free(ranks);
	return mid;
}

static struct pmpi_comm *comm_new(MPI_Comm comm)
{
	struct pmpi_comm *c = calloc(1, sizeof(*c));
	int size = 0;

	if (!c)
		return NULL;
	c->comm = comm;
	c->refs = 1;
	if (PMPI_Comm_test_inter(comm, &c->inter) || PMPI_Comm_rank(comm, &c->rank) ||
	    PMPI_Comm_size(comm, &size))
		goto failed;
	c->mid = middle_new(c, size);
	if (!c->mid)
		goto failed;
	pthread_mutex_lock(&comms_lock);
	c->next = comms.next;
	c->prev = &comms;
	c->next->prev = c;
	comms.next = c;
	pthread_mutex_unlock(&comms_lock);
	if (!PMPI_Comm_set_attr(comm, comm_keyval, c))
		return c;
	comm_freed(comm, comm_keyval, c, NULL);
	return NULL;
failed:
	free(c);
	return NULL;
}

/* What is no communicator is for MPI to refuse, once. */
struct pmpi_comm *pmpi_comm_find(MPI_Comm comm)
{
	static _Thread_local struct pmpi_comm refused;
	struct pmpi_comm *c;
	int found;

	if (!is_on || comm == MPI_COMM_NULL || find_freeing(comm))
		return NULL;
	refused.error = PMPI_Comm_get_attr(comm, comm_keyval, &c, &found);
	if (refused.error != MPI_SUCCESS)
		return &refused;
	return found ? c : comm_new(comm);
}

/* MPI would call the error handler for what is no communicator. */
static bool has_state(MPI_Comm comm)
{
	struct pmpi_comm *c;

	pthread_mutex_lock(&comms_lock);
	for (c = comms.next; c != &comms && c->comm != comm; c = c->next)
		;
	pthread_mutex_unlock(&comms_lock);
	return c != &comms;
}

static void end_freeing(const struct freeing *f, bool gone)
{
	if (!f->state)
		return;
	f->state->freed = gone;
	if (gone || PMPI_Comm_set_attr(f->comm, comm_keyval, f->state) != MPI_SUCCESS)
		comm_gone(f->state);
}

/*
 * The program's attributes may have callbacks that do collectives of their communicator while it is
 * freed. Ours may be gone by then, and one that is set anew would stay for ever: the MPI does them.
 *
 * A callback may also refuse, and the communicator stays. The MPI has deleted other attributes by
 * then or not, in an order that differs from rank to rank, and MPICH forgets the error of one for
 * the success of the next: so ours is away meanwhile.
 */
static int free_comm(const char *name, MPI_Comm *comm)
{
	struct freeing f = {
		.comm = comm ? *comm : MPI_COMM_NULL, .may_stay = true, .outer = being_freed,
	};
	__typeof__(PMPI_Comm_free) *next = dlsym(RTLD_NEXT, name);
	int ret;

	being_freed = &f;
	if (has_state(f.comm))
		PMPI_Comm_delete_attr(f.comm, comm_keyval);
	ret = next ? next(comm) : MPI_ERR_INTERN;
	being_freed = f.outer;
	end_freeing(&f, ret == MPI_SUCCESS || (comm && *comm == MPI_COMM_NULL));
	return ret;
}

int PMPI_Comm_free(MPI_Comm *comm)
{
	return free_comm("PMPI_Comm_free", comm);
}

int MPI_Comm_free(MPI_Comm *comm)
{
	return PMPI_Comm_free(comm);
}

int PMPI_Comm_disconnect(MPI_Comm *comm)
{
	return free_comm("PMPI_Comm_disconnect", comm);
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
	return PMPI_Comm_disconnect(comm);
}

static void free_all_comms(void)
{
	struct pmpi_comm *c;

	for (;;) {
		pthread_mutex_lock(&comms_lock);
		c = comms.next == &comms ? NULL : comms.next;
		pthread_mutex_unlock(&comms_lock);
		if (!c)
			return;
		PMPI_Comm_delete_attr(c->comm, comm_keyval);
	}
}

/* ---- Begin and end --------------------------------------------------------- */

static bool is_before(const struct timespec *end)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec < end->tv_sec ||
	       (now.tv_sec == end->tv_sec && now.tv_nsec < end->tv_nsec);
}

/*
 * A rank that has not preloaded the library does not come. What the others have begun cannot be
 * taken back, and would meet what the program does next: the job ends, with the reason.
 */
static void await_all(MPI_Request *request, int rank)
{
	struct timespec end;
	int flag = 0;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ALL_SECONDS;
	while (PMPI_Test(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag) {
		sched_yield();
		if (is_before(&end))
			continue;
		fprintf(stderr,
			"libinc-mpi: rank %d: not all ranks have come within %d s: the library has to be preloaded at all of them, or at none\n",
			rank, ALL_SECONDS);
		/* what a launcher has not read by the end is lost */
		sleep(1);
		PMPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* Rank 0 tells why INC is off for the job, unless it is to be quiet. */
static void tell_off(const struct incmpi_settings *set, const char *why)
{
	if (is_first && set->mode != INCMPI_QUIET)
		fprintf(stderr, "libinc-mpi: INC is off: %s\n", why);
}

/*
 * What ranks tell one another first: a collective, to find out whether all are here, and a
 * non-blocking one, which meets no blocking one. Its length stays what it is in all builds to come.
 * The first value turns INC off at ranks of a build that did not tell which one it is.
 */
static bool meet_all(const struct incmpi_settings *set)
{
	int64_t build = incmpi_build(), all[3] = { 0, build, -build };
	MPI_Request request;
	int rank;

	if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) ||
	    PMPI_Iallreduce(MPI_IN_PLACE, all, 3, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD, &request))
		return false;
	await_all(&request, rank);
	is_first = !rank;
	if (all[1] == -all[2])
		return true;
	tell_off(set, "ranks have different versions of this library");
	return false;
}

/*
 * Ranks must agree that INC is on. Each gets here, whatever it calls to begin. A rank that has not
 * called MPI_Init() of C is not seen in its collectives either.
 */
static bool agree_on(struct incmpi_settings *set, bool seen)
{
	int64_t all[3] = { seen, -(int64_t)set->report, set->early };

	if (smallest_of(MPI_COMM_WORLD, all, 3))
		return false;
	does_report = all[1];
	set->early = all[2];
	if (!all[0])
		tell_off(set, "not every rank calls MPI_Init of C; of Fortran, or of another tool, no collectives are seen");
	return all[0];
}

static void end_mpi(void);

/* MPI_Finalize() begins by this: attributes of MPI_COMM_SELF go (MPI-3.1, 8.7.1). */
static int end_by_self(MPI_Comm self, int keyval, void *value, void *extra)
{
	(void)self;
	(void)keyval;
	(void)value;
	(void)extra;
	if (is_on)
		end_mpi();
	return MPI_SUCCESS;
}

/*
 * The program's attributes may have callbacks that do collectives, or send what another rank waits
 * for before it ends: ours is the first that is set, so it is the last that goes.
 */
static bool end_init(void)
{
	return !PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_by_self, &end_keyval, NULL) &&
	       !PMPI_Comm_set_attr(MPI_COMM_SELF, end_keyval, NULL);
}

static void form_world(void)
{
	struct pmpi_comm *world = pmpi_comm_find(MPI_COMM_WORLD);

	if (world && world->error == MPI_SUCCESS)
		incmpi_comm_form(world->mid);
}

static void begin_mpi(bool seen)
{
	struct incmpi_settings set;
	int64_t able;

	incmpi_settings_read(&set);
	if (set.mode == INCMPI_OFF || !meet_all(&set) || !agree_on(&set, seen))
		return;
	able = !PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_freed, &comm_keyval, NULL) &&
	       end_init() && pmpi_types_init() && never_init();
	if (smallest_of(MPI_COMM_WORLD, &able, 1) || !able)
		return;
	pmpi_look_for_aliases(refuses_aliases());
	incmpi_init(&pmpi_skin, &set, pmpi_requests_init(), is_first);
	is_on = true;
	if (set.early)
		form_world();
}

static void print_report(void)
{
	uint64_t own[INCMPI_NR_COUNTS], sums[INCMPI_NR_COUNTS];
	int rank, size;

	incmpi_counts(own);
	if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) || PMPI_Comm_size(MPI_COMM_WORLD, &size) ||
	    PMPI_Reduce(own, sums, INCMPI_NR_COUNTS, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD))
		return;
	if (!rank)
		incmpi_report(stderr, sums, size);
}

/* What the program has not waited for. All ranks have begun whatever they begin, so it ends. */
static void end_requests(void)
{
	while (pmpi_watch_goes_on()) {
		skin_progress();
		poll(NULL, 0, 1);
	}
}

/* The program's last collectives have ended here; at other ranks too, before groups are left. */
static void end_mpi(void)
{
	is_on = false;
	PMPI_Barrier(MPI_COMM_WORLD);
	end_requests();
	if (does_report)
		print_report();
	free_all_comms();
	pmpi_active_exit();
	incmpi_wait_left();
	never_exit();
	PMPI_Comm_free_keyval(&comm_keyval);
	PMPI_Comm_free_keyval(&end_keyval);
	pmpi_requests_exit();
	pmpi_types_exit();
}

/*
 * Fortran of Open MPI, mpi_f08 of MPICH, other tools and some programs begin and end by the names
 * PMPI_*: these are here too, the MPI's own are the next ones.
 */
static int init_mpi(int *argc, char ***argv, bool seen)
{
	__typeof__(PMPI_Init) *next = dlsym(RTLD_NEXT, "PMPI_Init");
	int ret;

	pmpi_refuse_other();
	ret = next ? next(argc, argv) : MPI_ERR_INTERN;

	if (ret == MPI_SUCCESS)
		begin_mpi(seen);
	return ret;
}

static int init_thread(int *argc, char ***argv, int required, int *provided, bool seen)
{
	__typeof__(PMPI_Init_thread) *next = dlsym(RTLD_NEXT, "PMPI_Init_thread");
	int ret;

	pmpi_refuse_other();
	ret = next ? next(argc, argv, required, provided) : MPI_ERR_INTERN;

	if (ret == MPI_SUCCESS)
		begin_mpi(seen);
	return ret;
}

int MPI_Init(int *argc, char ***argv)
{
	return init_mpi(argc, argv, true);
}

int PMPI_Init(int *argc, char ***argv)
{
	return init_mpi(argc, argv, false);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	return init_thread(argc, argv, required, provided, true);
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	return init_thread(argc, argv, required, provided, false);
}

/* MPI_COMM_SELF is being freed: what its attributes do with it is the MPI's, see free_comm(). */
int PMPI_Finalize(void)
{
	__typeof__(PMPI_Finalize) *next = dlsym(RTLD_NEXT, "PMPI_Finalize");
	struct freeing self = { .comm = MPI_COMM_SELF, .outer = being_freed };
	int ret;

	being_freed = &self;
	ret = next ? next() : MPI_ERR_INTERN;
	being_freed = self.outer;
	return ret;
}

int MPI_Finalize(void)
{
	return PMPI_Finalize();
}
