// SPDX-License-Identifier: GPL-2.0-only
/* Attributes of what the kernel says: any of them may be absent, or too short. */
#include <string.h>

#include "attr.h"

struct nlattr **parse_nest(struct nlattr *nest, struct nlattr **tb, int max)
{
	if (nla_parse_nested(tb, max, nest, NULL))
		memset(tb, 0, sizeof(*tb) * (size_t)(max + 1));
	return tb;
}

static bool get_value(struct nlattr *attr, void *value, int size)
{
	if (!attr || nla_len(attr) < size)
		return false;
	memcpy(value, nla_data(attr), (size_t)size);
	return true;
}

bool get_u8(struct nlattr *attr, uint8_t *value)
{
	return get_value(attr, value, sizeof(*value));
}

bool get_u16(struct nlattr *attr, uint16_t *value)
{
	return get_value(attr, value, sizeof(*value));
}

bool get_u32(struct nlattr *attr, uint32_t *value)
{
	return get_value(attr, value, sizeof(*value));
}

bool get_port(struct nlattr *attr, uint16_t *value)
{
	uint32_t number;

	if (!get_u32(attr, &number) || number > UINT16_MAX)
		return false;
	*value = (uint16_t)number;
	return true;
}

bool get_u64(struct nlattr *attr, uint64_t *value)
{
	return get_value(attr, value, sizeof(*value));
}

const char *get_str(struct nlattr *attr)
{
	if (!attr || nla_len(attr) < 1 || ((char *)nla_data(attr))[nla_len(attr) - 1])
		return NULL;
	return nla_data(attr);
}
