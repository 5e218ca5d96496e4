/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The two skins. libinc-mpi.so stands in front of an MPI, by its profiling interface: functions
 * MPI_* here, which a program finds first, and those of the MPI, PMPI_*. mca_coll_inc.so is a
 * component of Open MPI's collectives: coll.h. Both use PMPI_* for datatypes, requests and errors.
 */
#ifndef INCMPI_PMPI_H
#define INCMPI_PMPI_H

#include <mpi.h>

#include "middle.h"

/* A communicator; libinc-mpi.so has it as an attribute, from the first collective on. */
struct pmpi_comm {
	MPI_Comm comm;
	struct incmpi_comm *mid;
	int rank;
	int inter;			/* an intercommunicator, which INC cannot serve */
	unsigned int refs;		/* the communicator and requests */
	int error;			/* of what is no communicator; there is nothing else then */
	bool freed;			/* @comm is not valid any more */
	unsigned long looked;		/* pmpi_watch.c: the last look that one of its goes on */
	void *below;			/* the component's: implementations that it stands on */
	struct pmpi_comm *next, *prev;	/* of all that are not freed */
};

/* pmpi_comm.c */
void pmpi_comm_hold(struct pmpi_comm *c);
void pmpi_comm_release(struct pmpi_comm *c);

/* pmpi_init.c, coll_module.c: the skin's own */
extern const struct incmpi_skin pmpi_skin;
/* The MPI has made this type for itself: it cannot be asked what of. */
bool pmpi_type_is_opaque(MPI_Datatype type);
/* A derived type may be used. */
bool pmpi_type_is_committed(MPI_Datatype type);

/* pmpi_init.c */
/*
 * NULL: INC is off, or no memory. One with an error, the calling thread's: the MPI has refused
 * @comm, and called the error handler for it.
 */
struct pmpi_comm *pmpi_comm_find(MPI_Comm comm);
/*
 * pmpi_other.c, before MPI begins: if the program's MPI is not the one of this library, none of its
 * handles fits. Says so, and ends the process.
 */
void pmpi_refuse_other(void);

/*
 * pmpi_error.c: an errno of the middle as an error code. The communicator's error handler is
 * called: always, or by the MPI, if it is the one that has called and gets the code.
 */
int pmpi_raise(struct pmpi_comm *c, int err, const char *text);
int pmpi_fail(struct pmpi_comm *c, int err, const char *text);

/* pmpi_type.c */
bool pmpi_types_init(void);
void pmpi_types_exit(void);
/* False: it is no type that can be used. @handle: where the caller keeps the type. */
bool pmpi_type_get(struct incmpi_type *type, MPI_Datatype *handle, MPI_Datatype of);
enum inc_op pmpi_op_get(MPI_Op op);
int pmpi_pack(const void *handle, const void *from, uint64_t count, void *to, size_t bytes);
int pmpi_unpack(const void *handle, const void *from, size_t bytes, void *to, uint64_t count);
const void *pmpi_type_hold(const void *handle);
void pmpi_type_release(const void *held);

/*
 * pmpi_watch.c: operations under way, each part of a request. pmpi_watch_look() calls @ended, once
 * and in any thread, with its result. Returns how many have ended. The kernel holds so many that
 * nobody has seen end: those that have ended are collected. Those of one order end in that of
 * pmpi_watch().
 */
struct pmpi_watch {
	struct incmpi_op *op;
	struct pmpi_comm *c;	/* whose it is */
	unsigned long *looked;	/* of what has an order: @c's, or that of a persistent call */
	void (*ended)(struct pmpi_watch *w, int ret);
	struct pmpi_watch *next;
};

void pmpi_watch(struct pmpi_watch *w);
int pmpi_watch_look(void);
bool pmpi_watch_goes_on(void);		/* something is under way */

/* pmpi_active.c: MPI ends: groups of persistent calls that the program has not freed are left */
void pmpi_active_exit(void);

/* pmpi_request.c, coll_request.c: the skin's own */
bool pmpi_requests_init(void);
void pmpi_requests_exit(void);
int pmpi_request_start(struct pmpi_comm *c, const struct incmpi_call *call, MPI_Request *request);

/* pmpi_request.c: frees what the MPI has let go, after each of its functions that may have. */
void pmpi_requests_collect(void);

#endif
