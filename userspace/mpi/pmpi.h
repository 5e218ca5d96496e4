/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The skin that stands in front of an MPI, by its profiling interface: functions MPI_* here, which
 * a program finds first, and those of the MPI, PMPI_*.
 */
#ifndef INCMPI_PMPI_H
#define INCMPI_PMPI_H

#include <mpi.h>

#include "middle.h"

/* A communicator, from its first collective on; an attribute of it. */
struct pmpi_comm {
	MPI_Comm comm;
	struct incmpi_comm *mid;
	int rank;
	int inter;			/* an intercommunicator, which INC cannot serve */
	unsigned int refs;		/* the communicator and requests */
	bool freed;			/* @comm is not valid any more */
	struct pmpi_comm *next, *prev;	/* of all that are not freed */
};

/* pmpi_init.c */
extern const struct incmpi_skin pmpi_skin;
struct pmpi_comm *pmpi_comm_find(MPI_Comm comm);	/* NULL: INC is off, or no memory */
void pmpi_comm_hold(struct pmpi_comm *c);
void pmpi_comm_release(struct pmpi_comm *c);

/*
 * pmpi_other.c, before MPI begins: if the program's MPI is not the one of this library, none of its
 * handles fits. Says so, and ends the process.
 */
void pmpi_refuse_other(void);

/* pmpi_error.c: an errno of the middle as an error code; calls the communicator's error handler */
int pmpi_raise(struct pmpi_comm *c, int err, const char *text);

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

/* pmpi_request.c */
bool pmpi_requests_init(void);
void pmpi_requests_exit(void);
/* The kernel holds so many that nobody has seen end: those that have ended are collected. */
void pmpi_requests_look(void);
int pmpi_request_start(struct pmpi_comm *c, const struct incmpi_call *call, MPI_Request *request);

#endif
