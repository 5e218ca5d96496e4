/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * OpenMetrics text. All samples of a metric stand together, whatever the order in which they come:
 * they are kept until the end.
 */
#ifndef INC_TOOL_EXPOSITION_H
#define INC_TOOL_EXPOSITION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct metric {
	const char *name;	/* of a counter: without _total */
	const char *type;	/* "counter", "gauge", "stateset", "info", "histogram" */
	const char *help;
	/* the samples, see metric_sample() */
	FILE *to;
	char *samples;
	size_t len;
};

#define MAX_LABELS	512

/* {group="3",rank="0"}, or nothing; begins empty. */
struct labels {
	char text[MAX_LABELS];
	size_t len;
};

/* False: it is too long, and was left out. */
bool label_str(struct labels *labels, const char *key, const char *value);
bool label_num(struct labels *labels, const char *key, uint64_t value);

/*
 * One sample. A second one with these labels is left out: it would make all of the text invalid.
 * False: there is no memory.
 */
bool metric_num(struct metric *metric, const struct labels *labels, uint64_t value);
bool metric_us(struct metric *metric, const struct labels *labels, uint64_t us);
/*
 * Of a histogram: @n buckets of which bucket i has what took less than 2^i microseconds and no less
 * than half of that.
 */
bool metric_histogram(struct metric *metric, const struct labels *labels, const uint64_t *buckets,
		      unsigned int n, uint64_t sum_us);

/* Prints and frees the samples of @metric, if there are any. */
void metric_print(struct metric *metric);
/* The end, without which it would be taken for cut off; forgets the samples that there were. */
void exposition_end(void);

#endif
