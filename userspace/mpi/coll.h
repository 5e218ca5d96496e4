/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The component "inc" of Open MPI's framework for collectives, mca_coll_inc.so: what its files know
 * of one another. Open MPI asks it for a module for each communicator. A module has a function for
 * each collective, which calls what was there before it wherever INC does not do a call.
 *
 * It is compiled against the headers of Open MPI 4.1 that are not part of its interface
 * (ompi/mca/coll/coll.h); Debian's libopenmpi-dev has them.
 */
#ifndef INCMPI_COLL_H
#define INCMPI_COLL_H

#include <stdbool.h>

#include <ompi_config.h>
#include <ompi/communicator/communicator.h>
#include <ompi/mca/coll/coll.h>

#include "pmpi.h"

#if OMPI_MAJOR_VERSION != 4
#error "the component is for Open MPI 4: libinc-mpi.so is for all of them"
#endif

struct coll_module {
	mca_coll_base_module_t super;
	struct pmpi_comm *c;
	mca_coll_base_comm_coll_t below;	/* what the communicator had before, held */
	bool steps_aside;			/* see coll_below_enter() */
};

extern const mca_coll_base_component_t mca_coll_inc_component;

/* coll_request.c: a class whose header needs others that libopenmpi-dev does not have */
extern opal_class_t ompi_coll_base_nbc_request_t_class;

/* Where a function is in a module, and, with its module, in a communicator. */
typedef void (*coll_any_fn)(void);

struct coll_function {
	coll_any_fn own;
	size_t in_module, in_comm, its_module;
};

#define COLL_FUNCTION(name) {						\
	.own = (coll_any_fn)mca_##name,					\
	.in_module = offsetof(mca_coll_base_module_t, coll_##name),	\
	.in_comm = offsetof(mca_coll_base_comm_coll_t, coll_##name),	\
	.its_module = offsetof(mca_coll_base_comm_coll_t, coll_##name##_module), \
}

/* coll_calls.c, and those that make persistent calls: coll_persistent.c */
extern const struct coll_function coll_functions[], coll_init_functions[];
extern const size_t nr_coll_functions, nr_coll_init_functions;

struct pmpi_kept;

/* coll_request.c: the request of a persistent call that INC does; it has @k from here on. */
int coll_request_keep(struct pmpi_kept *k, MPI_Request *request);

/* coll_module.c; NULL: no memory */
struct coll_module *coll_module_new(struct ompi_communicator_t *comm);
/* That of MPI_COMM_WORLD, whatever stands in front of it; NULL: it has none. */
struct coll_module *coll_module_of_world(void);

/*
 * A blocking collective of what is below. The component han finds out in a collective that it
 * cannot do it, puts what is below itself into the communicator, and calls the communicator's: that
 * would be this module, which would call han again, without end. So where han is, what the module
 * stands on is the communicator's meanwhile, and what has become of it is what it stands on next.
 */
void coll_below_enter(struct coll_module *m, struct ompi_communicator_t *comm,
		      mca_coll_base_comm_coll_t *kept);
void coll_below_leave(struct coll_module *m, struct ompi_communicator_t *comm,
		      const mca_coll_base_comm_coll_t *kept);

#define COLL_BELOW(m, comm, fn, ...)						\
({										\
	struct ompi_communicator_t *comm_ = (comm);				\
	struct coll_module *m_ = (m);						\
	mca_coll_base_comm_coll_t kept_;					\
	int ret_;								\
										\
	coll_below_enter(m_, comm_, &kept_);					\
	ret_ = m_->below.fn(__VA_ARGS__, m_->below.fn##_module);		\
	coll_below_leave(m_, comm_, &kept_);					\
	ret_;									\
})

/*
 * coll_component.c: false: MPI has not begun, or ends. Collectives that it calls then are not
 * INC's, at no rank.
 */
bool coll_ready(void);

/* NULL: what is below does it. */
static inline struct pmpi_comm *comm_of(mca_coll_base_module_t *module)
{
	return coll_ready() ? ((struct coll_module *)module)->c : NULL;
}

/* coll_component.c: while MPI begins, when MPI_COMM_WORLD gets its module. */
void coll_set_end(void);

#endif
