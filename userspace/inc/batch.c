// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc -b FILE: commands, one on each line, as `inc -c` prints them. Words are between blanks, #
 * begins a comment. The first one that fails ends it.
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

int batch(const char *path, int (*run)(int argc, char **argv))
{
	bool is_stdin = !strcmp(path, "-");
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	int number = 0, status = 0;
	char *line = NULL;
	size_t size = 0;

	if (!file)
		return refused("-b %s: %s", path, strerror(errno));
	while (!status && getline(&line, &size, file) >= 0) {
		number++;
		status = batch_line(line, run);
	}
	if (status)
		fprintf(stderr, "inc: -b %s: line %d was the last\n", path, number);
	else if (ferror(file))
		status = refused("-b %s: %s", path, strerror(errno));
	free(line);
	if (!is_stdin)
		fclose(file);
	return status;
}
