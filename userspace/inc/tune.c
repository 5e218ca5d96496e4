// SPDX-License-Identifier: GPL-2.0-only
/* inc tune: reads a tuning table as libinc-mpi and inc_torch do, and shows what stands in it. */
#include <stdio.h>
#include <stdlib.h>

#include "../mpi/tune.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc tune show FILE\n"
	"A tuning table of libinc-mpi(7): up to which size the MPI does a collective itself, and what\n"
	"each takes. inc-mpi-tune, a program of MPI, measures one; for PyTorch and Gloo it is\n"
	"python3 -m inc_torch.tune.\n";

/* 0 to @max is all that there is. */
static void show_range(const char *from_key, const char *to_key, uint64_t from, uint64_t to,
		       uint64_t max, const char *what)
{
	if (out_is_json()) {
		out_num(from_key, NULL, from, UNIT_NONE);
		if (to != max)
			out_num(to_key, NULL, to, UNIT_NONE);
	} else if (!from && to == max) {
		out_text(" any %s", what);
	} else if (from == to) {
		out_text(" %ju %s", (uintmax_t)from, what);
	} else if (to == max) {
		out_text(" %ju or more %s", (uintmax_t)from, what);
	} else {
		out_text(" %ju to %ju %s", (uintmax_t)from, (uintmax_t)to, what);
	}
}

/* Which the other one is: lines that are INC's do not say it. */
static bool is_of_gloo(const struct incmpi_tune *tune)
{
	for (uint32_t i = 0; i < tune->nr; i++)
		if (tune->lines[i].by_gloo)
			return true;
	return false;
}

static void show_line(const struct incmpi_tune_line *line, bool of_gloo)
{
	const char *other = of_gloo ? "gloo" : "mpi";

	out_open(NULL);
	out_str("function", "%s", incmpi_fn_name(line->fn));
	out_str("type", " type %s", incmpi_class_name(line->class));
	show_range("ranks_from", "ranks_to", line->ranks_from, line->ranks_to, INC_MAX_RANKS,
		   "ranks");
	show_range("bytes_from", "bytes_to", line->from, line->to, UINT64_MAX, "bytes");
	out_str("by", " by %s", line->by_inc ? "inc" : line->by_gloo ? "gloo" : "mpi");
	if (line->inc_ns) {
		out_num("inc_ns", NULL, line->inc_ns, UNIT_NONE);
		out_num(of_gloo ? "gloo_ns" : "mpi_ns", NULL, line->mpi_ns, UNIT_NONE);
		out_text(": inc %.1fus, %s %.1fus", (double)line->inc_ns / 1000, other,
			 (double)line->mpi_ns / 1000);
	}
	out_text("\n");
	out_close();
}

static int tune_show(int argc, char **argv)
{
	struct incmpi_tune *tune;
	char why[512];
	int err;

	if (!argc)
		return usage_error("FILE is missing");
	err = args_none(argc - 1, argv + 1);
	if (err)
		return err;
	tune = incmpi_tune_read(argv[0], &err, why, sizeof(why));
	if (!tune)
		return refused("%s", why);
	out_open_list(NULL);
	for (uint32_t i = 0; i < tune->nr; i++)
		show_line(&tune->lines[i], is_of_gloo(tune));
	out_close_list();
	out_end();
	free(tune);
	return 0;
}

static const struct command commands[] = { { "show", tune_show }, { NULL, NULL } };

const struct object object_tune = { .name = "tune", .commands = commands, .usage = usage };
