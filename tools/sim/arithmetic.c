// SPDX-License-Identifier: GPL-2.0-only
/* What inc-coll computes results with, for the simulator: their headers exclude each other. */
#include <string.h>

#include "arithmetic.h"
#include "coll.h"

bool arithmetic_is_narrow(const struct arithmetic *a)
{
	bool exact = a->op == INC_OP_MIN || a->op == INC_OP_MAX;

	return !is_block(a->type) && !(a->mode & INC_MODE_SATURATE) && a->op != INC_OP_AVG &&
	       (!is_float(a->type) || exact || a->size >= 4);
}

void arithmetic_fold(const struct arithmetic *a, const void *const *in, uint32_t n, void *out,
		     uint64_t count)
{
	static struct plan plan;	/* large, and most of it stays 0 */
	struct elem elem[MAX_RANKS];
	uint64_t i;
	uint32_t k;

	plan.type = a->type;
	plan.wire = a->wire ? a->wire : a->type;
	plan.op = a->op;
	plan.mode = a->mode;
	plan.ranks = a->ranks;
	for (i = 0; i < count; i++) {
		for (k = 0; k < n; k++)
			memcpy(elem[k].bytes, (const uint8_t *)in[k] + i * a->size, a->size);
		fold(&plan, elem, n, NULL, (uint8_t *)out + i * a->size);
	}
}

bool arithmetic_is_block(uint8_t type)
{
	return is_block(type);
}

void arithmetic_input(uint8_t type, uint64_t x, void *block)
{
	input_block(type, x, block);
}

void arithmetic_unpack(uint8_t type, const void *blocks, uint64_t n, void *values)
{
	float *x = values;
	uint64_t i;

	for (i = 0; i < n; i++)
		unpack_block(type, (const uint8_t *)blocks + i * block_size(type),
			     x + i * INC_MX_VALUES);
}

void arithmetic_pack(uint8_t type, const void *values, uint64_t n, void *blocks)
{
	const float *x = values;
	uint64_t i;

	for (i = 0; i < n; i++)
		pack_block(type, x + i * INC_MX_VALUES,
			   (uint8_t *)blocks + i * block_size(type));
}
