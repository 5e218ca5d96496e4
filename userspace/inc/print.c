// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON and text from one set of calls. JSON is written as it comes, with a stack of one flag per nesting level: has
 * anything been written here (then a comma is due).
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "print.h"

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

static void newline(void)
{
	unsigned int i;

	if (!pretty)
		return;
	putchar('\n');
	for (i = 0; i < depth; i++)
		fputs("    ", stdout);
}

/* Length of the well-formed UTF-8 sequence at @s, 0 if there is none: interface names may hold any byte. */
static unsigned int utf8_len(const unsigned char *s)
{
	unsigned int len = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
	unsigned int i;

	for (i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

/* The control character at @s, or -1: those of C0, DEL, and those of C1, which are two bytes in UTF-8. */
static int control(const unsigned char *s)
{
	if (*s < 0x20 || *s == 0x7f)
		return *s;
	return s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0 ? s[1] : -1;
}

static void quoted(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int len;

	putchar('"');
	for (; *s; s += len) {
		len = utf8_len(s);
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if (control(s) >= 0)
			printf("\\u%04x", control(s));
		else if (len)
			fwrite(s, 1, len, stdout);
		else
			fputs("\\ufffd", stdout);
		len = len ? len : 1;
	}
	putchar('"');
}

/* Comma, line and key before a value of any kind. */
static void member(const char *key)
{
	if (depth) {
		if (filled[depth - 1])
			putchar(',');
		filled[depth - 1] = true;
		newline();
	}
	if (key) {
		quoted(key);
		fputs(pretty ? ": " : ":", stdout);
	}
}

static void open_level(const char *key, char c)
{
	if (!json)
		return;
	if (depth == MAX_DEPTH)
		abort();
	member(key);
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
		newline();
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

/* Up to three digits after the point, zeros at the end left out. */
static void decimal(char *buf, size_t size, double value, const char *unit)
{
	int len = snprintf(buf, size, "%.3f", value);

	while (len > 1 && buf[len - 1] == '0')
		len--;
	if (buf[len - 1] == '.')
		len--;
	snprintf(buf + len, size - (size_t)len, "%s", unit);
}

static void human_bytes(char *buf, size_t size, uint64_t value)
{
	static const char * const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	unsigned int i = 0;
	double v = (double)value;

	/* 10000 stays 10000B: sizes of a few packets are compared with what the user typed. */
	while (i < 4 && (v >= 65536 || (v >= 1024 && value % (1ULL << (10 * (i + 1))) == 0))) {
		v /= 1024;
		i++;
	}
	decimal(buf, size, v, units[i]);
}

static void human(char *buf, size_t size, uint64_t value, enum unit unit)
{
	switch (unit) {
	case UNIT_NONE:
		snprintf(buf, size, "%ju", (uintmax_t)value);
		break;
	case UNIT_HEX:
		snprintf(buf, size, "%08jx", (uintmax_t)value);
		break;
	case UNIT_PERCENT:
		snprintf(buf, size, "%ju%%", (uintmax_t)value);
		break;
	case UNIT_MS:
		if (value < 1000)
			snprintf(buf, size, "%jums", (uintmax_t)value);
		else
			decimal(buf, size, (double)value / 1000, "s");
		break;
	case UNIT_US:
		if (value < 1000)
			snprintf(buf, size, "%juus", (uintmax_t)value);
		else
			decimal(buf, size, (double)value / 1000, "ms");
		break;
	case UNIT_BYTES:
		human_bytes(buf, size, value);
		break;
	}
}

/* Text may hold nothing that moves the cursor: names and error texts come from elsewhere. */
static void plain(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int len;

	for (; *s; s += len) {
		len = utf8_len(s);
		if (len && control(s) < 0)
			fwrite(s, 1, len, stdout);
		else
			putchar('?');
		len = len ? len : 1;
	}
}

static void text_value(const char *fmt, const char *value)
{
	const char *at;

	for (at = fmt; *at; at++) {
		if (at[0] != '%' || at[1] != 's') {
			putchar(*at);
			continue;
		}
		plain(value);
		at++;
	}
}

void out_num(const char *key, const char *fmt, uint64_t value, enum unit unit)
{
	char buf[64];

	if (json && key) {
		member(key);
		printf("%ju", (uintmax_t)value);
	} else if (!json && fmt) {
		human(buf, sizeof(buf), value, unit);
		text_value(fmt, buf);
	}
}

void out_str(const char *key, const char *fmt, const char *value)
{
	if (json && key) {
		member(key);
		quoted(value);
	} else if (!json && fmt) {
		text_value(fmt, value);
	}
}

void out_bool(const char *key, const char *text, bool value)
{
	if (json && key) {
		member(key);
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
