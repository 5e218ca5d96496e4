// SPDX-License-Identifier: GPL-2.0-only
/* The tool's way out (print.h), with tc's JSON writer behind it: tc has begun the document. */
#include <stdarg.h>
#include <stdio.h>

#include "print.h"
#include "tc_abi.h"
#include "text.h"

bool out_is_json(void)
{
	return is_json_context();
}

void text_put(const char *text, size_t len)
{
	fwrite(text, 1, len, stdout);
}

static struct json_writer *put_key(const char *key)
{
	if (key)
		jsonw_name(get_json_writer(), key);
	return get_json_writer();
}

void out_open(const char *key)
{
	if (out_is_json())
		jsonw_start_object(put_key(key));
}

void out_close(void)
{
	if (out_is_json())
		jsonw_end_object(get_json_writer());
}

void out_open_list(const char *key)
{
	if (out_is_json())
		jsonw_start_array(put_key(key));
}

void out_close_list(void)
{
	if (out_is_json())
		jsonw_end_array(get_json_writer());
}

void out_num(const char *key, const char *fmt, uint64_t value, enum unit unit)
{
	if (out_is_json() && key)
		jsonw_u64(put_key(key), value);
	else if (!out_is_json() && fmt)
		text_num(fmt, value, unit);
}

void out_text(const char *fmt, ...)
{
	va_list ap;

	if (out_is_json())
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
}
