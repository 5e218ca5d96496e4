/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INC_TOOL_TEXT_H
#define INC_TOOL_TEXT_H

#include <stddef.h>

#include "print.h"

/* Where text goes: whoever uses these functions has it (print.c, tc/print_tc.c). */
void text_put(const char *text, size_t len);

/* @value with its unit, or @value, in place of each %s of @fmt, to text_put(). */
void text_num(const char *fmt, uint64_t value, enum unit unit);
void text_str(const char *fmt, const char *value);

/* Length of the well-formed UTF-8 sequence at @s, 0 if there is none: names may hold any byte. */
unsigned int text_utf8_len(const unsigned char *s);
/*
 * The character at @s by which what is shown would be another text than it is, or -1: those of C0,
 * DEL, those of C1, and what has lines begin or be written from the other side.
 */
int text_control(const unsigned char *s);

#endif
