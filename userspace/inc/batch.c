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

/* Runs line after line. The status of the first one that fails, in line @failed. */
static int run_lines(FILE *file, bool force, int (*run)(int argc, char **argv), int *failed)
{
	int number = 0, status = 0, now;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	while ((force || !status) && (len = getline(&line, &size, file)) >= 0) {
		number++;
		error_context[0] = 0;
		now = strlen(line) == (size_t)len ? batch_line(line, run) :
		      usage_error("a NUL in the line: expected text");
		if (now && !status) {
			status = now;
			*failed = number;
		}
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
