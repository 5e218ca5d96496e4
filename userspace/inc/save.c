// SPDX-License-Identifier: GPL-2.0-only
/* inc save: all that is set in this network namespace, as commands for `inc -b`. */
#include <stdio.h>

#include "tool.h"

static const char usage[] =
	"Usage: inc save\n"
	"Prints commands for inc -b, or /etc/inc/inc.conf, that make what is set here.\n"
	"The kernel gives no keys away: \"key ?\" fails until the file's name is there (@FILE).\n";

/* Who may join is known before there is anything to join. */
static const struct object *const saved[] = {
	&object_limits, &object_tenant, &object_parent, &object_node, &object_qdisc,
};

bool keys_left_out;

/* What is printed goes to a file, which nobody looks at. */
static void warn_keys(void)
{
	if (!keys_left_out)
		return;
	fflush(stdout);
	fputs("inc: warning: save: there are keys, which the kernel does not give away: expected @FILE for each \"key ?\"\n",
	      stderr);
}

static int save(int argc, char **argv)
{
	bool commands = options.commands;
	int status = args_none(argc, argv);
	size_t i;

	if (!status && out_is_json())
		status = usage_error("-j: expected without it, what is printed are commands");
	options.commands = true;
	keys_left_out = false;
	for (i = 0; !status && i < ARRAY_SIZE(saved); i++)
		status = saved[i]->commands->run(0, NULL);
	options.commands = commands;
	warn_keys();
	return status;
}

const struct object object_save = { .name = "save", .run = save, .usage = usage };
