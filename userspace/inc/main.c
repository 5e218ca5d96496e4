// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc: looks at and configures in-network collectives, as ip and dcb do for their subjects.
 *
 *	inc [OPTIONS] OBJECT [COMMAND [key value]...]
 *
 * Every word is compared whole: an abbreviation of today would be another command tomorrow.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "print.h"
#include "tool.h"

#define NETNS_DIR "/var/run/netns"

struct options options;

static const struct object *const objects[] = {
	&object_node, &object_parent, &object_group, &object_member, &object_stats, &object_port,
	&object_caps, &object_limits, &object_tenant, &object_qdisc, &object_monitor,
	&object_ping, &object_topo, &object_plan, &object_why, &object_run, &object_save,
	&object_metrics, &object_tune,
};

static void print_help(FILE *to)
{
	size_t i;

	fputs("Usage: inc [OPTIONS] OBJECT [COMMAND [key value]...]\n"
	      "       inc OBJECT help\n"
	      "       inc [OPTIONS] -b FILE\n"
	      "OPTIONS: -j         JSON\n"
	      "         -p         JSON with line breaks\n"
	      "         -s         with counters; twice, and of stats: those that are zero too\n"
	      "         -c         show: as commands that make the same again, for -b\n"
	      "         -b FILE    commands from this file, or - for stdin, until one fails\n"
	      "         -t         monitor: with the time\n"
	      "         -n NETNS   in the network namespace of this name\n"
	      "         -V         version\n"
	      "OBJECT:  ", to);
	for (i = 0; i < ARRAY_SIZE(objects); i++)
		fprintf(to, "%s%s", i ? " | " : "", objects[i]->name);
	fputs("\n", to);
}

static int enter_netns(const char *name)
{
	char path[PATH_MAX];
	int fd, err;

	if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, "..") ||
	    strlen(name) > NAME_MAX)
		return usage_error("-n %s: expected the name of a network namespace, as in `ip netns`",
				   name);
	snprintf(path, sizeof(path), NETNS_DIR "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return refused("-n %s: no such network namespace: %s: %s", name, path,
			       strerror(errno));
	err = setns(fd, CLONE_NEWNET) ? errno : 0;
	close(fd);
	if (err)
		return refused("-n %s: cannot enter the network namespace: %s", name,
			       strerror(err));
	return 0;
}

struct flags {
	bool json, pretty, version, help;
	const char *netns, *file;
};

/* False: there is none of this letter. */
static bool short_flag(struct flags *f, char c)
{
	switch (c) {
	case 'j':
		f->json = true;
		return true;
	case 'p':
		f->pretty = true;
		return true;
	case 's':
		options.stats++;
		return true;
	case 't':
		options.timestamp = true;
		return true;
	case 'c':
		options.commands = true;
		return true;
	case 'V':
		f->version = true;
		return true;
	case 'h':
		f->help = true;
		return true;
	}
	return false;
}

/* Returns how many words it took, or -EXIT_USAGE. -n and -b stand alone, others share a dash. */
static int parse_flags(struct flags *f, int argc, char **argv)
{
	const char *c;
	int i;

	for (i = 0; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
		if (!strcmp(argv[i], "-n")) {
			if (++i == argc)
				return -usage_error("-n: name of the network namespace is missing");
			f->netns = argv[i];
			continue;
		}
		if (!strcmp(argv[i], "-b")) {
			if (++i == argc)
				return -usage_error("-b: name of the file is missing");
			f->file = argv[i];
			continue;
		}
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "--version")) {
			short_flag(f, argv[i][2] == 'h' ? 'h' : 'V');
			continue;
		}
		for (c = argv[i] + 1; *c; c++)
			if (!short_flag(f, *c))
				return -usage_error("%s: unknown option; expected one of %s",
						    argv[i],
						    "-j -p -s -c -t -n NETNS -b FILE -V");
	}
	return i;
}

static int run_object(const struct object *object, int argc, char **argv)
{
	const char *name = argc ? argv[0] : "show";
	const struct command *cmd;
	char list[128] = "help";
	size_t len = strlen(list);

	snprintf(error_context, sizeof(error_context), "%s: ", object->name);
	if (!strcmp(name, "help")) {
		fputs(object->usage, stdout);
		return 0;
	}
	if (options.commands && (strcmp(name, "show") || !object->restores))
		return usage_error("-c: expected show of node, parent, tenant, limits or qdisc");
	if (object->run)
		return object->run(argc, argv);
	for (cmd = object->commands; cmd->name; cmd++) {
		if (!strcmp(cmd->name, name)) {
			snprintf(error_context, sizeof(error_context), "%s %s: ", object->name,
				 name);
			return cmd->run(argc > 1 ? argc - 1 : 0, argv + 1);
		}
		if (len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, ", %s", cmd->name);
	}
	return usage_error("%s: unknown command; expected one of: %s", name, list);
}

int run_command(int argc, char **argv)
{
	size_t i;

	error_context[0] = 0;
	if (!argc) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[0], "help")) {
		print_help(stdout);
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(objects); i++)
		if (!strcmp(argv[0], objects[i]->name))
			return run_object(objects[i], argc - 1, argv + 1);
	return usage_error("%s: unknown object; `inc help` lists them", argv[0]);
}

/* The exit status @status, or another one if stdout did not take all. */
static int end_output(int status)
{
	if (fflush(stdout) || ferror(stdout))
		return status ? status : refused("stdout: %s", strerror(errno));
	return status;
}

int main(int argc, char **argv)
{
	struct flags flags = { 0 };
	int used, status;

	used = parse_flags(&flags, argc - 1, argv + 1);
	if (used < 0)
		return -used;
	if (flags.version || flags.help) {
		if (flags.version)
			puts("inc version " INC_TOOL_VERSION);
		else
			print_help(stdout);
		return end_output(0);
	}
	out_init(flags.json, flags.pretty);
	if (options.commands && flags.json)
		return usage_error("-c: not with -j");
	if (flags.file && argc - 1 > used)
		return usage_error("-b %s: expected no command beside it", flags.file);
	options.netns = flags.netns;
	status = flags.netns ? enter_netns(flags.netns) : 0;
	if (!status)
		status = flags.file ? batch(flags.file, run_command) :
				      run_command(argc - 1 - used, argv + 1 + used);
	return end_output(status);
}
