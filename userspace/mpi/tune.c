// SPDX-License-Identifier: LGPL-2.1-or-later
/* Reading tuning tables, and finding the line for a call. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define LINE_LEN	256
#define BLANKS		" \t\r\n"
#define MAX_NS		1000000000000ULL	/* that a call may take: sums of many fit */
#define NR_FIELDS	7

static const char *const class_names[INCMPI_NR_CLASSES] = {
	[INCMPI_CLASS_ANY] = "any", [INCMPI_CLASS_INTEGER] = "integer",
	[INCMPI_CLASS_FLOAT] = "float", [INCMPI_CLASS_COMPLEX] = "complex",
	[INCMPI_CLASS_LOGICAL] = "logical", [INCMPI_CLASS_PAIR] = "pair",
};

const char *incmpi_class_name(enum incmpi_class class)
{
	return class_names[class];
}

enum incmpi_class incmpi_class_of(enum inc_type type)
{
	switch (type) {
	case INC_TYPE_F16:
	case INC_TYPE_BF16:
	case INC_TYPE_F32:
	case INC_TYPE_F64:
	case INC_TYPE_F8E4M3:
	case INC_TYPE_F8E5M2:
	case INC_TYPE_MXF8E4M3:
	case INC_TYPE_MXF8E5M2:
	case INC_TYPE_MXF4E2M1:
	case INC_TYPE_MXI8:
		return INCMPI_CLASS_FLOAT;
	case INC_TYPE_C32:
	case INC_TYPE_C64:
		return INCMPI_CLASS_COMPLEX;
	case INC_TYPE_BOOL:
		return INCMPI_CLASS_LOGICAL;
	case INC_TYPE_I32_I32:
	case INC_TYPE_F32_I32:
	case INC_TYPE_I64_I64:
	case INC_TYPE_F64_I64:
		return INCMPI_CLASS_PAIR;
	default:
		return INCMPI_CLASS_INTEGER;
	}
}

/* ---- Reading ---------------------------------------------------------------- */

struct reader {
	const char *path;
	unsigned int line;
	char *why;
	size_t room;
};

__attribute__((__format__(__printf__, 2, 3)))
static bool refuse_line(const struct reader *r, const char *fmt, ...)
{
	int len = snprintf(r->why, r->room, "%s:%u: ", r->path, r->line);
	va_list args;

	va_start(args, fmt);
	if (len >= 0 && (size_t)len < r->room)
		vsnprintf(r->why + len, r->room - len, fmt, args);
	va_end(args);
	return false;
}

/* Digits, up to where @end says. */
static bool read_number(const char *text, uint64_t max, uint64_t *n, const char **end)
{
	char *at;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*n = strtoull(text, &at, 10);
	*end = at;
	return !errno && *n <= max;
}

bool incmpi_tune_range(const char *text, uint64_t max, uint64_t *from, uint64_t *to)
{
	const char *at;

	*from = 0;
	*to = max;
	if (!strcmp(text, "any"))
		return true;
	if (!read_number(text, max, from, &at))
		return false;
	if (!*at)
		*to = *from;
	if (*at != '-')
		return !*at;
	if (!at[1])
		return true;
	return read_number(at + 1, max, to, &at) && !*at && *from <= *to;
}

static bool read_function(const struct reader *r, const char *text, struct incmpi_tune_line *line)
{
	int fn = incmpi_fn_parse(text, strlen(text));

	if (fn < 0)
		return refuse_line(r, "\"%s\": expected a function as allreduce, bcast or alltoallv",
				   text);
	line->fn = (uint16_t)fn;
	return true;
}

static bool read_class(const struct reader *r, const char *text, struct incmpi_tune_line *line)
{
	int i;

	for (i = 0; i < INCMPI_NR_CLASSES && strcmp(class_names[i], text); i++)
		;
	if (i == INCMPI_NR_CLASSES)
		return refuse_line(r, "type \"%s\": expected any, integer, float, complex, logical or pair",
				   text);
	if (i != INCMPI_CLASS_ANY && !incmpi_fn_reduces(line->fn))
		return refuse_line(r, "type \"%s\": expected any, %s reduces nothing", text,
				   incmpi_fn_name(line->fn));
	line->class = (uint8_t)i;
	return true;
}

static bool read_ranks(const struct reader *r, const char *text, struct incmpi_tune_line *line)
{
	uint64_t from, to;

	if (!incmpi_tune_range(text, INC_MAX_RANKS, &from, &to))
		return refuse_line(r, "ranks \"%s\": expected any, N, N-M or N-, of at most %d",
				   text, INC_MAX_RANKS);
	line->ranks_from = (uint32_t)from;
	line->ranks_to = (uint32_t)to;
	return true;
}

static bool read_bytes(const struct reader *r, const char *text, struct incmpi_tune_line *line)
{
	if (!incmpi_tune_range(text, UINT64_MAX, &line->from, &line->to))
		return refuse_line(r, "bytes \"%s\": expected any, N, N-M or N-", text);
	if (!strcmp(text, "any"))
		return true;
	if (line->fn == INCMPI_BARRIER)
		return refuse_line(r, "bytes \"%s\": expected any, a barrier has none", text);
	if (incmpi_has_unknown_shares(line->fn))
		return refuse_line(r, "bytes \"%s\": expected any, no rank knows those of all others in %s",
				   text, incmpi_fn_name(line->fn));
	return true;
}

static bool read_who(const struct reader *r, const char *text, struct incmpi_tune_line *line)
{
	line->by_inc = !strcmp(text, "inc");
	line->by_gloo = !strcmp(text, "gloo");
	if (!line->by_inc && !line->by_gloo && strcmp(text, "mpi"))
		return refuse_line(r, "\"%s\": expected inc, mpi or gloo", text);
	return true;
}

static bool read_time(const struct reader *r, const char *text, uint64_t *ns)
{
	const char *end;

	if (read_number(text, MAX_NS, ns, &end) && !*end && *ns)
		return true;
	return refuse_line(r, "time \"%s\": expected 1 to %llu nanoseconds", text, MAX_NS);
}

/* Splits @text; how many fields there are, NR_FIELDS + 1: too many. */
static int split_fields(char *text, char *fields[NR_FIELDS])
{
	char *state, *word;
	int n = 0;

	text[strcspn(text, "#")] = '\0';
	for (word = strtok_r(text, BLANKS, &state); word; word = strtok_r(NULL, BLANKS, &state)) {
		if (n == NR_FIELDS)
			return n + 1;
		fields[n++] = word;
	}
	return n;
}

/* False: refused. *@is_line: there is more than a comment. */
static bool read_line(const struct reader *r, char *text, struct incmpi_tune_line *line,
		      bool *is_line)
{
	char *fields[NR_FIELDS];
	int n = split_fields(text, fields);

	memset(line, 0, sizeof(*line));
	*is_line = n;
	if (!n)
		return true;
	if (n != 5 && n != 7)
		return refuse_line(r, "expected FUNCTION TYPE RANKS BYTES inc|mpi|gloo, and two times or none");
	return read_function(r, fields[0], line) && read_class(r, fields[1], line) &&
	       read_ranks(r, fields[2], line) && read_bytes(r, fields[3], line) &&
	       read_who(r, fields[4], line) &&
	       (n == 5 || (read_time(r, fields[5], &line->inc_ns) &&
			   read_time(r, fields[6], &line->mpi_ns)));
}

/* All lines of the file, in @lines; -1: refused. */
static int read_lines(struct reader *r, FILE *file, struct incmpi_tune_line *lines)
{
	char text[LINE_LEN];
	bool is_line;
	int nr = 0;

	for (r->line = 1; fgets(text, sizeof(text), file); r->line++) {
		struct incmpi_tune_line line;

		if (!strchr(text, '\n') && !feof(file)) {
			refuse_line(r, "expected text, at most %d characters in a line",
				    LINE_LEN - 2);
			return -1;
		}
		if (!read_line(r, text, &line, &is_line))
			return -1;
		if (!is_line)
			continue;
		if (nr == INCMPI_TUNE_LINES) {
			refuse_line(r, "expected at most %d lines", INCMPI_TUNE_LINES);
			return -1;
		}
		lines[nr++] = line;
	}
	return nr;
}

void incmpi_tune_index(struct incmpi_tune *tune)
{
	uint32_t at = 0;

	for (int fn = 0; fn <= INCMPI_NR_FNS; fn++) {
		while (at < tune->nr && tune->lines[at].fn < fn)
			at++;
		tune->first[fn] = (uint16_t)at;
	}
}

static struct incmpi_tune *tune_new(const struct incmpi_tune_line *lines, int nr)
{
	struct incmpi_tune *tune = calloc(1, sizeof(*tune) + (size_t)nr * sizeof(*lines));

	if (!tune)
		return NULL;
	for (int fn = 0; fn < INCMPI_NR_FNS; fn++)
		for (int i = 0; i < nr; i++)
			if (lines[i].fn == fn)
				tune->lines[tune->nr++] = lines[i];
	incmpi_tune_index(tune);
	return tune;
}

static struct incmpi_tune *read_file(struct reader *r, FILE *file, int *err)
{
	struct incmpi_tune_line *lines = calloc(INCMPI_TUNE_LINES, sizeof(*lines));
	struct incmpi_tune *tune = NULL;
	int nr;

	*err = -ENOMEM;
	if (lines) {
		nr = read_lines(r, file, lines);
		if (ferror(file))
			*err = -errno;
		else if (nr < 0)
			*err = -EINVAL;
		else
			tune = tune_new(lines, nr);
	}
	free(lines);
	return tune;
}

struct incmpi_tune *incmpi_tune_read(const char *path, int *err, char *why, size_t room)
{
	struct reader r = { .path = path, .why = why, .room = room };
	struct incmpi_tune *tune = NULL;
	FILE *file = fopen(path, "re");

	if (file) {
		tune = read_file(&r, file, err);
		fclose(file);
	} else {
		*err = -errno;
	}
	if (!tune && *err != -EINVAL)
		snprintf(why, room, "%s: %s: expected a file that can be read", path,
			 strerror(-*err));
	return tune;
}

/* ---- Looking -------------------------------------------------------------------- */

void incmpi_tune_filter(struct incmpi_tune *to, const struct incmpi_tune *from, uint32_t ranks)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < from->nr; i++)
		if (ranks >= from->lines[i].ranks_from && ranks <= from->lines[i].ranks_to)
			to->lines[nr++] = from->lines[i];
	to->nr = nr;
	incmpi_tune_index(to);
}

static bool is_for(const struct incmpi_tune_line *line, enum incmpi_class class)
{
	return line->class == INCMPI_CLASS_ANY || line->class == class;
}

const struct incmpi_tune_line *incmpi_tune_find(const struct incmpi_tune *tune, enum incmpi_fn fn,
						enum incmpi_class class, uint64_t bytes)
{
	for (int i = tune->first[fn]; i < tune->first[fn + 1]; i++) {
		const struct incmpi_tune_line *line = &tune->lines[i];

		if (is_for(line, class) && bytes >= line->from && bytes <= line->to)
			return line;
	}
	return NULL;
}

enum incmpi_why incmpi_tune_why(const struct incmpi_tune *tune,
				const struct incmpi_tune_line *line, enum incmpi_class class)
{
	enum incmpi_why why = INCMPI_WHY_TABLE;

	for (int i = tune->first[line->fn]; i < tune->first[line->fn + 1]; i++) {
		const struct incmpi_tune_line *other = &tune->lines[i];

		if (!other->by_inc || !is_for(other, class))
			continue;
		if (other->from > line->to)
			return INCMPI_WHY_TABLE_MIN;
		if (other->to < line->from)
			why = INCMPI_WHY_TABLE_MAX;
	}
	return why;
}
