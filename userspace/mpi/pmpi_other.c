// SPDX-License-Identifier: LGPL-2.1-or-later
/* Whether the program's MPI is the one that this library is for. If not, it says which is. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* What the program has, as it is called, and which one that is; NULL: none that is known. */
static void refuse_library(const struct mpi *mpi, const char *name)
{
	char dir[PATH_MAX];

	if (!is_first()) {
		/* the launcher ends all with the first that ends: not before that has said it */
		sleep(2);
	} else {
		fprintf(stderr, "libinc-mpi: this library is for %s, the MPI of the program is %s; ",
			OWN->name, name);
		find_libraries(dir, sizeof(dir));
		if (mpi)
			fprintf(stderr, "preload %s/%s/libinc-mpi.so\n", dir, mpi->dir);
		else
			fprintf(stderr, "there is no library for that\n");
	}
	exit(1);
}

/* Names of objects, each with its 0, one behind the other. */
struct objects {
	char *names;
	size_t len;
};

static int add_object(struct dl_phdr_info *info, size_t size, void *data)
{
	size_t len = strlen(info->dlpi_name) + 1;
	struct objects *all = data;
	char *names = realloc(all->names, all->len + len);

	(void)size;
	if (!names)
		return 1;
	memcpy(names + all->len, info->dlpi_name, len);
	all->names = names;
	all->len += len;
	return 0;
}

/* Is it in this object, or in what that needs? */
static bool has_other(const char *name)
{
	void *object = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	bool has = object && dlsym(object, OTHER->symbol);

	if (object)
		dlclose(object);
	return has;
}

/* dl_iterate_phdr() holds a lock that another thread may want within dlopen(): first the names. */
static bool any_has_other(void)
{
	struct objects all = { .len = 0 };
	bool has = false;

	dl_iterate_phdr(add_object, &all);
	for (size_t at = 0; at < all.len && !has; at += strlen(all.names + at) + 1)
		has = has_other(all.names + at);
	free(all.names);
	return has;
}

/*
 * This library brings its own MPI with it. That of the program comes after it, as a library's that
 * the program needs, Fortran's for instance, or one that an interpreter has loaded for itself:
 * functions of two MPIs get mixed.
 */
void pmpi_refuse_other(void)
{
	static char version[VERSION_MAX];
	const struct mpi *mpi;
	int len;

	if (PMPI_Get_library_version(version, &len) != MPI_SUCCESS)
		return;
	mpi = mpi_of(version);
	version[strcspn(version, ",\n")] = 0;
	for (char *c = version; *c; c++)
		if (*c == '\t')
			*c = ' ';
	if (mpi != OWN)
		refuse_library(mpi, version);
	if (any_has_other())
		refuse_library(OTHER, OTHER->name);
}
