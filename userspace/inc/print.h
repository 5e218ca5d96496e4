/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one way out: every value is handed over once, with its JSON key and its text format, and
 * appears as a JSON member (raw number) or as text (with its unit). A NULL format means: not in
 * text; a NULL key: not in JSON.
 */
#ifndef INC_TOOL_PRINT_H
#define INC_TOOL_PRINT_H

#include <stdbool.h>
#include <stdint.h>

#ifndef __printf
#define PRINTF_LIKE(fmt, args) (format(printf, fmt, args))
#define __printf(fmt, args) __attribute__(PRINTF_LIKE(fmt, args))
#endif

enum unit {
	UNIT_NONE,
	UNIT_MS,	/* milliseconds: 250ms, 2s, 1.5s */
	UNIT_US,	/* microseconds: 85us, 1.25ms */
	UNIT_BYTES,	/* 1408B, 64MiB, 1.3MiB */
	UNIT_PERCENT,
	UNIT_HEX,	/* eight digits */
};

void out_init(bool json, bool pretty);
bool out_is_json(void);
/*
 * How text looks. @oneline: an entry, which is an object that stands in none, is one line, with \\
 * where others would begin. @brief: without what stands between out_rest(true) and out_rest(false)
 * or the end of the entry. @details: what has no text format comes with its key, but for what is in
 * objects that have a key.
 */
void out_style(bool oneline, bool brief, bool details, bool color);
void out_rest(bool rest);

/* Objects and lists are JSON's alone; @key is NULL inside a list and at the top. */
void out_open(const char *key);
void out_close(void);
void out_open_list(const char *key);
void out_close_list(void);

/* @fmt holds one %s for the value with its unit. */
void out_num(const char *key, const char *fmt, uint64_t value, enum unit unit);
void out_str(const char *key, const char *fmt, const char *value);
/* @text appears when @value is true. */
void out_bool(const char *key, const char *text, bool value);
/* Text only. */
void out_text(const char *fmt, ...) __printf(1, 2);
/* Ends a JSON document with a newline and writes everything out; false if stdout refused it. */
bool out_end(void);

#endif
