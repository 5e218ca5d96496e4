// SPDX-License-Identifier: GPL-2.0-only
/* Errors of the tool, and of what it shares with tc's plugin. */
#include <stdarg.h>
#include <stdio.h>

#include "tool.h"

char error_context[64];

static void print_error(const char *fmt, va_list ap)
{
	fflush(stdout);
	fprintf(stderr, "inc: %s", error_context);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
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
