// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Datatypes and operations of MPI: what INC reduces, and which datatypes have their data without
 * gaps and in order. MPI_Pack() makes the others so: in a job of machines of one type it copies
 * bytes and adds nothing, which is tried once.
 */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pmpi.h"

#define BIT(n)		(1u << (n))
#define ARITHMETIC	(BIT(INC_OP_MIN) | BIT(INC_OP_MAX) | BIT(INC_OP_SUM) | BIT(INC_OP_PROD))
#define BITWISE		(BIT(INC_OP_BAND) | BIT(INC_OP_BOR) | BIT(INC_OP_BXOR))
#define LOGICAL		(BIT(INC_OP_LAND) | BIT(INC_OP_LOR) | BIT(INC_OP_LXOR))
#define CHUNK		0x40000000u	/* bytes that are packed by one call, which counts in int */

/* MPI-3.1, 5.9.2: which operations a kind of type has. */
enum kind {
	KIND_SIGNED, KIND_UNSIGNED, KIND_FORTRAN, KIND_OTHER_INT, KIND_BYTE, KIND_BOOL, KIND_FLOAT,
	KIND_COMPLEX, KIND_PAIR,
};

static const unsigned int ops_of_kind[] = {
	[KIND_SIGNED] = ARITHMETIC | BITWISE | LOGICAL,
	[KIND_UNSIGNED] = ARITHMETIC | BITWISE | LOGICAL,
	[KIND_FORTRAN] = ARITHMETIC | BITWISE,
	[KIND_OTHER_INT] = ARITHMETIC | BITWISE,
	[KIND_BYTE] = BITWISE,
	[KIND_BOOL] = LOGICAL,
	[KIND_FLOAT] = ARITHMETIC,
	[KIND_COMPLEX] = BIT(INC_OP_SUM) | BIT(INC_OP_PROD),
	[KIND_PAIR] = BIT(INC_OP_MINLOC) | BIT(INC_OP_MAXLOC),
};

/* Others are moved, not reduced: characters, logical values of Fortran, long double. */
static const struct {
	MPI_Datatype type;
	enum kind kind;
	enum incmpi_pair pair;
} named[] = {
	{ MPI_DOUBLE, KIND_FLOAT, 0 },
	{ MPI_FLOAT, KIND_FLOAT, 0 },
	{ MPI_INT, KIND_SIGNED, 0 },
	{ MPI_LONG, KIND_SIGNED, 0 },
	{ MPI_BYTE, KIND_BYTE, 0 },
	{ MPI_UNSIGNED, KIND_UNSIGNED, 0 },
	{ MPI_UNSIGNED_LONG, KIND_UNSIGNED, 0 },
	{ MPI_LONG_LONG_INT, KIND_SIGNED, 0 },
	{ MPI_UNSIGNED_LONG_LONG, KIND_UNSIGNED, 0 },
	{ MPI_SIGNED_CHAR, KIND_SIGNED, 0 },
	{ MPI_UNSIGNED_CHAR, KIND_UNSIGNED, 0 },
	{ MPI_SHORT, KIND_SIGNED, 0 },
	{ MPI_UNSIGNED_SHORT, KIND_UNSIGNED, 0 },
	{ MPI_INT8_T, KIND_SIGNED, 0 },
	{ MPI_INT16_T, KIND_SIGNED, 0 },
	{ MPI_INT32_T, KIND_SIGNED, 0 },
	{ MPI_INT64_T, KIND_SIGNED, 0 },
	{ MPI_UINT8_T, KIND_UNSIGNED, 0 },
	{ MPI_UINT16_T, KIND_UNSIGNED, 0 },
	{ MPI_UINT32_T, KIND_UNSIGNED, 0 },
	{ MPI_UINT64_T, KIND_UNSIGNED, 0 },
	{ MPI_AINT, KIND_OTHER_INT, 0 },
	{ MPI_OFFSET, KIND_OTHER_INT, 0 },
	{ MPI_COUNT, KIND_OTHER_INT, 0 },
	{ MPI_C_BOOL, KIND_BOOL, 0 },
	{ MPI_CXX_BOOL, KIND_BOOL, 0 },
	{ MPI_C_FLOAT_COMPLEX, KIND_COMPLEX, 0 },
	{ MPI_C_DOUBLE_COMPLEX, KIND_COMPLEX, 0 },
	{ MPI_CXX_FLOAT_COMPLEX, KIND_COMPLEX, 0 },
	{ MPI_CXX_DOUBLE_COMPLEX, KIND_COMPLEX, 0 },
	{ MPI_INTEGER, KIND_FORTRAN, 0 },
	{ MPI_INTEGER1, KIND_FORTRAN, 0 },
	{ MPI_INTEGER2, KIND_FORTRAN, 0 },
	{ MPI_INTEGER4, KIND_FORTRAN, 0 },
	{ MPI_INTEGER8, KIND_FORTRAN, 0 },
	{ MPI_REAL, KIND_FLOAT, 0 },
	{ MPI_REAL4, KIND_FLOAT, 0 },
	{ MPI_REAL8, KIND_FLOAT, 0 },
	{ MPI_DOUBLE_PRECISION, KIND_FLOAT, 0 },
	{ MPI_COMPLEX, KIND_COMPLEX, 0 },
	{ MPI_COMPLEX8, KIND_COMPLEX, 0 },
	{ MPI_COMPLEX16, KIND_COMPLEX, 0 },
	{ MPI_DOUBLE_COMPLEX, KIND_COMPLEX, 0 },
	{ MPI_FLOAT_INT, KIND_PAIR, INCMPI_FLOAT_INT },
	{ MPI_DOUBLE_INT, KIND_PAIR, INCMPI_DOUBLE_INT },
	{ MPI_LONG_INT, KIND_PAIR, INCMPI_LONG_INT },
	{ MPI_2INT, KIND_PAIR, INCMPI_INT_INT },
	{ MPI_SHORT_INT, KIND_PAIR, INCMPI_SHORT_INT },
	{ MPI_2INTEGER, KIND_PAIR, INCMPI_INT_INT },
};

#define NR_NAMED (sizeof(named) / sizeof(named[0]))

static const struct {
	MPI_Op op;
	enum inc_op inc;
} known_ops[] = {
	{ MPI_SUM, INC_OP_SUM }, { MPI_MAX, INC_OP_MAX }, { MPI_MIN, INC_OP_MIN },
	{ MPI_PROD, INC_OP_PROD }, { MPI_LAND, INC_OP_LAND }, { MPI_BAND, INC_OP_BAND },
	{ MPI_LOR, INC_OP_LOR }, { MPI_BOR, INC_OP_BOR }, { MPI_LXOR, INC_OP_LXOR },
	{ MPI_BXOR, INC_OP_BXOR }, { MPI_MINLOC, INC_OP_MINLOC }, { MPI_MAXLOC, INC_OP_MAXLOC },
};

static struct incmpi_type known[NR_NAMED];
static int type_keyval = MPI_KEYVAL_INVALID;

enum inc_op pmpi_op_get(MPI_Op op)
{
	for (size_t i = 0; i < sizeof(known_ops) / sizeof(known_ops[0]); i++)
		if (known_ops[i].op == op)
			return known_ops[i].inc;
	return 0;
}

/* Elements are little-endian: on other machines the MPI reduces what has more than one byte. */
static bool is_little_endian(void)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

/* 0: INC has none of this kind and size. */
static enum inc_type inc_type_of(enum kind kind, size_t size)
{
	static const enum inc_type ints[] = {
		[1] = INC_TYPE_I8, [2] = INC_TYPE_I16, [4] = INC_TYPE_I32, [8] = INC_TYPE_I64,
	};
	static const enum inc_type unsigneds[] = {
		[1] = INC_TYPE_U8, [2] = INC_TYPE_U16, [4] = INC_TYPE_U32, [8] = INC_TYPE_U64,
	};

	if (size > 1 && !is_little_endian())
		return 0;
	switch (kind) {
	case KIND_SIGNED:
	case KIND_FORTRAN:
	case KIND_OTHER_INT:
		return size <= 8 ? ints[size] : 0;
	case KIND_UNSIGNED:
		return size <= 8 ? unsigneds[size] : 0;
	case KIND_BYTE:
		return INC_TYPE_U8;
	case KIND_BOOL:
		return size == 1 ? INC_TYPE_BOOL : 0;
	case KIND_FLOAT:
		return size == 4 ? INC_TYPE_F32 : size == 8 ? INC_TYPE_F64 : 0;
	case KIND_COMPLEX:
		return size == 8 ? INC_TYPE_C32 : size == 16 ? INC_TYPE_C64 : 0;
	default:
		return 0;
	}
}

static enum inc_type inc_pair_of(enum incmpi_pair pair)
{
	if (!is_little_endian())
		return 0;
	switch (pair) {
	case INCMPI_FLOAT_INT:
		return INC_TYPE_F32_I32;
	case INCMPI_DOUBLE_INT:
		return INC_TYPE_F64_I64;
	case INCMPI_LONG_INT:
		return INC_TYPE_I64_I64;
	default:
		return INC_TYPE_I32_I32;
	}
}

static bool layout_of(struct incmpi_type *type, MPI_Datatype of, MPI_Aint *lb)
{
	MPI_Aint extent;
	MPI_Count size;

	if (PMPI_Type_size_x(of, &size) || PMPI_Type_get_extent(of, lb, &extent) ||
	    size == MPI_UNDEFINED)
		return false;
	type->size = (size_t)size;
	type->extent = extent;
	return true;
}

/*
 * What a type has been made by, and of which numbers: integers, addresses, large counts and types.
 * MPI 4 refuses the older function for types that have been made by one with large counts.
 */
struct envelope {
	int combiner;
	MPI_Count n[4];
};

static bool envelope_get(struct envelope *e, MPI_Datatype type)
{
#if MPI_VERSION >= 4
	return !PMPI_Type_get_envelope_c(type, &e->n[0], &e->n[1], &e->n[2], &e->n[3],
					 &e->combiner);
#else
	int n[3];

	if (PMPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &e->combiner))
		return false;
	e->n[0] = n[0];
	e->n[1] = n[1];
	e->n[2] = 0;
	e->n[3] = n[2];
	return true;
#endif
}

/* The type that one made of one other type, by at most three numbers of each kind, is made of. */
static bool inner_get(MPI_Datatype *inner, MPI_Datatype type, const struct envelope *e)
{
	int ints[3];
	MPI_Aint aints[3];
#if MPI_VERSION >= 4
	MPI_Count counts[3];

	return !PMPI_Type_get_contents_c(type, e->n[0], e->n[1], e->n[2], e->n[3], ints, aints,
					 counts, inner);
#else
	return !PMPI_Type_get_contents(type, (int)e->n[0], (int)e->n[1], (int)e->n[3], ints, aints,
				       inner);
#endif
}

static bool is_named(MPI_Datatype type)
{
	struct envelope e;

	if (!envelope_get(&e, type))
		return false;
	switch (e.combiner) {
	case MPI_COMBINER_NAMED:
	case MPI_COMBINER_F90_REAL:
	case MPI_COMBINER_F90_COMPLEX:
	case MPI_COMBINER_F90_INTEGER:
		return true;
	default:
		return false;
	}
}

/* Data without gaps, in order, from the type's address on, in all of its extent. */
static bool is_dense(MPI_Datatype type)
{
	struct incmpi_type layout;
	struct envelope e;
	MPI_Datatype inner;
	MPI_Aint lb;
	bool ret;

	if (!layout_of(&layout, type, &lb) || lb || (ptrdiff_t)layout.size != layout.extent)
		return false;
	if (is_named(type))
		return true;
	if (!envelope_get(&e, type))
		return false;
	if (e.combiner != MPI_COMBINER_DUP && e.combiner != MPI_COMBINER_CONTIGUOUS &&
	    e.combiner != MPI_COMBINER_RESIZED)
		return false;
	if (!inner_get(&inner, type, &e))
		return false;
	ret = is_dense(inner);
	if (!is_named(inner))
		PMPI_Type_free(&inner);
	return ret;
}

static int type_freed(MPI_Datatype type, int keyval, void *value, void *extra)
{
	(void)type;
	(void)keyval;
	(void)extra;
	free(value);
	return MPI_SUCCESS;
}

static bool derived_find(struct incmpi_type *type, MPI_Datatype of)
{
	struct incmpi_type *kept;
	MPI_Aint lb;
	int found;

	if (PMPI_Type_get_attr(of, type_keyval, &kept, &found))
		return false;
	if (found) {
		*type = *kept;
		return true;
	}
	memset(type, 0, sizeof(*type));
	if (!layout_of(type, of, &lb))
		return false;
	type->dense = is_dense(of);
	kept = malloc(sizeof(*kept));
	if (kept) {
		*kept = *type;
		if (PMPI_Type_set_attr(of, type_keyval, kept))
			free(kept);
	}
	return true;
}

/*
 * What is known of a derived type is an attribute of it. Threads may use it for the first time at
 * once: the second one to set it would free what another one reads.
 */
static bool derived_get(struct incmpi_type *type, MPI_Datatype of)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	bool ret;

	pthread_mutex_lock(&lock);
	ret = derived_find(type, of);
	pthread_mutex_unlock(&lock);
	return ret;
}

bool pmpi_type_get(struct incmpi_type *type, MPI_Datatype *handle, MPI_Datatype of)
{
	MPI_Aint lb;

	*handle = of;
	if (of == MPI_DATATYPE_NULL)
		return false;
	for (size_t i = 0; i < NR_NAMED; i++) {
		if (named[i].type != of)
			continue;
		*type = known[i];
		type->handle = handle;
		return true;
	}
	if (pmpi_type_is_opaque(of)) {
		memset(type, 0, sizeof(*type));
		if (!layout_of(type, of, &lb))
			return false;
	} else if (!pmpi_type_is_committed(of)) {
		/* it may be no type, and other questions call the error handler of the world */
		return false;
	} else if (is_named(of)) {
		memset(type, 0, sizeof(*type));
		if (!layout_of(type, of, &lb))
			return false;
		type->dense = !lb && (ptrdiff_t)type->size == type->extent;
	} else if (!derived_get(type, of)) {
		return false;
	}
	type->handle = handle;
	return true;
}

static int chunk_count(const void *handle, uint64_t left, int *size)
{
	MPI_Datatype type = *(const MPI_Datatype *)handle;
	uint64_t fit;

	if (PMPI_Type_size(type, size) || *size == MPI_UNDEFINED || *size <= 0)
		return -1;
	fit = CHUNK / (unsigned int)*size ?: 1;
	return (int)(left < fit ? left : fit);
}

#ifdef MPICH_NAME

/*
 * MPI_BOTTOM is NULL, which MPICH's MPI_Pack() and MPI_Unpack() refuse as a buffer: the elements as
 * one of a type that has them at other addresses, for a buffer that is not NULL.
 */
static char origin;

static int from_origin(int n, MPI_Datatype type, MPI_Datatype *moved)
{
	MPI_Aint at;
	int ret;

	ret = PMPI_Get_address(&origin, &at);
	at = -at;
	if (ret == MPI_SUCCESS)
		ret = PMPI_Type_create_hindexed(1, &n, &at, type, moved);
	return ret == MPI_SUCCESS ? PMPI_Type_commit(moved) : ret;
}

static int pack_some(const void *from, int n, MPI_Datatype type, void *to, int bytes, int *at)
{
	MPI_Datatype moved;
	int ret;

	if (from != MPI_BOTTOM)
		return PMPI_Pack(from, n, type, to, bytes, at, MPI_COMM_SELF);
	ret = from_origin(n, type, &moved);
	if (ret != MPI_SUCCESS)
		return ret;
	ret = PMPI_Pack(&origin, 1, moved, to, bytes, at, MPI_COMM_SELF);
	PMPI_Type_free(&moved);
	return ret;
}

static int unpack_some(const void *from, int bytes, int *at, void *to, int n, MPI_Datatype type)
{
	MPI_Datatype moved;
	int ret;

	if (to != MPI_BOTTOM)
		return PMPI_Unpack(from, bytes, at, to, n, type, MPI_COMM_SELF);
	ret = from_origin(n, type, &moved);
	if (ret != MPI_SUCCESS)
		return ret;
	ret = PMPI_Unpack(from, bytes, at, &origin, 1, moved, MPI_COMM_SELF);
	PMPI_Type_free(&moved);
	return ret;
}

#else

static int pack_some(const void *from, int n, MPI_Datatype type, void *to, int bytes, int *at)
{
	return PMPI_Pack(from, n, type, to, bytes, at, MPI_COMM_SELF);
}

static int unpack_some(const void *from, int bytes, int *at, void *to, int n, MPI_Datatype type)
{
	return PMPI_Unpack(from, bytes, at, to, n, type, MPI_COMM_SELF);
}

#endif

int pmpi_pack(const void *handle, const void *from, uint64_t count, void *to, size_t bytes)
{
	MPI_Datatype type = *(const MPI_Datatype *)handle;
	MPI_Aint lb, extent;
	int n, size, at;

	if (!bytes)
		return 0;
	if (PMPI_Type_get_extent(type, &lb, &extent))
		return -1;
	for (; count; count -= (unsigned int)n) {
		n = chunk_count(handle, count, &size);
		at = 0;
		if (n < 0 || pack_some(from, n, type, to, n * size, &at) || at != n * size)
			return -1;
		from = (const char *)from + extent * n;
		to = (char *)to + at;
	}
	return 0;
}

int pmpi_unpack(const void *handle, const void *from, size_t bytes, void *to, uint64_t count)
{
	MPI_Datatype type = *(const MPI_Datatype *)handle;
	MPI_Aint lb, extent;
	int n, size, at;

	if (!bytes)
		return 0;
	if (PMPI_Type_get_extent(type, &lb, &extent))
		return -1;
	for (; count; count -= (unsigned int)n) {
		n = chunk_count(handle, count, &size);
		at = 0;
		if (n < 0 || unpack_some(from, n * size, &at, to, n, type))
			return -1;
		from = (const char *)from + at;
		to = (char *)to + extent * n;
	}
	return 0;
}

/* One of the type is the same type, but for the program's attributes, which a copy would have. */
const void *pmpi_type_hold(const void *handle)
{
	MPI_Datatype *held = malloc(sizeof(*held));

	if (!held || PMPI_Type_contiguous(1, *(const MPI_Datatype *)handle, held)) {
		free(held);
		return NULL;
	}
	if (PMPI_Type_commit(held)) {
		pmpi_type_release(held);
		return NULL;
	}
	return held;
}

void pmpi_type_release(const void *held)
{
	PMPI_Type_free((MPI_Datatype *)held);
	free((void *)held);
}

/* Whether packed elements are their bytes and nothing else. */
static bool packs_bytes(void)
{
	const short from[] = { 1, 2, 3, 4, 5 }, expected[] = { 1, 3, 5 };
	short to[3] = { 0 };
	MPI_Datatype vector;
	bool ret;

	if (PMPI_Type_vector(3, 1, 2, MPI_SHORT, &vector))
		return false;
	ret = !PMPI_Type_commit(&vector) && !pmpi_pack(&vector, from, 1, to, sizeof(to)) &&
	      !memcmp(to, expected, sizeof(to));
	PMPI_Type_free(&vector);
	return ret;
}

bool pmpi_types_init(void)
{
	MPI_Aint lb;

	for (size_t i = 0; i < NR_NAMED; i++) {
		struct incmpi_type *type = &known[i];

		if (named[i].type == MPI_DATATYPE_NULL || !layout_of(type, named[i].type, &lb))
			continue;
		type->dense = !lb && (ptrdiff_t)type->size == type->extent;
		/* Fortran's integer may be another one than int */
		if (named[i].type == MPI_2INTEGER && type->size != 2 * sizeof(int))
			continue;
		type->pair = named[i].pair;
		type->ops = ops_of_kind[named[i].kind];
		type->type = type->pair ? inc_pair_of(type->pair) :
					  inc_type_of(named[i].kind, type->size);
	}
	return packs_bytes() && !PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, type_freed,
							 &type_keyval, NULL);
}

void pmpi_types_exit(void)
{
	PMPI_Type_free_keyval(&type_keyval);
}
