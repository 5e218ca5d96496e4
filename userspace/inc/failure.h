/* SPDX-License-Identifier: GPL-2.0-only */
/* Errors of groups, as nests INC_A_ERROR_*. */
#ifndef INC_TOOL_FAILURE_H
#define INC_TOOL_FAILURE_H

#include <netlink/attr.h>

/*
 * JSON: an object @key with number, code, operation, ranks, what each has asked for, and text.
 * Text: @start, name of the code, operation, and what it was about; nothing if @start is NULL.
 */
void show_failure(const char *key, const char *start, struct nlattr *nest);

/* "rank 2 did not contribute within the late limit"; valid until the next call. */
const char *failure_text(struct nlattr *nest);

#endif
