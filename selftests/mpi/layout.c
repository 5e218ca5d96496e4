// SPDX-License-Identifier: GPL-2.0-only
/* Layouts: datatypes of one or two elements, with gaps and in any order. */
#include "mpi-coll.h"

#if MPI_VERSION >= 4
#define TYPE_RESIZED	PMPI_Type_create_resized_c
#define TYPE_CONTIGUOUS	PMPI_Type_contiguous_c
#else
#define TYPE_RESIZED	PMPI_Type_create_resized
#define TYPE_CONTIGUOUS	PMPI_Type_contiguous
#endif

struct place make_place(MPI_Datatype of, enum layout layout)
{
	struct place place = { layout, of, 1, layout != PLAIN };
	MPI_Aint extent = (MPI_Aint)extent_of(of);
	int displs[] = { 2, 0 }, lengths[] = { 1, 1 };
	MPI_Datatype inner;

	switch (layout) {
	case SPACED:
		TYPE_RESIZED(of, 0, 3 * extent, &place.type);
		break;
	case PAIRED:
		PMPI_Type_vector(2, 1, 2, of, &inner);
		PMPI_Type_create_resized(inner, 0, 4 * extent, &place.type);
		PMPI_Type_free(&inner);
		place.unit = 2;
		break;
	case REVERSED:
		PMPI_Type_indexed(2, lengths, displs, of, &inner);
		PMPI_Type_create_resized(inner, 0, 3 * extent, &place.type);
		PMPI_Type_free(&inner);
		place.unit = 2;
		break;
	case CONTIGUOUS:
		TYPE_CONTIGUOUS(2, of, &place.type);
		place.unit = 2;
		break;
	default:
		break;
	}
	if (place.made)
		PMPI_Type_commit(&place.type);
	return place;
}

/* Where element @k of a buffer is, in elements. */
size_t element_at(enum layout layout, size_t k)
{
	switch (layout) {
	case SPACED:
		return 3 * k;
	case PAIRED:
		return k / 2 * 4 + k % 2 * 2;
	case REVERSED:
		return k / 2 * 3 + (k % 2 ? 0 : 2);
	default:
		return k;
	}
}

void free_place(struct place *place)
{
	if (place->made)
		PMPI_Type_free(&place->type);
}
