// SPDX-License-Identifier: GPL-2.0-only
/* Elements: their datatypes, the operations that these have, and what ranks give of them. */
#include "mpi-coll.h"

MPI_Datatype mixed;

const struct element_type types[] = {
	{ "int", MPI_INT, INT, sizeof(int), false },
	{ "signed char", MPI_SIGNED_CHAR, INT, 1, false },
	{ "short", MPI_SHORT, INT, sizeof(short), false },
	{ "long", MPI_LONG, INT, sizeof(long), false },
	{ "int64", MPI_INT64_T, INT, 8, false },
	{ "uint8", MPI_UINT8_T, UNSIGNED, 1, false },
	{ "uint16", MPI_UINT16_T, UNSIGNED, 2, false },
	{ "unsigned", MPI_UNSIGNED, UNSIGNED, sizeof(int), false },
	{ "uint64", MPI_UINT64_T, UNSIGNED, 8, false },
	{ "float", MPI_FLOAT, FLOAT, sizeof(float), true },
	{ "double", MPI_DOUBLE, FLOAT, sizeof(double), true },
	{ "float complex", MPI_C_FLOAT_COMPLEX, COMPLEX, sizeof(float), true },
	{ "double complex", MPI_C_DOUBLE_COMPLEX, COMPLEX, sizeof(double), true },
	{ "bool", MPI_C_BOOL, BOOL, 1, false },
	{ "byte", MPI_BYTE, BYTES, 1, false },
	{ "char", MPI_CHAR, CHARS, 1, false },
	{ "float, int", MPI_FLOAT_INT, PAIR, sizeof(float), true },
	{ "double, int", MPI_DOUBLE_INT, PAIR, sizeof(double), true },
	{ "long, int", MPI_LONG_INT, PAIR, sizeof(long), false },
	{ "int, int", MPI_2INT, PAIR, sizeof(int), false },
	{ "short, int", MPI_SHORT_INT, PAIR, sizeof(short), false },
	{ "int8", MPI_INT8_T, INT, 1, false },
	{ "int16", MPI_INT16_T, INT, 2, false },
	{ "int32", MPI_INT32_T, INT, 4, false },
	{ "long long", MPI_LONG_LONG_INT, INT, sizeof(long long), false },
	{ "unsigned char", MPI_UNSIGNED_CHAR, UNSIGNED, 1, false },
	{ "unsigned short", MPI_UNSIGNED_SHORT, UNSIGNED, sizeof(short), false },
	{ "unsigned long", MPI_UNSIGNED_LONG, UNSIGNED, sizeof(long), false },
	{ "unsigned long long", MPI_UNSIGNED_LONG_LONG, UNSIGNED, sizeof(long long), false },
	{ "uint32", MPI_UINT32_T, UNSIGNED, 4, false },
	{ "address", MPI_AINT, INTEGER, sizeof(MPI_Aint), false },
	{ "offset", MPI_OFFSET, INTEGER, sizeof(MPI_Offset), false },
	{ "count", MPI_COUNT, INTEGER, sizeof(MPI_Count), false },
	{ "bool of C++", MPI_CXX_BOOL, BOOL, 1, false },
	{ "float complex of C++", MPI_CXX_FLOAT_COMPLEX, COMPLEX, sizeof(float), true },
	{ "double complex of C++", MPI_CXX_DOUBLE_COMPLEX, COMPLEX, sizeof(double), true },
	{ "integer", MPI_INTEGER, INTEGER, 4, false },
	{ "integer*1", MPI_INTEGER1, INTEGER, 1, false },
	{ "integer*2", MPI_INTEGER2, INTEGER, 2, false },
	{ "integer*4", MPI_INTEGER4, INTEGER, 4, false },
	{ "integer*8", MPI_INTEGER8, INTEGER, 8, false },
	{ "real", MPI_REAL, FLOAT, 4, true },
	{ "real*4", MPI_REAL4, FLOAT, 4, true },
	{ "real*8", MPI_REAL8, FLOAT, 8, true },
	{ "double precision", MPI_DOUBLE_PRECISION, FLOAT, 8, true },
	{ "complex", MPI_COMPLEX, COMPLEX, 4, true },
	{ "complex*8", MPI_COMPLEX8, COMPLEX, 4, true },
	{ "complex*16", MPI_COMPLEX16, COMPLEX, 8, true },
	{ "double complex of Fortran", MPI_DOUBLE_COMPLEX, COMPLEX, 8, true },
	{ "integer, integer", MPI_2INTEGER, PAIR, 4, false },
};

const unsigned int nr_types = sizeof(types) / sizeof(types[0]);

enum {
	INTEGERS = 1 << INT | 1 << UNSIGNED | 1 << INTEGER,
	ARITHMETIC = INTEGERS | 1 << FLOAT,
};

const struct reduction reductions[] = {
	{ "sum", MPI_SUM, ARITHMETIC | 1 << COMPLEX, false },
	{ "prod", MPI_PROD, ARITHMETIC | 1 << COMPLEX, false },
	{ "min", MPI_MIN, ARITHMETIC, false },
	{ "max", MPI_MAX, ARITHMETIC, false },
	{ "land", MPI_LAND, 1 << INT | 1 << UNSIGNED | 1 << BOOL, true },
	{ "lor", MPI_LOR, 1 << INT | 1 << UNSIGNED | 1 << BOOL, true },
	{ "lxor", MPI_LXOR, 1 << INT | 1 << UNSIGNED | 1 << BOOL, true },
	{ "band", MPI_BAND, INTEGERS | 1 << BYTES, false },
	{ "bor", MPI_BOR, INTEGERS | 1 << BYTES, false },
	{ "bxor", MPI_BXOR, INTEGERS | 1 << BYTES, false },
	{ "minloc", MPI_MINLOC, 1 << PAIR, false },
	{ "maxloc", MPI_MAXLOC, 1 << PAIR, false },
};

const unsigned int nr_reductions = sizeof(reductions) / sizeof(reductions[0]);

size_t extent_of(MPI_Datatype type)
{
	MPI_Aint lb, extent;

	PMPI_Type_get_extent(type, &lb, &extent);
	return (size_t)extent;
}

static void put_value(char *at, size_t bytes, bool real, long value)
{
	float f = (float)value;
	double d = (double)value;

	if (real)
		memcpy(at, bytes == sizeof(f) ? (void *)&f : (void *)&d, bytes);
	else
		memcpy(at, &value, bytes);	/* little-endian, or small enough not to matter */
}

/*
 * Element @i of what a rank gives: any bits, or a number so small that nothing overflows, which is
 * not defined in MPI (sums of unsigned char and short saturate in Open MPI 4.1), and that has no
 * highest bit (MPICH 4.0 has wrong minima of unsigned int then; Open MPI 4.1 takes MPI_OFFSET and
 * MPI_COUNT for unsigned).
 */
void put_element(char *at, unsigned int t, bool bits, uint64_t key, uint64_t who, uint64_t i)
{
	bool positive = types[t].kind == UNSIGNED || types[t].type == MPI_OFFSET ||
			types[t].type == MPI_COUNT;
	long v = positive ? (long)draw_at(key, who, i, 3) : (long)draw_at(key, who, i, 5) - 2;
	uint64_t any = mix(key ^ mix(who ^ mix(i)));
	int index = (int)draw_at(key, who, i + 1000000, 100);

	switch (types[t].kind) {
	case BOOL:
		*(bool *)at = v > 0;
		break;
	case COMPLEX:
		put_value(at, types[t].value, true, v);
		put_value(at + types[t].value, types[t].value, true, v > 0 ? 0 : 1);
		break;
	case PAIR:
		put_value(at, types[t].value, types[t].real, v);
		/* both parts are aligned: the index is what the struct ends with, gaps aside */
		memcpy(at + (types[t].value > sizeof(int) ? types[t].value : sizeof(int)), &index,
		       sizeof(index));
		break;
	case FLOAT:
		put_value(at, types[t].value, true, v);
		break;
	default:
		put_value(at, types[t].value, false, bits ? (long)any : v);
	}
}

void make_mixed(void)
{
	int lengths[] = { 1, 1 };
	MPI_Aint displs[] = { offsetof(struct int_double, i), offsetof(struct int_double, d) };
	MPI_Datatype parts[] = { MPI_INT, MPI_DOUBLE };

	PMPI_Type_create_struct(2, lengths, displs, parts, &mixed);
	PMPI_Type_commit(&mixed);
}
