// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options before the object. They are ip(8)'s: one dash or two, a long name or its beginning. Where
 * several begin so, the shorter one of them is meant by a single letter: -b is -batch, -br -brief.
 */
#include <string.h>

#include "options.h"
#include "tool.h"

enum option_id {
	OPT_BATCH, OPT_BRIEF, OPT_COLOR, OPT_COMMANDS, OPT_DETAILS, OPT_FORCE, OPT_HELP, OPT_JSON,
	OPT_NETNS, OPT_ONELINE, OPT_PRETTY, OPT_STATISTICS, OPT_TIMESTAMP, OPT_VERSION,
};

/* In the order in which a beginning is looked for; with at least so many letters of its name. */
static const struct option {
	const char *name;
	size_t least;
	enum option_id id;
	const char *shown, *text;	/* in the help; NULL: another name of the one before */
} known[] = {
	{ "json", 1, OPT_JSON, "-j[son]", "JSON" },
	{ "pretty", 1, OPT_PRETTY, "-p[retty]", "JSON with line breaks" },
	{ "statistics", 1, OPT_STATISTICS, "-s[tatistics]",
	  "with counters; twice, and of stats: those that are zero too" },
	{ "stats", 1, OPT_STATISTICS, NULL, NULL },
	{ "details", 1, OPT_DETAILS, "-d[etails]", "what is as usual, and numbers behind names, too"
	},
	{ "oneline", 1, OPT_ONELINE, "-o[neline]", "an entry on a line: \\ where others begin" },
	{ "brief", 2, OPT_BRIEF, "-br[ief]", "what is most asked for of each entry" },
	{ "color", 1, OPT_COLOR, "-c[olor][=always|auto|never]", "colours; auto: on a terminal" },
	{ "commands", 3, OPT_COMMANDS, "-com[mands]",
	  "show: as commands that make the same again, for -b" },
	{ "batch", 1, OPT_BATCH, "-b[atch] FILE",
	  "commands from this file, or - for stdin, until one fails" },
	{ "force", 1, OPT_FORCE, "-f[orce]", "-batch: go on with the next one" },
	{ "timestamp", 1, OPT_TIMESTAMP, "-t[imestamp]", "monitor: with the time" },
	{ "netns", 1, OPT_NETNS, "-n[etns] NETNS", "in the network namespace of this name" },
	{ "Version", 1, OPT_VERSION, "-V[ersion]", "version" },
	{ "version", 1, OPT_VERSION, NULL, NULL },
	{ "help", 1, OPT_HELP, "-h[elp]", "this" },
};

void options_help(FILE *to)
{
	const char *head = "OPTIONS: ";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (!known[i].text)
			continue;
		fprintf(to, "%s%-29s%s\n", head, known[i].shown, known[i].text);
		head = "         ";
	}
}

static const struct option *find_option(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (len >= known[i].least && !strncmp(known[i].name, name, len))
			return &known[i];
	return NULL;
}

static int set_color(struct flags *f, const char *word, const char *when)
{
	static const char *const names[] = { "never", "auto", "always" };
	unsigned int i;

	f->color = COLOR_ALWAYS;
	if (!when)
		return 0;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(when + 1, names[i])) {
			f->color = (enum color_when)i;
			return 0;
		}
	return usage_error("%s: expected -color, or with =always, =auto or =never", word);
}

/* An option that is a word of its own. */
static void set_flag(struct flags *f, enum option_id id)
{
	switch (id) {
	case OPT_COMMANDS:
		options.commands = true;
		break;
	case OPT_STATISTICS:
		options.stats++;
		break;
	case OPT_TIMESTAMP:
		options.timestamp = true;
		break;
	case OPT_JSON:
		f->json = true;
		break;
	case OPT_PRETTY:
		f->pretty = true;
		break;
	case OPT_ONELINE:
		f->oneline = true;
		break;
	case OPT_BRIEF:
		f->brief = true;
		break;
	case OPT_DETAILS:
		f->details = true;
		break;
	case OPT_FORCE:
		f->force = true;
		break;
	case OPT_HELP:
		f->help = true;
		break;
	case OPT_VERSION:
		f->version = true;
		break;
	case OPT_BATCH:
	case OPT_COLOR:
	case OPT_NETNS:
		break;
	}
}

/* Letters that share a dash: -js. */
static bool set_letters(struct flags *f, const char *letters)
{
	const char *c;

	if (!*letters || letters[strspn(letters, "jpsdotVh")])
		return false;
	for (c = letters; *c; c++)
		set_flag(f, find_option(c, 1)->id);
	return true;
}

/* Takes the word at argv[0], and the one behind it if it needs one. How many, or -EXIT_USAGE. */
static int take_option(struct flags *f, int argc, char **argv)
{
	const char *name = argv[0] + (argv[0][1] == '-' ? 2 : 1), *when = strchr(name, '=');
	const struct option *option = find_option(name, strcspn(name, "="));

	/* before what begins like that: -js is no -json */
	if (argv[0][1] != '-' && name[0] && name[1] && set_letters(f, name))
		return 1;
	if (option && option->id == OPT_COLOR)
		return set_color(f, argv[0], when) ? -EXIT_USAGE : 1;
	if (option && !when && option->id != OPT_BATCH && option->id != OPT_NETNS) {
		set_flag(f, option->id);
		return 1;
	}
	if (!option || when)
		return -usage_error("%s: unknown option; `inc help` lists them", argv[0]);
	if (argc < 2)
		return -usage_error("%s: %s is missing", argv[0], option->id == OPT_BATCH ?
				    "name of the file" : "name of the network namespace");
	*(option->id == OPT_BATCH ? &f->file : &f->netns) = argv[1];
	return 2;
}

int options_parse(struct flags *flags, int argc, char **argv)
{
	int i = 0, used;

	while (i < argc && argv[i][0] == '-' && argv[i][1]) {
		used = take_option(flags, argc - i, argv + i);
		if (used < 0)
			return used;
		i += used;
	}
	return i;
}

int word_find(const char *word, const char *const *names, size_t n, const char *what,
	      const char *expected)
{
	size_t i, len = strlen(word), found = n, at = 0, fits = 0;
	char list[256] = "";

	for (i = 0; i < n; i++) {
		if (!strcmp(word, names[i]))
			return (int)i;
		if (!len || strncmp(word, names[i], len))
			continue;
		found = i;
		if (at < sizeof(list))
			at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s",
					       fits ? ", " : "", names[i]);
		fits++;
	}
	if (fits == 1)
		return (int)found;
	if (fits)
		usage_error("%s: could be each of: %s", word, list);
	else
		usage_error("%s: unknown %s; %s", word, what, expected);
	return -1;
}
