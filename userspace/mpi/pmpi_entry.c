// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What a program calls between begin and end. The program's MPI may be another one than this
 * library is for, whose arguments have other types: handles are 32 bits in MPICH and pointers in
 * Open MPI. So this file knows no mpi.h, and hands arguments on as registers and the stack have
 * them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "entry.h"

#define PARAMS_1	intptr_t a
#define PARAMS_2	PARAMS_1, intptr_t b
#define PARAMS_3	PARAMS_2, intptr_t c
#define PARAMS_4	PARAMS_3, intptr_t d
#define PARAMS_5	PARAMS_4, intptr_t e
#define PARAMS_6	PARAMS_5, intptr_t f
#define PARAMS_7	PARAMS_6, intptr_t g
#define PARAMS_8	PARAMS_7, intptr_t h
#define PARAMS_9	PARAMS_8, intptr_t i
#define PARAMS_10	PARAMS_9, intptr_t j

#define ARGS_1		a
#define ARGS_2		ARGS_1, b
#define ARGS_3		ARGS_2, c
#define ARGS_4		ARGS_3, d
#define ARGS_5		ARGS_4, e
#define ARGS_6		ARGS_5, f
#define ARGS_7		ARGS_6, g
#define ARGS_8		ARGS_7, h
#define ARGS_9		ARGS_8, i
#define ARGS_10		ARGS_9, j

bool pmpi_is_other(void);

#define ENTRY(name, n)							\
int PMPI_##name(PARAMS_##n);						\
int pmpi_own_##name(PARAMS_##n);					\
int MPI_##name(PARAMS_##n);						\
int MPI_##name(PARAMS_##n)						\
{									\
	return pmpi_is_other() ? PMPI_##name(ARGS_##n) : pmpi_own_##name(ARGS_##n); \
}

PMPI_ENTRIES(ENTRY)
