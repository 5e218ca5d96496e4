/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INC_TOOL_TEXT_H
#define INC_TOOL_TEXT_H

#include "print.h"

/* @value with its unit, or @value, in place of each %s of @fmt, on stdout. */
void text_num(const char *fmt, uint64_t value, enum unit unit);
void text_str(const char *fmt, const char *value);

/*
 * Length of the well-formed UTF-8 sequence at @s, 0 if there is none: interface names may hold any
 * byte.
 */
unsigned int text_utf8_len(const unsigned char *s);
/*
 * The control character at @s, or -1: those of C0, DEL, and those of C1, which are two bytes in
 * UTF-8.
 */
int text_control(const unsigned char *s);

#endif
