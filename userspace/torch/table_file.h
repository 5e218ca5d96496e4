/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tuning tables, in the form of libinc-mpi(7), for what is written in C++: by what libinc-mpi and
 * the tool read them, too. Functions have MPI's names.
 */
#ifndef INCTORCH_TABLE_FILE_H
#define INCTORCH_TABLE_FILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct incmpi_tune;

/* What a table says of a call. */
enum inctorch_tuned {
	INCTORCH_TUNED_INC,	/* also if it says nothing */
	INCTORCH_TUNED_BELOW,	/* INC has larger ones of the function */
	INCTORCH_TUNED_ABOVE,	/* it has smaller ones only */
	INCTORCH_TUNED_NEVER,	/* it has none */
};

/* To be freed. NULL: there is none, and @why, if it has a text, is to be said. */
struct incmpi_tune *inctorch_tune_read(const char *path, char *why, size_t room);

/*
 * The lines for this many ranks, as another rank has them: how many bytes, at @to if there is room.
 */
size_t inctorch_tune_give(const struct incmpi_tune *tune, uint32_t ranks, void *to, size_t room);

/* To be freed; NULL: not what inctorch_tune_give() gives, or no memory. */
struct incmpi_tune *inctorch_tune_take(const void *from, size_t bytes);

uint32_t inctorch_tune_lines(const struct incmpi_tune *tune);

/*
 * @type: enum inc_type of what is reduced. @bytes: of the largest buffer. *@saved_ns: what INC
 * saves with one call; 0 also if that was not measured.
 */
enum inctorch_tuned inctorch_tune_find(const struct incmpi_tune *tune, const char *function,
				       uint32_t type, uint64_t bytes, int64_t *saved_ns);

#ifdef __cplusplus
}
#endif

#endif
