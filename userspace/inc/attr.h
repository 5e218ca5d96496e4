/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INC_TOOL_ATTR_H
#define INC_TOOL_ATTR_H

#include <netlink/attr.h>
#include <stdbool.h>
#include <stdint.h>

/* Attributes that may be absent. */
struct nlattr **parse_nest(struct nlattr *nest, struct nlattr **tb, int max);
bool get_u8(struct nlattr *attr, uint8_t *value);
bool get_u16(struct nlattr *attr, uint16_t *value);
/* A UDP port of the family "inc", which is a u32 as all its numbers are. */
bool get_port(struct nlattr *attr, uint16_t *value);
bool get_u32(struct nlattr *attr, uint32_t *value);
bool get_u64(struct nlattr *attr, uint64_t *value);
const char *get_str(struct nlattr *attr);

#endif
