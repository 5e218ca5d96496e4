// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON and text from one set of calls. JSON is written as it comes, with a stack of what is open:
 * has anything been written here (then a comma is due). Text is, too, but for the end of a line
 * within an entry, which waits until it is known whether the entry goes on.
 */
#include <stdarg.h>
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "text.h"

#define MAX_DEPTH 16

static bool json, pretty;
static unsigned int depth;
static struct {
	bool filled;
	bool object;
	bool named;	/* has a key */
} levels[MAX_DEPTH];

static struct {
	bool oneline, brief, details, color;
} style;

/* Of text: the entry that is being printed. */
static struct {
	unsigned int objects;	/* that are open; 0: there is no entry */
	unsigned int named;	/* of these and of lists: those that have a key */
	bool begun;		/* something has been printed */
	bool line_due;		/* the end of a line is due */
	bool resting;		/* brief: nothing is printed */
	char held[256];		/* details that are printed behind what comes first */
} entry;

void out_init(bool json_on, bool pretty_on)
{
	json = json_on;
	pretty = pretty_on;
	depth = 0;
	memset(&entry, 0, sizeof(entry));
}

void out_style(bool oneline, bool brief, bool details, bool color)
{
	style.oneline = oneline;
	style.brief = brief;
	style.details = details && !brief;
	style.color = color;
}

bool out_is_json(void)
{
	return json;
}

void out_rest(bool rest)
{
	entry.resting = rest && style.brief;
}

static void put_newline(void)
{
	unsigned int i;

	if (!pretty)
		return;
	putchar('\n');
	for (i = 0; i < depth; i++)
		fputs("    ", stdout);
}

static void put_quoted(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int len;

	putchar('"');
	for (; *s; s += len) {
		len = text_utf8_len(s);
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if (text_control(s) >= 0)
			printf("\\u%04x", text_control(s));
		else if (len)
			fwrite(s, 1, len, stdout);
		else
			fputs("\\ufffd", stdout);
		len = len ? len : 1;
	}
	putchar('"');
}

/* Comma, line and key before a value of any kind. */
static void put_key(const char *key)
{
	if (depth) {
		if (levels[depth - 1].filled)
			putchar(',');
		levels[depth - 1].filled = true;
		put_newline();
	}
	if (key) {
		put_quoted(key);
		fputs(pretty ? ": " : ":", stdout);
	}
}

/* Text of an entry. */
static void put_char(char c)
{
	if (entry.line_due)
		putchar(style.oneline ? '\\' : '\n');
	entry.line_due = c == '\n';
	if (!entry.line_due)
		putchar(c);
	entry.begun = true;
}

void text_put(const char *text, size_t len)
{
	size_t i;

	if (entry.resting)
		return;
	for (i = 0; i < len; i++)
		if (entry.objects)
			put_char(text[i]);
		else
			putchar(text[i]);
}

/* What is held goes behind the first text of the entry. */
static void put_held(void)
{
	if (!entry.begun)
		return;
	fputs(entry.held, stdout);
	entry.held[0] = 0;
}

static void end_entry(void)
{
	fputs(entry.held, stdout);
	if (entry.line_due || (style.brief && entry.begun))
		putchar('\n');
	memset(&entry, 0, sizeof(entry));
}

static void open_level(const char *key, char c, bool object)
{
	if (depth == MAX_DEPTH)
		abort();
	if (json) {
		put_key(key);
		putchar(c);
	}
	levels[depth].filled = false;
	levels[depth].object = object;
	levels[depth++].named = key;
	entry.objects += object;
	entry.named += !!key;
}

static void close_level(char c)
{
	if (!depth)
		abort();
	depth--;
	entry.named -= levels[depth].named;
	entry.objects -= levels[depth].object;
	if (!json) {
		if (levels[depth].object && !entry.objects)
			end_entry();
		return;
	}
	if (levels[depth].filled)
		put_newline();
	putchar(c);
}

void out_open(const char *key)
{
	open_level(key, '{', true);
}

void out_close(void)
{
	close_level('}');
}

void out_open_list(const char *key)
{
	open_level(key, '[', false);
}

void out_close_list(void)
{
	close_level(']');
}

/* The colours of ip(8), as far as it has these things; NULL: none. @value: NULL of a number. */
static const char *color_of(const char *key, const char *value)
{
	static const char *const red[] = {
		"late", "unanswered_ms", "waiting", "waited_ms", "code",
	};
	size_t i;

	if (!style.color || !key)
		return NULL;
	if (!strcmp(key, "dev") || !strcmp(key, "node"))
		return "\033[36m";
	if (!strcmp(key, "addr") && value)
		return strchr(value, ':') ? "\033[34m" : "\033[35m";
	if (!strcmp(key, "state") && value)
		return !strcmp(value, "ready") || !strcmp(value, "active") ? "\033[32m" :
		       !strcmp(value, "failed") ? "\033[31m" : NULL;
	for (i = 0; i < sizeof(red) / sizeof(red[0]); i++)
		if (!strcmp(key, red[i]))
			return "\033[31m";
	return NULL;
}

/* @fmt with colours around its %s, or around all of it if it has none; in @buf. */
static const char *with_color(const char *fmt, const char *color, char *buf, size_t size)
{
	const char *at = strstr(fmt, "%s");
	int before = at ? (int)(at - fmt) : 0, len;

	if (!color)
		return fmt;
	len = snprintf(buf, size, "%.*s%s%s\033[0m%s", before, fmt, color, at ? "%s" : fmt,
		       at ? at + 2 : "");
	return len < (int)size ? buf : fmt;
}

/* What has no format: behind what is there, in front of the end of a line that is due. */
static void put_detail(const char *key, const char *value)
{
	size_t len = strlen(entry.held);
	char text[80], *at;

	if (json || !style.details || entry.objects != 1 || entry.named || !key)
		return;
	snprintf(text, sizeof(text), " %s %s", key, value);
	for (at = text; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	put_held();
	if (!entry.begun)
		snprintf(entry.held + len, sizeof(entry.held) - len, "%s", text);
	else
		fputs(text, stdout);
}

void out_num(const char *key, const char *fmt, uint64_t value, enum unit unit)
{
	char buf[128], number[24];

	if (json && key) {
		put_key(key);
		printf("%ju", (uintmax_t)value);
	} else if (!json && fmt) {
		put_held();
		text_num(with_color(fmt, color_of(key, NULL), buf, sizeof(buf)), value, unit);
	} else {
		snprintf(number, sizeof(number), "%ju", (uintmax_t)value);
		put_detail(key, number);
	}
}

void out_str(const char *key, const char *fmt, const char *value)
{
	char buf[128];

	if (json && key) {
		put_key(key);
		put_quoted(value);
	} else if (!json && fmt) {
		put_held();
		text_str(with_color(fmt, color_of(key, value), buf, sizeof(buf)), value);
	} else {
		put_detail(key, value);
	}
}

void out_bool(const char *key, const char *text, bool value)
{
	char buf[128];

	if (json && key) {
		put_key(key);
		fputs(value ? "true" : "false", stdout);
	} else if (!json && text && value) {
		put_held();
		text = with_color(text, color_of(key, NULL), buf, sizeof(buf));
		text_put(text, strlen(text));
	}
}

void out_text(const char *fmt, ...)
{
	char *text;
	va_list ap;
	int len;

	if (json)
		return;
	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	put_held();
	text_put(text, (size_t)len);
	free(text);
}

bool out_end(void)
{
	if (json)
		putchar('\n');
	return !fflush(stdout) && !ferror(stdout);
}
