// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON and text from one set of calls. JSON is written as it comes, with a stack of one flag per
 * nesting level: has anything been written here (then a comma is due).
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "print.h"
#include "text.h"

#define MAX_DEPTH 16

static bool json, pretty;
static unsigned int depth;
static bool filled[MAX_DEPTH];

void out_init(bool json_on, bool pretty_on)
{
	json = json_on;
	pretty = pretty_on;
}

bool out_is_json(void)
{
	return json;
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
		if (filled[depth - 1])
			putchar(',');
		filled[depth - 1] = true;
		put_newline();
	}
	if (key) {
		put_quoted(key);
		fputs(pretty ? ": " : ":", stdout);
	}
}

static void open_level(const char *key, char c)
{
	if (!json)
		return;
	if (depth == MAX_DEPTH)
		abort();
	put_key(key);
	putchar(c);
	filled[depth++] = false;
}

static void close_level(char c)
{
	if (!json)
		return;
	if (!depth)
		abort();
	depth--;
	if (filled[depth])
		put_newline();
	putchar(c);
}

void out_open(const char *key)
{
	open_level(key, '{');
}

void out_close(void)
{
	close_level('}');
}

void out_open_list(const char *key)
{
	open_level(key, '[');
}

void out_close_list(void)
{
	close_level(']');
}

void out_num(const char *key, const char *fmt, uint64_t value, enum unit unit)
{
	if (json && key) {
		put_key(key);
		printf("%ju", (uintmax_t)value);
	} else if (!json && fmt) {
		text_num(fmt, value, unit);
	}
}

void out_str(const char *key, const char *fmt, const char *value)
{
	if (json && key) {
		put_key(key);
		put_quoted(value);
	} else if (!json && fmt) {
		text_str(fmt, value);
	}
}

void out_bool(const char *key, const char *text, bool value)
{
	if (json && key) {
		put_key(key);
		fputs(value ? "true" : "false", stdout);
	} else if (!json && text && value) {
		fputs(text, stdout);
	}
}

void out_text(const char *fmt, ...)
{
	va_list ap;

	if (json)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
}

bool out_end(void)
{
	if (json)
		putchar('\n');
	return !fflush(stdout) && !ferror(stdout);
}
