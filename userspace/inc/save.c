// SPDX-License-Identifier: GPL-2.0-only
/* inc save: all that is set in this network namespace, as commands for `inc -b`. */
#include <stdio.h>

#include "names.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc save\n"
	"Prints commands for inc -b, or /etc/inc/inc.conf, that make what is set here.\n"
	"The kernel gives no keys away: \"key ?\" fails until the file's name is there (@FILE).\n"
	"What cannot be made so, as its interface is gone, is a comment; a warning says so.\n";

/* Who may join is known before there is anything to join. */
static const struct object *const saved[] = {
	&object_limits, &object_tenant, &object_parent, &object_node, &object_qdisc,
};

static const struct {
	unsigned int what;
	const char *text;
} warnings[] = {
	{ LEFT_OUT_KEY,
	  "there are keys, which the kernel does not give away: expected @FILE for each \"key ?\""
	},
	{ LEFT_OUT_DEV, "interfaces are gone: comments have the commands that name them" },
	{ LEFT_OUT_USERS, "limits of users may have been set: a comment has them" },
	{ LEFT_OUT_QDISC, "qdiscs are below others, which are not saved: comments have them" },
};

unsigned int left_out;

void out_gone(uint32_t ifindex)
{
	left_out |= LEFT_OUT_DEV;
	out_str(NULL, "# %s is gone: ", dev_name(ifindex));
}

/* What is printed goes to a file, which nobody looks at. */
static void warn_left_out(void)
{
	size_t i;

	fflush(stdout);
	for (i = 0; i < ARRAY_SIZE(warnings); i++)
		if (left_out & warnings[i].what)
			fprintf(stderr, "inc: warning: save: %s\n", warnings[i].text);
}

static int save_all(int argc, char **argv)
{
	bool commands = options.commands;
	int status = args_none(argc, argv);
	size_t i;

	if (!status && out_is_json())
		status = usage_error("-j: expected without it, what is printed are commands");
	options.commands = true;
	out_style(false, false, false, false);
	left_out = 0;
	for (i = 0; !status && i < ARRAY_SIZE(saved); i++)
		status = saved[i]->commands->run(0, NULL);
	options.commands = commands;
	warn_left_out();
	return status;
}

const struct object object_save = { .name = "save", .run = save_all, .usage = usage };
