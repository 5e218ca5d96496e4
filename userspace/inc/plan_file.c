// SPDX-License-Identifier: GPL-2.0-only
/*
 * A topology as a file for `inc plan`: the lines of tools/vm/fabric, "node NAME [ABOVE]" and "host
 * NAME ABOVE", and behind that what is known of the link to the one above, and of the node.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/inc.h>

#include "plan.h"
#include "tool.h"

#define MAX_OF_KIND	253
#define NAME_LEN	14

/* What is read at the moment. */
static struct cost_fabric *fabric;
static struct cost_link links;		/* as they are if a line does not say it */

static int find_place(const char *name)
{
	int i;

	for (i = 0; i < fabric->n; i++)
		if (!strcmp(fabric->places[i].name, name))
			return i;
	return -1;
}

static bool is_name(const char *text)
{
	size_t len = strlen(text);

	return len && len <= NAME_LEN && text[0] >= 'a' && text[0] <= 'z' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789") == len;
}

static int check_name(const char *name)
{
	if (!is_name(name))
		return usage_error("name %s: expected a letter, and up to %d letters or digits",
				   name, NAME_LEN - 1);
	if (find_place(name) >= 0)
		return usage_error("name %s: it is there already", name);
	return 0;
}

static int check_count(bool host)
{
	int i, n = 0;

	for (i = 0; i < fabric->n; i++)
		n += fabric->places[i].host == host;
	return n < MAX_OF_KIND ? 0 : usage_error("expected at most %d of %s", MAX_OF_KIND,
						 host ? "host" : "node");
}

static int find_above(struct cost_place *p, const char *kind, int argc, char **argv)
{
	p->above = -1;
	if (!fabric->n)
		return !p->host ? 0 : usage_error("host %s: expected a node on the first line",
						  p->name);
	if (!argc)
		return usage_error("%s %s: expected the node above it; only the first line has none",
				   kind, p->name);
	p->above = find_place(argv[0]);
	if (p->above < 0 || fabric->places[p->above].host)
		return usage_error("%s %s: %s: expected a node of a line above", kind, p->name,
				   argv[0]);
	return 0;
}

static int take_link(struct cost_place *p, int argc, char **argv)
{
	static const char *const rates[] = { "unlimited", NULL };
	struct arg args[] = {
		{ .key = "rate", .kind = ARG_RATE, .min = 1000, .max = COST_MAX_RATE,
		  .words = rates },
		{ .key = "delay", .kind = ARG_TIME, .min = 0, .max = 60000000 },
		{ .key = "used", .kind = ARG_NUM, .min = 0, .max = 99 },
		{ .key = "memory", .kind = ARG_BYTES, .min = 0, .max = UINT64_MAX - 1 },
		{ .key = "groups", .kind = ARG_NUM, .min = 0, .max = UINT32_MAX },
		{ .key = "window", .kind = ARG_POW2, .min = INC_MIN_WINDOW, .max = INC_MAX_WINDOW },
		{ .key = "load", .kind = ARG_NUM, .min = 0, .max = 999 },
		{ .key = NULL }
	};
	uint64_t *const values[] = {
		&p->link.rate, &p->link.delay, &p->link.used, &p->memory, &p->groups, &p->window,
		&p->load,
	};
	int err = args_parse(args, argc, argv);
	size_t i;

	for (i = 0; !err && i < ARRAY_SIZE(values); i++) {
		if (!args[i].given)
			continue;
		if (p->above < 0 ? i < 3 : p->host && i >= 3)
			return usage_error("%s: %s %s", args[i].key, p->name,
					   p->host ? "is no node" : "has no link upwards");
		*values[i] = args[i].num;
	}
	if (!p->link.rate)
		p->link.rate = COST_MAX_RATE;
	return err;
}

static int take_line(int argc, char **argv)
{
	bool host = !strcmp(argv[0], "host");
	struct cost_place *p;
	int err;

	if (!host && strcmp(argv[0], "node"))
		return usage_error("%s: expected node or host", argv[0]);
	if (argc < 2)
		return usage_error("%s: expected its name", argv[0]);
	err = check_name(argv[1]) ?: check_count(host);
	if (err)
		return err;
	p = &fabric->places[fabric->n];
	*p = (struct cost_place){ .host = host, .link = links, .memory = COST_UNKNOWN,
				  .groups = COST_UNKNOWN, .window = COST_UNKNOWN };
	snprintf(p->name, sizeof(p->name), "%s", argv[1]);
	err = find_above(p, argv[0], argc - 2, argv + 2);
	if (!err) {
		int used = fabric->n ? 3 : 2;

		err = take_link(p, argc - used, argv + used);
	}
	fabric->n += !err;
	return err;
}

static int read_lines(FILE *file)
{
	char before[sizeof(error_context)], *line = malloc(BATCH_LINE);
	int number = 0, err = 0;
	bool more = true;

	if (!line)
		return refused("%s", strerror(ENOMEM));
	memcpy(before, error_context, sizeof(before));
	while (!err && more) {
		snprintf(error_context, sizeof(error_context), "plan: line %d: ", ++number);
		more = batch_next(file, line, &err);
		if (more)
			err = batch_line(line, take_line);
	}
	free(line);
	memcpy(error_context, before, sizeof(before));
	return err;
}

int plan_read(const char *path, const struct cost_link *link, struct cost_fabric *f)
{
	bool is_stdin = !strcmp(path, "-");
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	int err;

	if (!file)
		return refused("file %s: %s", path, strerror(errno));
	fabric = f;
	links = *link;
	f->n = 0;
	err = read_lines(file);
	if (!err && ferror(file))
		err = refused("file %s: %s", path, strerror(errno));
	if (!is_stdin)
		fclose(file);
	if (!err && !f->n)
		err = usage_error("file %s: expected a line `node NAME`", path);
	if (!err && cost_hosts(f, 0) < 2)
		err = usage_error("file %s: expected at least two hosts", path);
	return err;
}
