// SPDX-License-Identifier: GPL-2.0-only
/* Values as text: numbers with units, and nothing that moves the cursor. */
#include <stdbool.h>
#include <stdio.h>

#include "text.h"

unsigned int text_utf8_len(const unsigned char *s)
{
	unsigned int len = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 :
			   *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
	unsigned int i;

	for (i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

/* What separates lines, or says in which direction what follows is written (UAX #9). */
static bool turns_text(int code)
{
	return code == 0x61c || code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

int text_control(const unsigned char *s)
{
	int code;

	if (*s < 0x80)
		return *s < 0x20 || *s == 0x7f ? *s : -1;
	/* those of longer sequences are none */
	switch (text_utf8_len(s)) {
	case 2:
		code = (s[0] & 0x1f) << 6 | (s[1] & 0x3f);
		break;
	case 3:
		code = (s[0] & 0xf) << 12 | (s[1] & 0x3f) << 6 | (s[2] & 0x3f);
		break;
	default:
		return -1;
	}
	return code < 0xa0 || turns_text(code) ? code : -1;
}

/* Up to three digits after the point, zeros at the end left out. */
static void put_decimal(char *buf, size_t size, double value, const char *unit)
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
	put_decimal(buf, size, v, units[i]);
}

static void put_human(char *buf, size_t size, uint64_t value, enum unit unit)
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
			put_decimal(buf, size, (double)value / 1000, "s");
		break;
	case UNIT_US:
		if (value < 1000)
			snprintf(buf, size, "%juus", (uintmax_t)value);
		else
			put_decimal(buf, size, (double)value / 1000, "ms");
		break;
	case UNIT_BYTES:
		human_bytes(buf, size, value);
		break;
	}
}

/* Text may hold nothing that moves the cursor: names and error texts come from elsewhere. */
static void print_plain(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int len;

	for (; *s; s += len) {
		len = text_utf8_len(s);
		if (len && text_control(s) < 0)
			text_put((const char *)s, len);
		else
			text_put("?", 1);
		len = len ? len : 1;
	}
}

void text_str(const char *fmt, const char *value)
{
	const char *at;

	for (at = fmt; *at; at++) {
		if (at[0] != '%' || at[1] != 's') {
			text_put(at, 1);
			continue;
		}
		print_plain(value);
		at++;
	}
}

void text_num(const char *fmt, uint64_t value, enum unit unit)
{
	char buf[64];

	put_human(buf, sizeof(buf), value, unit);
	text_str(fmt, buf);
}
