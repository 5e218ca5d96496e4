// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc -b FILE: commands, one on each line, as `inc -commands` prints them. Words are between
 * blanks, # begins a comment. The first one that fails ends it, unless it is forced on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define MAX_WORDS	64
#define BLANKS		" \t\r\n"

int batch_line(char *line, int (*run)(int argc, char **argv))
{
	char *words[MAX_WORDS + 1], *word, *rest = line;
	int n = 0;

	line[strcspn(line, "#")] = 0;
	for (word = strtok_r(line, BLANKS, &rest); word; word = strtok_r(NULL, BLANKS, &rest)) {
		if (n == MAX_WORDS)
			return usage_error("expected at most %d words", MAX_WORDS);
		words[n++] = word;
	}
	words[n] = NULL;
	return n ? run(n, words) : 0;
}

bool batch_next(FILE *file, char *line, int *err)
{
	size_t n = 0;
	int c = 0;

	while (n < BATCH_LINE - 1 && (c = getc(file)) != EOF && c && c != '\n')
		line[n++] = (char)c;
	line[n] = 0;
	if (!c)
		*err = usage_error("a NUL in the line: expected text");
	else if (n == BATCH_LINE - 1)
		*err = usage_error("expected less than %d bytes in a line", BATCH_LINE - 1);
	else
		*err = 0;
	return !*err && (c != EOF || n);
}

/*
 * Runs line after line, to the end or one that is no text. The status of the first one that fails,
 * in line @failed.
 */
static int run_lines(FILE *file, bool force, int (*run)(int argc, char **argv), int *failed)
{
	char *line = malloc(BATCH_LINE);
	int number = 1, status = 0, now;

	if (!line)
		return refused("%s", strerror(ENOMEM));
	error_context[0] = 0;
	for (; (force || !status) && batch_next(file, line, &now); number++) {
		now = batch_line(line, run);
		if (now && !status) {
			status = now;
			*failed = number;
		}
		error_context[0] = 0;
	}
	if (!status && now) {
		status = now;
		*failed = number;
	}
	free(line);
	return status;
}

int batch(const char *path, bool force, int (*run)(int argc, char **argv))
{
	bool is_stdin = !strcmp(path, "-");
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	int failed = 0, status;

	if (!file)
		return refused("-b %s: %s", path, strerror(errno));
	status = run_lines(file, force, run, &failed);
	if (status)
		fprintf(stderr, force ? "inc: -b %s: line %d was the first that failed\n" :
					"inc: -b %s: line %d was the last\n", path, failed);
	else if (ferror(file))
		status = refused("-b %s: %s", path, strerror(errno));
	if (!is_stdin)
		fclose(file);
	return status;
}
