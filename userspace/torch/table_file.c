// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tuning tables for what is written in C++. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../mpi/internal.h"
#include "table_file.h"

#define DEFAULT_PATH	"/etc/inc/torch.tune"

struct incmpi_tune *inctorch_tune_read(const char *path, char *why, size_t room)
{
	struct incmpi_tune *tune;
	int err;

	why[0] = '\0';
	if (!strcmp(path, "off"))
		return NULL;
	tune = incmpi_tune_read(*path ? path : DEFAULT_PATH, &err, why, room);
	if (!tune && !*path && err == -ENOENT)
		why[0] = '\0';
	return tune;
}

size_t inctorch_tune_give(const struct incmpi_tune *tune, uint32_t ranks, void *to, size_t room)
{
	size_t line = sizeof(tune->lines[0]), bytes = 0;

	for (uint32_t i = 0; i < tune->nr; i++) {
		if (ranks < tune->lines[i].ranks_from || ranks > tune->lines[i].ranks_to)
			continue;
		if (bytes + line <= room)
			memcpy((char *)to + bytes, &tune->lines[i], line);
		bytes += line;
	}
	return bytes;
}

struct incmpi_tune *inctorch_tune_take(const void *from, size_t bytes)
{
	struct incmpi_tune *tune = NULL;
	size_t nr = bytes / sizeof(tune->lines[0]);

	if (bytes % sizeof(tune->lines[0]) || nr > INCMPI_TUNE_LINES)
		return NULL;
	tune = calloc(1, sizeof(*tune) + bytes);
	if (!tune)
		return NULL;
	memcpy(tune->lines, from, bytes);
	tune->nr = (uint32_t)nr;
	/* functions are looked up by their number: lines of others are never found */
	incmpi_tune_index(tune);
	return tune;
}

uint32_t inctorch_tune_lines(const struct incmpi_tune *tune)
{
	return tune->nr;
}

static enum inctorch_tuned tuned_by(enum incmpi_why why)
{
	switch (why) {
	case INCMPI_WHY_TABLE_MIN:
		return INCTORCH_TUNED_BELOW;
	case INCMPI_WHY_TABLE_MAX:
		return INCTORCH_TUNED_ABOVE;
	default:
		return INCTORCH_TUNED_NEVER;
	}
}

enum inctorch_tuned inctorch_tune_find(const struct incmpi_tune *tune, const char *function,
				       uint32_t type, uint64_t bytes, int64_t *saved_ns)
{
	int fn = incmpi_fn_parse(function, strlen(function));
	enum incmpi_class class = INCMPI_CLASS_ANY;
	const struct incmpi_tune_line *line;

	*saved_ns = 0;
	if (fn < 0)
		return INCTORCH_TUNED_INC;
	if (incmpi_fn_reduces(fn))
		class = incmpi_class_of(type);
	line = incmpi_tune_find(tune, fn, class, incmpi_has_unknown_shares(fn) ? 0 : bytes);
	if (!line)
		return INCTORCH_TUNED_INC;
	*saved_ns = (int64_t)line->mpi_ns - (int64_t)line->inc_ns;
	return line->by_inc ? INCTORCH_TUNED_INC : tuned_by(incmpi_tune_why(tune, line, class));
}
