// SPDX-License-Identifier: MIT
/*
 * Prints what a program that calls inc_join() would be: one line, for `mpirun inc-rank` and its
 * like. Joins nothing and needs no module.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <inc.h>

int main(int argc, char **argv)
{
	struct inc_launch launch;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		puts("usage: inc-rank	(under mpirun, srun or torchrun, or with INC_RANK, INC_SIZE)");
		return 0;
	}
	if (argc > 1)
		errx(2, "%s: expected no arguments", argv[1]);
	if (inc_launcher(&launch))
		errx(1, "%s", inc_errmsg(NULL));
	printf("launcher %s rank %" PRIu32 " size %" PRIu32, launch.launcher, launch.rank,
	       launch.size);
	if (launch.local_rank != UINT32_MAX)
		printf(" local-rank %" PRIu32, launch.local_rank);
	if (launch.local_size)
		printf(" local-size %" PRIu32, launch.local_size);
	printf(" group %" PRIu32 " job %" PRIu64 "%s\n", launch.group, launch.job,
	       launch.derived ? " derived" : "");
	return fflush(stdout) ? 1 : 0;
}
