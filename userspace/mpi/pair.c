// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Pairs of value and index: MPI's are C structs, with gaps and an int as index; INC's are packed,
 * and both parts have one size. To MPI -0 and +0 are equal, and the lower index wins; INC orders
 * them, so -0 becomes +0.
 */
#include <string.h>

#include "internal.h"

struct short_int { short value; int index; };
struct int_int { int value; int index; };
struct long_int { long value; int index; };
struct float_int { float value; int index; };
struct double_int { double value; int index; };

struct inc_i32_i32 { int32_t value; int32_t index; };
struct inc_i64_i64 { int64_t value; int64_t index; };
struct inc_f32_i32 { float value; int32_t index; };
struct inc_f64_i64 { double value; int64_t index; };

/* @plus 0.0 makes +0 of -0. */
#define LOAD(from_type, to_type, plus) do {				\
	for (uint64_t i = 0; i < count; i++) {				\
		from_type a;						\
		to_type b;						\
									\
		memcpy(&a, (const char *)from + i * sizeof(a), sizeof(a)); \
		b.value = a.value + (plus);					\
		b.index = a.index;					\
		memcpy((char *)to + i * sizeof(b), &b, sizeof(b));	\
	}								\
} while (0)

/* Only value and index: gaps keep what they hold, as MPI requires. */
#define STORE(from_type, to_type) do {					\
	for (uint64_t i = 0; i < count; i++) {				\
		to_type *b = (to_type *)((char *)to + i * sizeof(*b));	\
		from_type a;						\
									\
		memcpy(&a, (const char *)from + i * sizeof(a), sizeof(a)); \
		b->value = a.value;					\
		b->index = a.index;					\
	}								\
} while (0)

size_t incmpi_pair_bytes(enum incmpi_pair pair)
{
	switch (pair) {
	case INCMPI_SHORT_INT:
	case INCMPI_INT_INT:
	case INCMPI_FLOAT_INT:
		return 8;
	case INCMPI_LONG_INT:
	case INCMPI_DOUBLE_INT:
		return 16;
	default:
		return 0;
	}
}

void incmpi_pair_load(enum incmpi_pair pair, const void *from, uint64_t count, void *to)
{
	switch (pair) {
	case INCMPI_SHORT_INT:
		LOAD(struct short_int, struct inc_i32_i32, 0);
		break;
	case INCMPI_INT_INT:
		LOAD(struct int_int, struct inc_i32_i32, 0);
		break;
	case INCMPI_LONG_INT:
		LOAD(struct long_int, struct inc_i64_i64, 0);
		break;
	case INCMPI_FLOAT_INT:
		LOAD(struct float_int, struct inc_f32_i32, 0.0f);
		break;
	case INCMPI_DOUBLE_INT:
		LOAD(struct double_int, struct inc_f64_i64, 0.0);
		break;
	default:
		break;
	}
}

void incmpi_pair_store(enum incmpi_pair pair, const void *from, uint64_t count, void *to)
{
	switch (pair) {
	case INCMPI_SHORT_INT:
		STORE(struct inc_i32_i32, struct short_int);
		break;
	case INCMPI_INT_INT:
		STORE(struct inc_i32_i32, struct int_int);
		break;
	case INCMPI_LONG_INT:
		STORE(struct inc_i64_i64, struct long_int);
		break;
	case INCMPI_FLOAT_INT:
		STORE(struct inc_f32_i32, struct float_int);
		break;
	case INCMPI_DOUBLE_INT:
		STORE(struct inc_f64_i64, struct double_int);
		break;
	default:
		break;
	}
}
