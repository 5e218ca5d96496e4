// SPDX-License-Identifier: LGPL-2.1-or-later
/* Whether the program's MPI is the one that this library is for. If not, nothing is to be done. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "pmpi.h"

struct mpi {
	const char *name, *dir;		/* where its library is, beside that of the other */
	const char *symbol;		/* that only it has */
	const char *marks[3];		/* what it says of itself, and those like it do */
};

static const struct mpi mpis[] = {
	{ "Open MPI", "openmpi", "ompi_mpi_comm_world", { "Open MPI" } },
	{ "MPICH", "mpich", "MPIR_Dup_fn", { "MPICH", "MVAPICH", "Intel(R) MPI" } },
};

#ifdef MPICH_NAME
#define OWN	(&mpis[1])
#define OTHER	(&mpis[0])
#else
#define OWN	(&mpis[0])
#define OTHER	(&mpis[1])
#endif

#define VERSION_MAX	8192		/* that of MPICH: Open MPI's is shorter */

static bool is_other;

bool pmpi_is_other(void)
{
	return is_other;
}

static const struct mpi *mpi_of(const char *version)
{
	const struct mpi *mpi;

	for (mpi = mpis; mpi < mpis + sizeof(mpis) / sizeof(*mpis); mpi++)
		for (int i = 0; i < 3 && mpi->marks[i]; i++)
			if (strstr(version, mpi->marks[i]))
				return mpi;
	return NULL;
}

/* The directory that has one for each MPI. */
static void find_libraries(char *path, size_t len)
{
	Dl_info info;
	char *slash;

	if (!dladdr(mpis, &info) || !info.dli_fname || strlen(info.dli_fname) >= len)
		info.dli_fname = "";
	strcpy(path, info.dli_fname);
	for (int i = 0; i < 2; i++) {
		slash = strrchr(path, '/');
		if (slash)
			*slash = 0;
	}
	if (!slash)
		strcpy(path, "inc-mpi");
}

/* Ranks cannot be asked for: their launchers tell. */
static bool is_first(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");

	if (!rank)
		rank = getenv("PMI_RANK");
	return !rank || !strcmp(rank, "0");
}

static void say_other(const struct mpi *mpi, const char *name, const char *consequence)
{
	char dir[PATH_MAX];

	fprintf(stderr, "libinc-mpi: this library is for %s, the MPI of the program is %s: %s; ",
		OWN->name, name, consequence);
	if (!mpi) {
		fprintf(stderr, "there is no library for that\n");
		return;
	}
	find_libraries(dir, sizeof(dir));
	fprintf(stderr, "preload %s/%s/libinc-mpi.so\n", dir, mpi->dir);
}

/*
 * What the program needs by way of a library, as that for Fortran, comes after what this library
 * needs: functions of two MPIs get mixed, and nothing can be done about it.
 */
static void refuse_both(void)
{
	if (!dlsym(RTLD_DEFAULT, OTHER->symbol))
		return;
	say_other(OTHER, OTHER->name, "it does not work with both loaded");
	exit(1);
}

void pmpi_look_for_other(void)
{
	static char version[VERSION_MAX];
	const struct mpi *mpi;
	int len;

	if (PMPI_Get_library_version(version, &len) != MPI_SUCCESS)
		return;
	mpi = mpi_of(version);
	is_other = mpi != OWN;
	version[strcspn(version, ",\n")] = 0;
	for (char *c = version; *c; c++)
		if (*c == '\t')
			*c = ' ';
	if (is_other && is_first())
		say_other(mpi, version, "INC is off");
	else if (!is_other)
		refuse_both();
}
