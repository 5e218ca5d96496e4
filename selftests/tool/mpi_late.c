// SPDX-License-Identifier: GPL-2.0-only
/*
 * mpi_late FILE...: as an interpreter that loads MPI late and for itself. FILE is a library with
 * mpi_begin in it, which gets the arguments.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*begin)(int argc, char **argv) = NULL;

	if (library)
		*(void **)&begin = dlsym(library, "mpi_begin");
	if (begin)
		return begin(argc - 1, argv + 1);
	fprintf(stderr, "mpi_late: %s\n", dlerror());
	return 1;
}
