// SPDX-License-Identifier: GPL-2.0-only
/*
 * crowd PARENT N: N groups of one rank each, of N jobs, all with the number of the group that is
 * measured. Says "there" when they have formed, and keeps them until its input ends.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/resource.h>

#include <inc.h>

int main(int argc, char **argv)
{
	struct inc_join_opts opts = { .group = 1, .size = 1, .timeout_ms = 60000 };
	long i, n = argc == 3 ? atol(argv[2]) : 0;
	struct rlimit files = { n + 64, n + 64 };
	struct inc_group *group;
	char byte;

	if (n < 1)
		errx(2, "expected a node's address and how many groups");
	opts.parent = argv[1];
	if (setrlimit(RLIMIT_NOFILE, &files))
		err(1, "%ld files", n + 64);
	for (i = 0; i < n; i++) {
		opts.job = 1000 + i;
		if (inc_join(&group, &opts))
			errx(1, "group %ld: %s", i, inc_errmsg(NULL));
	}
	puts("there");
	fflush(stdout);
	/* their sockets are closed with the process */
	return read(STDIN_FILENO, &byte, 1) < 0;
}
