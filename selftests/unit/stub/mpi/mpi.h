/* SPDX-License-Identifier: GPL-2.0-only */
/* Of MPI, what pmpi.h names: for units of libinc-mpi that call nothing of it. */
#ifndef STUB_MPI_H
#define STUB_MPI_H

typedef struct stub_comm *MPI_Comm;
typedef struct stub_type *MPI_Datatype;
typedef struct stub_op *MPI_Op;
typedef struct stub_request *MPI_Request;

#endif
