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

struct coll_module {
	mca_coll_base_module_t super;
	struct pmpi_comm *c;
	mca_coll_base_comm_coll_t below;	/* what the communicator had before, held */
};

extern const mca_coll_base_component_t mca_coll_inc_component;

/* coll_request.c: a class whose header needs others that libopenmpi-dev does not have */
extern opal_class_t ompi_coll_base_nbc_request_t_class;

/* coll_calls.c: where a function is in a module, and, with its module, in a communicator. */
typedef void (*coll_any_fn)(void);

struct coll_function {
	coll_any_fn own;
	size_t in_module, in_comm, its_module;
};

extern const struct coll_function coll_functions[];
extern const size_t nr_coll_functions;

/* coll_module.c; NULL: no memory */
struct coll_module *coll_module_new(struct ompi_communicator_t *comm);
/* That of the communicator; NULL: it has none. */
struct coll_module *coll_module_of(struct ompi_communicator_t *comm);

/*
 * coll_component.c: false: MPI has not begun, or ends. Collectives that it calls then are not
 * INC's, at no rank.
 */
bool coll_ready(void);

#endif
