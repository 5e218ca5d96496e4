// SPDX-License-Identifier: LGPL-2.1-or-later
/* A communicator's module: its collectives, and what the middle needs of Open MPI. */
#include <stdlib.h>
#include <string.h>

#include "coll.h"

#include <ompi/datatype/ompi_datatype.h>
#include <opal/runtime/opal_progress.h>

/* ---- What the middle needs ------------------------------------------------- */

static int skin_bcast(void *comm, void *buf, size_t len)
{
	struct pmpi_comm *c = comm;
	struct coll_module *m = c->below;

	return COLL_BELOW(m, c->comm, coll_bcast, buf, (int)len, MPI_BYTE, 0, c->comm);
}

static int skin_smallest(void *comm, int64_t *values, size_t n)
{
	struct pmpi_comm *c = comm;
	struct coll_module *m = c->below;

	return COLL_BELOW(m, c->comm, coll_allreduce, MPI_IN_PLACE, values, (int)n, MPI_INT64_T,
			  MPI_MIN, c->comm);
}

/* Types of the MPI's own cannot be duplicated, and attributes of the program's are not copied. */
static const void *skin_hold(const void *handle)
{
	MPI_Datatype *held = malloc(sizeof(*held));

	if (held) {
		*held = *(const MPI_Datatype *)handle;
		OBJ_RETAIN(*held);
	}
	return held;
}

static void skin_release(const void *held)
{
	MPI_Datatype type = *(const MPI_Datatype *)held;

	OBJ_RELEASE(type);
	free((void *)held);
}

const struct incmpi_skin pmpi_skin = {
	.bcast = skin_bcast, .smallest = skin_smallest, .progress = opal_progress,
	.pack = pmpi_pack, .unpack = pmpi_unpack,
	.hold = skin_hold, .release = skin_release,
};

bool pmpi_type_is_opaque(MPI_Datatype type)
{
	return !ompi_datatype_is_predefined(type) && !type->args;
}

/* Open MPI has looked at what a program gives it. */
bool pmpi_type_is_committed(MPI_Datatype type)
{
	(void)type;
	return true;
}

/* ---- The module ------------------------------------------------------------ */

static struct coll_module *world;

/* NULL: these are all. */
static const struct coll_function *function_at(size_t i)
{
	if (i < nr_coll_functions)
		return &coll_functions[i];
	i -= nr_coll_functions;
	return i < nr_coll_init_functions ? &coll_init_functions[i] : NULL;
}

static void set_function(struct coll_module *m, const struct coll_function *f, coll_any_fn fn)
{
	memcpy((char *)&m->super + f->in_module, &fn, sizeof(fn));
}

static mca_coll_base_module_t *module_below(const struct coll_module *m,
					    const struct coll_function *f)
{
	mca_coll_base_module_t *module;

	memcpy(&module, (const char *)&m->below + f->its_module, sizeof(module));
	return module;
}

void coll_below_enter(struct coll_module *m, struct ompi_communicator_t *comm,
		      mca_coll_base_comm_coll_t *kept)
{
	if (!m->steps_aside)
		return;
	*kept = *comm->c_coll;
	*comm->c_coll = m->below;
}

void coll_below_leave(struct coll_module *m, struct ompi_communicator_t *comm,
		      const mca_coll_base_comm_coll_t *kept)
{
	if (!m->steps_aside)
		return;
	m->below = *comm->c_coll;
	*comm->c_coll = *kept;
}

/* What has less priority is there already; a collective that nobody below has, this has not. */
static int enable_module(mca_coll_base_module_t *module, struct ompi_communicator_t *comm)
{
	struct coll_module *m = (struct coll_module *)module;
	const struct coll_function *f;
	mca_coll_base_module_t *its;
	coll_any_fn fn;

	if (!comm->c_coll->coll_bcast || !comm->c_coll->coll_allreduce ||
	    !comm->c_coll->coll_reduce)
		return OMPI_ERR_NOT_AVAILABLE;
	m->below = *comm->c_coll;
	for (size_t i = 0; (f = function_at(i)); i++) {
		memcpy(&fn, (char *)&m->below + f->in_comm, sizeof(fn));
		if (!fn)
			set_function(m, f, NULL);
		its = module_below(m, f);
		if (!its)
			continue;
		OBJ_RETAIN(its);
		if (!strcmp(its->super.obj_class->cls_name, "mca_coll_han_module_t"))
			m->steps_aside = true;
	}
	if (comm == MPI_COMM_WORLD) {
		world = m;
		coll_set_end();
	}
	return OMPI_SUCCESS;
}

static void construct_module(opal_object_t *object)
{
	struct coll_module *m = (struct coll_module *)object;
	const struct coll_function *f;

	m->c = NULL;
	memset(&m->below, 0, sizeof(m->below));
	m->steps_aside = false;
	m->super.coll_module_enable = enable_module;
	for (size_t i = 0; (f = function_at(i)); i++)
		set_function(m, f, f->own);
}

static void destruct_module(opal_object_t *object)
{
	struct coll_module *m = (struct coll_module *)object;
	const struct coll_function *f;
	mca_coll_base_module_t *its;

	if (m == world)
		world = NULL;
	for (size_t i = 0; (f = function_at(i)); i++) {
		its = module_below(m, f);
		if (its)
			OBJ_RELEASE(its);
	}
	if (!m->c)
		return;
	m->c->freed = true;
	incmpi_comm_free(m->c->mid);
	pmpi_comm_release(m->c);
}

static opal_class_t module_class = {
	.cls_name = "inc_coll_module",
	.cls_parent = &mca_coll_base_module_t_class,
	.cls_construct = construct_module,
	.cls_destruct = destruct_module,
	.cls_sizeof = sizeof(struct coll_module),
};

struct coll_module *coll_module_new(struct ompi_communicator_t *comm)
{
	struct coll_module *m = (struct coll_module *)opal_obj_new(&module_class);

	if (!m)
		return NULL;
	m->c = calloc(1, sizeof(*m->c));
	if (m->c)
		m->c->mid = incmpi_comm_new(m->c, ompi_comm_rank(comm), ompi_comm_size(comm), false,
					    false);
	if (!m->c || !m->c->mid) {
		free(m->c);
		m->c = NULL;
		OBJ_RELEASE(m);
		return NULL;
	}
	for (int i = 0; i < ompi_comm_size(comm); i++)
		incmpi_comm_add_rank(m->c->mid, ompi_group_get_proc_name(comm->c_local_group,
									 i).vpid);
	m->c->comm = comm;
	m->c->rank = ompi_comm_rank(comm);
	m->c->refs = 1;
	m->c->below = m;
	return m;
}

struct coll_module *coll_module_of_world(void)
{
	return world;
}
