/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INC_FUZZ_JSON_H
#define INC_FUZZ_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* One document and nothing else. */
bool is_json(const char *text, size_t len);

#endif
