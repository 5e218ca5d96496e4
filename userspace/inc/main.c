// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc: looks at and configures in-network collectives, as ip and dcb do for their subjects.
 *
 *	inc [OPTIONS] OBJECT [COMMAND [key value]...]
 *
 * Options, objects and commands may be cut short where only one begins so; keys are compared whole.
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

#include "options.h"
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

#define N_OBJECTS	ARRAY_SIZE(objects)
#define MAX_COMMANDS	16

static void print_help(FILE *to)
{
	size_t i;

	fputs("Usage: inc [OPTIONS] OBJECT [COMMAND [key value]...]\n"
	      "       inc OBJECT help | -h | --help\n"
	      "       inc help OBJECT\n"
	      "       inc [OPTIONS] -b FILE\n", to);
	options_help(to);
	fputs("OBJECT:  ", to);
	for (i = 0; i < N_OBJECTS; i++)
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

static const struct command help_command = { "help", NULL };

/* The command that @word means, also `list`; NULL with the error printed. */
static const struct command *find_command(const struct object *object, const char *word)
{
	const struct command *found[MAX_COMMANDS] = { &help_command }, *cmd;
	const char *names[MAX_COMMANDS] = { help_command.name };
	char expected[160] = "expected one of: help";
	size_t n = 1, len = strlen(expected);
	int i;

	for (cmd = object->commands; cmd->name && n < MAX_COMMANDS - 1; cmd++, n++) {
		found[n] = cmd;
		names[n] = cmd->name;
		if (len < sizeof(expected))
			len += (size_t)snprintf(expected + len, sizeof(expected) - len, ", %s",
						cmd->name);
	}
	if (object->commands->name && !strcmp(object->commands->name, "show")) {
		found[n] = object->commands;
		names[n++] = "list";
	}
	i = word_find(word, names, n, "command", expected);
	return i < 0 ? NULL : found[i];
}

static bool wants_commands(const struct object *object, const char *command)
{
	return !options.commands || (object->restores && !strcmp(command, "show"));
}

/* Of an object that has no commands @cmd is NULL. */
static int run_object(const struct object *object, const struct command *cmd, int argc, char **argv)
{
	if (!wants_commands(object, cmd ? cmd->name : ""))
		return usage_error("-commands: expected show of node, parent, tenant, limits or qdisc");
	if (!cmd)
		return object->run(argc, argv);
	snprintf(error_context, sizeof(error_context), "%s %s: ", object->name, cmd->name);
	return cmd->run(argc > 1 ? argc - 1 : 0, argv + 1);
}

static bool is_help_option(const char *word)
{
	return !strcmp(word, "-h") || !strcmp(word, "-help") || !strcmp(word, "--help");
}

/* Behind any word, as of ip(8); what follows the first word of `run` may be a program's. */
static bool asks_for_help(const struct object *object, int argc, char **argv)
{
	int i, n = object == &object_run && argc > 1 ? 1 : argc;

	for (i = 0; i < n; i++)
		if (is_help_option(argv[i]))
			return true;
	return object->run && argc && !strcmp(argv[0], "help");
}

/* @argv: what follows the object. */
static int start_object(const struct object *object, int argc, char **argv)
{
	const struct command *cmd = NULL;

	snprintf(error_context, sizeof(error_context), "%s: ", object->name);
	if (asks_for_help(object, argc, argv)) {
		cmd = &help_command;
	} else if (!object->run) {
		cmd = find_command(object, argc ? argv[0] : "show");
		if (!cmd)
			return EXIT_USAGE;
	}
	if (cmd != &help_command)
		return run_object(object, cmd, argc, argv);
	fputs(object->usage, stdout);
	return 0;
}

/* `inc help`, or with the name of an object what `inc OBJECT help` says. */
static int run_help(int argc, char **argv)
{
	const char *names[N_OBJECTS];
	int i;

	if (!argc) {
		print_help(stdout);
		return 0;
	}
	for (i = 0; i < (int)N_OBJECTS; i++)
		names[i] = objects[i]->name;
	snprintf(error_context, sizeof(error_context), "help: ");
	i = word_find(argv[0], names, N_OBJECTS, "object", "`inc help` lists them");
	if (i < 0)
		return EXIT_USAGE;
	if (argc > 1)
		return usage_error("%s: unexpected, one object has to follow", argv[1]);
	fputs(objects[i]->usage, stdout);
	return 0;
}

int run_command(int argc, char **argv)
{
	const char *names[N_OBJECTS + 1] = { [N_OBJECTS] = "help" };
	int i;

	error_context[0] = 0;
	if (!argc) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	for (i = 0; i < (int)N_OBJECTS; i++)
		names[i] = objects[i]->name;
	i = word_find(argv[0], names, N_OBJECTS + 1, "object", "`inc help` lists them");
	if (i < 0)
		return EXIT_USAGE;
	if (i < (int)N_OBJECTS)
		return start_object(objects[i], argc - 1, argv + 1);
	return run_help(argc - 1, argv + 1);
}

/* The exit status @status, or another one if stdout did not take all. */
static int end_output(int status)
{
	if (fflush(stdout) || ferror(stdout))
		return status ? status : refused("stdout: %s", strerror(errno));
	return status;
}

static bool in_color(enum color_when when)
{
	return when == COLOR_ALWAYS || (when == COLOR_AUTO && isatty(STDOUT_FILENO));
}

/* Options that do not go together. 0, or EXIT_USAGE with the error printed. */
static int check_flags(const struct flags *flags, bool has_command)
{
	if (options.commands && flags->json)
		return usage_error("-commands: not with -j");
	if (flags->file && has_command)
		return usage_error("-b %s: expected no command beside it", flags->file);
	if (flags->force && !flags->file)
		return usage_error("-force: expected with -b FILE");
	return 0;
}

int main(int argc, char **argv)
{
	struct flags flags = { 0 };
	int used, status;

	used = options_parse(&flags, argc - 1, argv + 1);
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
	if (options.commands)
		out_style(false, false, false, false);
	else
		out_style(flags.oneline, flags.brief, flags.details, in_color(flags.color));
	status = check_flags(&flags, argc - 1 > used);
	if (status)
		return status;
	options.netns = flags.netns;
	status = flags.netns ? enter_netns(flags.netns) : 0;
	if (!status)
		status = flags.file ? batch(flags.file, flags.force, run_command) :
				      run_command(argc - 1 - used, argv + 1 + used);
	return end_output(status);
}
