/* SPDX-License-Identifier: GPL-2.0-only */
/* Elements folded without the reduction kernels, by userspace/coll/number.c. */
#ifndef SIM_ARITHMETIC_H
#define SIM_ARITHMETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arithmetic {
	uint8_t type;		/* enum inc_type */
	uint8_t op;		/* enum inc_op */
	uint8_t wire;		/* enum inc_type that the result is rounded to, 0: the same */
	uint8_t mode;		/* INC_MODE_SATURATE or 0 */
	uint32_t ranks;		/* of the group */
	size_t size;		/* bytes of an element */
};

/* What the first @n ranks have, @count elements each: folded, rounded once. */
void arithmetic_fold(const struct arithmetic *a, const void *const *in, uint32_t n, void *out,
		     uint64_t count);
/* Is the fold of all but the last, as an element, all that one has to know of them? */
bool arithmetic_is_narrow(const struct arithmetic *a);

/* Blocks of INC_MX_VALUES values (MX): what a host sends, and all @n of them as f32, or from it. */
bool arithmetic_is_block(uint8_t type);
void arithmetic_input(uint8_t type, uint64_t x, void *block);
void arithmetic_unpack(uint8_t type, const void *blocks, uint64_t n, void *values);
void arithmetic_pack(uint8_t type, const void *values, uint64_t n, void *blocks);

#endif
