// SPDX-License-Identifier: GPL-2.0-only
/* OpenMetrics text, version 1.0.0. */
#define _GNU_SOURCE
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "exposition.h"
#include "text.h"

/* Names with labels of all samples: each may be there once. */
static void *seen;

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Quotes, backslashes and line breaks are escaped; no other byte may end a line or a label. */
static void put_value(FILE *to, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;
	unsigned int len;

	for (; *s; s += len ? len : 1) {
		len = text_utf8_len(s);
		if (*s == '"' || *s == '\\')
			fprintf(to, "\\%c", *s);
		else if (*s == '\n')
			fputs("\\n", to);
		else if (!len || text_control(s) >= 0)
			fputc('?', to);
		else
			fwrite(s, 1, len, to);
	}
}

bool label_str(struct labels *labels, const char *key, const char *value)
{
	size_t room = sizeof(labels->text) - labels->len, len;
	FILE *to = fmemopen(labels->text + labels->len, room, "w");

	if (!to)
		return false;
	fprintf(to, "%s%s=\"", labels->len ? "," : "", key);
	put_value(to, value);
	fputc('"', to);
	fflush(to);
	len = (size_t)ftell(to);
	if (fclose(to) || len + 1 >= room) {
		labels->text[labels->len] = 0;
		return false;
	}
	labels->len += len;
	return true;
}

bool label_num(struct labels *labels, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%ju", (uintmax_t)value);
	return label_str(labels, key, text);
}

static const char *suffix_of(const struct metric *metric)
{
	return !strcmp(metric->type, "counter") ? "_total" :
	       !strcmp(metric->type, "info") ? "_info" : "";
}

/* Is this the first one with these labels? */
static bool is_first(const struct metric *metric, const struct labels *labels, bool *memory)
{
	char *name, **found;

	*memory = asprintf(&name, "%s{%s}", metric->name, labels->text) >= 0;
	if (!*memory)
		return false;
	found = tsearch(name, &seen, by_name);
	*memory = found;
	if (found && *found == name)
		return true;
	free(name);
	return false;
}

/* False if there is nothing to be written; @memory says why. */
static bool begin_sample(struct metric *metric, const struct labels *labels, bool *memory)
{
	if (!metric->to)
		metric->to = open_memstream(&metric->samples, &metric->len);
	*memory = metric->to;
	return metric->to && is_first(metric, labels, memory);
}

static void put_name(struct metric *metric, const struct labels *labels, const char *suffix,
		     const char *le)
{
	fprintf(metric->to, "%s%s", metric->name, suffix);
	if (labels->len || le)
		fprintf(metric->to, "{%s%s%s}", labels->text, labels->len && le ? "," : "",
			le ? le : "");
}

bool metric_num(struct metric *metric, const struct labels *labels, uint64_t value)
{
	bool memory;

	if (!begin_sample(metric, labels, &memory))
		return memory;
	put_name(metric, labels, suffix_of(metric), NULL);
	fprintf(metric->to, " %ju\n", (uintmax_t)value);
	return true;
}

static void put_us(FILE *to, uint64_t us)
{
	fprintf(to, " %ju.%06ju\n", (uintmax_t)us / 1000000, (uintmax_t)us % 1000000);
}

bool metric_us(struct metric *metric, const struct labels *labels, uint64_t us)
{
	bool memory;

	if (!begin_sample(metric, labels, &memory))
		return memory;
	put_name(metric, labels, suffix_of(metric), NULL);
	put_us(metric->to, us);
	return true;
}

bool metric_histogram(struct metric *metric, const struct labels *labels, const uint64_t *buckets,
		      unsigned int n, uint64_t sum_us)
{
	uint64_t count = 0, most;
	char le[40];
	bool memory;
	unsigned int i;

	if (!begin_sample(metric, labels, &memory))
		return memory;
	for (i = 0; i < n; i++) {
		most = (1ULL << i) - 1;
		count += buckets[i];
		if (i + 1 < n)
			snprintf(le, sizeof(le), "le=\"%ju.%06ju\"",
				 (uintmax_t)most / 1000000, (uintmax_t)most % 1000000);
		put_name(metric, labels, "_bucket", i + 1 < n ? le : "le=\"+Inf\"");
		fprintf(metric->to, " %ju\n", (uintmax_t)count);
	}
	put_name(metric, labels, "_count", NULL);
	fprintf(metric->to, " %ju\n", (uintmax_t)count);
	put_name(metric, labels, "_sum", NULL);
	put_us(metric->to, sum_us);
	return true;
}

void metric_print(struct metric *metric)
{
	if (!metric->to)
		return;
	fclose(metric->to);
	if (metric->len) {
		printf("# TYPE %s %s\n# HELP %s ", metric->name, metric->type, metric->name);
		put_value(stdout, metric->help);
		putchar('\n');
		fwrite(metric->samples, 1, metric->len, stdout);
	}
	free(metric->samples);
	metric->to = NULL;
	metric->samples = NULL;
}

void exposition_end(void)
{
	tdestroy(seen, free);
	seen = NULL;
	puts("# EOF");
}
