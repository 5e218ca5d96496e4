// SPDX-License-Identifier: GPL-2.0-only
/* Errors of the tool, and of what it shares with tc's plugin. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "text.h"
#include "tool.h"

char error_context[64];

/* What was typed, or has been read, may hold what moves a terminal's cursor: as \033 then. */
static void put_escaped(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int len, i;

	for (; *s; s += len) {
		len = text_utf8_len(s);
		if (len && text_control(s) < 0) {
			fwrite(s, 1, len, stderr);
			continue;
		}
		len = len ? len : 1;
		for (i = 0; i < len; i++)
			fprintf(stderr, "\\%03o", s[i]);
	}
}

static void print_error(const char *fmt, va_list ap)
{
	char *text;

	fflush(stdout);
	if (vasprintf(&text, fmt, ap) < 0)
		return;
	fputs("inc: ", stderr);
	put_escaped(error_context);
	put_escaped(text);
	fputc('\n', stderr);
	free(text);
}

int usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_error(fmt, ap);
	va_end(ap);
	return EXIT_USAGE;
}

int refused(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_error(fmt, ap);
	va_end(ap);
	return EXIT_REFUSED;
}
