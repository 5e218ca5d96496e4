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
};

const unsigned int nr_types = sizeof(types) / sizeof(types[0]);

const struct reduction reductions[] = {
	{ "sum", MPI_SUM, 1 << INT | 1 << UNSIGNED | 1 << FLOAT | 1 << COMPLEX, false },
	{ "prod", MPI_PROD, 1 << INT | 1 << UNSIGNED | 1 << FLOAT | 1 << COMPLEX, false },
	{ "min", MPI_MIN, 1 << INT | 1 << UNSIGNED | 1 << FLOAT, false },
	{ "max", MPI_MAX, 1 << INT | 1 << UNSIGNED | 1 << FLOAT, false },
	{ "land", MPI_LAND, 1 << INT | 1 << UNSIGNED | 1 << BOOL, true },
	{ "lor", MPI_LOR, 1 << INT | 1 << UNSIGNED | 1 << BOOL, true },
	{ "lxor", MPI_LXOR, 1 << INT | 1 << UNSIGNED | 1 << BOOL, true },
	{ "band", MPI_BAND, 1 << INT | 1 << UNSIGNED | 1 << BYTES, false },
	{ "bor", MPI_BOR, 1 << INT | 1 << UNSIGNED | 1 << BYTES, false },
	{ "bxor", MPI_BXOR, 1 << INT | 1 << UNSIGNED | 1 << BYTES, false },
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
 * highest bit (MPICH 4.0 has wrong minima of unsigned int then).
 */
void put_element(char *at, unsigned int t, bool bits, uint64_t key, uint64_t who, uint64_t i)
{
	long v = types[t].kind == UNSIGNED ? (long)draw_at(key, who, i, 3) :
					     (long)draw_at(key, who, i, 5) - 2;
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
