// SPDX-License-Identifier: GPL-2.0-only
/* Reads digits.csv: 64 integers 0..16 and the digit on every line. Bad lines are named. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"

#define MAX_VALUE	16
#define TEST_EVERY	5
#define MAX_LINES	100000

static unsigned int parse_value(char **text, const char *path, unsigned int line,
				unsigned int column, unsigned long max)
{
	char *end, want = column == PIXELS ? '\n' : ',';
	unsigned long value = strtoul(*text, &end, 10);

	if (end == *text || value > max ||
	    (*end != want && !(want == '\n' && (!*end || *end == '\r'))))
		errx(1, "%s:%u: column %u: expected a number in 0..%lu and %s", path, line,
		     column + 1, max, want == ',' ? "a comma" : "the end of the line");
	*text = end + 1;
	return value;
}

static void append_sample(struct samples *samples, char *text, const char *path, unsigned int line)
{
	unsigned int n = samples->count++;

	if (!(n & (n - 1))) {
		samples->pixels =
			realloc(samples->pixels, (n ? 2 * n : 1) * sizeof(*samples->pixels));
		samples->digit = realloc(samples->digit, n ? 2 * n : 1);
		if (!samples->pixels || !samples->digit)
			errx(1, "%s:%u: out of memory", path, line);
	}
	for (unsigned int i = 0; i < PIXELS; i++)
		samples->pixels[n][i] =
			(float)parse_value(&text, path, line, i, MAX_VALUE) / MAX_VALUE;
	samples->digit[n] = parse_value(&text, path, line, PIXELS, CLASSES - 1);
}

void data_load(struct data *data, const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned int line = 0;
	char text[512];

	memset(data, 0, sizeof(*data));
	if (!file)
		err(1, "%s", path);
	while (fgets(text, sizeof(text), file)) {
		if (++line > MAX_LINES)
			errx(1, "%s: more than %d lines", path, MAX_LINES);
		append_sample(line % TEST_EVERY ? &data->train : &data->test, text, path, line);
	}
	if (ferror(file))
		err(1, "%s", path);
	fclose(file);
	if (!data->test.count)
		errx(1, "%s: %u lines: expected %d at least", path, line, TEST_EVERY);
}

void data_free(struct data *data)
{
	free(data->train.pixels);
	free(data->train.digit);
	free(data->test.pixels);
	free(data->test.digit);
}
