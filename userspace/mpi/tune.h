/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tuning tables: which calls INC does, by their size, and how long they take by INC and by the MPI.
 * libinc-mpi(7) has the form of the file; inc-mpi-tune measures and writes one. The middle and the
 * tool read it by this.
 */
#ifndef INCMPI_TUNE_H
#define INCMPI_TUNE_H

#include "middle.h"

#define INCMPI_TUNE_LINES	1024	/* in a table, at most */

/* What a reduction reduces. */
enum incmpi_class {
	INCMPI_CLASS_ANY,
	INCMPI_CLASS_INTEGER,
	INCMPI_CLASS_FLOAT,
	INCMPI_CLASS_COMPLEX,
	INCMPI_CLASS_LOGICAL,
	INCMPI_CLASS_PAIR,
	INCMPI_NR_CLASSES,
};

/* A line of the file. Ranks of a communicator have it from one another as it is here. */
struct incmpi_tune_line {
	uint64_t from, to;		/* bytes, as those of INC_MPI_MIN */
	uint64_t inc_ns, mpi_ns;	/* what one call takes; both 0: that was not measured */
	uint32_t ranks_from, ranks_to;
	uint16_t fn;			/* enum incmpi_fn */
	uint8_t class;			/* enum incmpi_class */
	uint8_t by_inc;
	uint8_t by_gloo;		/* the other one is PyTorch's, and not an MPI */
	uint8_t unused[3];
};

/* Lines of one function stand together, in the order of the file: the first that fits counts. */
struct incmpi_tune {
	uint32_t nr;
	uint16_t first[INCMPI_NR_FNS + 1];	/* of each function; then @nr */
	struct incmpi_tune_line lines[];
};

/*
 * The table in this file, to be freed. NULL: it is none, @why says at which line, and what was
 * expected; *@err is a negative errno, -EINVAL for what stands in it.
 */
struct incmpi_tune *incmpi_tune_read(const char *path, int *err, char *why, size_t room);

/* "any", "N", "N-M", or "N-", which goes up to @max. */
bool incmpi_tune_range(const char *text, uint64_t max, uint64_t *from, uint64_t *to);

/* The lines for communicators of this size, in @to, which has room for those of @from, or is it. */
void incmpi_tune_filter(struct incmpi_tune *to, const struct incmpi_tune *from, uint32_t ranks);

/* Sets @first of a table whose lines have come from elsewhere. */
void incmpi_tune_index(struct incmpi_tune *tune);

/*
 * The line for a call of a communicator that the table was filtered for. @bytes: 0 for functions of
 * which not all ranks know them. NULL: it has none.
 */
const struct incmpi_tune_line *incmpi_tune_find(const struct incmpi_tune *tune, enum incmpi_fn fn,
						enum incmpi_class class, uint64_t bytes);

/* Which of the reasons it is that @line, of the MPI's, leaves a call to it. */
enum incmpi_why incmpi_tune_why(const struct incmpi_tune *tune,
				const struct incmpi_tune_line *line, enum incmpi_class class);

enum incmpi_class incmpi_class_of(enum inc_type type);
const char *incmpi_class_name(enum incmpi_class class);

#endif
