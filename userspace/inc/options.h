/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What stands in front of the object: -json, -n NETNS and so on, in ip(8)'s words. A word of the
 * command line may be cut short as long as it says what is meant.
 */
#ifndef INC_TOOL_OPTIONS_H
#define INC_TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum color_when { COLOR_NEVER, COLOR_AUTO, COLOR_ALWAYS };

struct flags {
	bool json, pretty, oneline, brief, details, version, help, force;
	enum color_when color;
	const char *netns, *file;
};

/* Returns how many words it took, or, with the error printed, -EXIT_USAGE. */
int options_parse(struct flags *flags, int argc, char **argv);
void options_help(FILE *to);

/*
 * Which of @n names is meant by @word: the one that it is, or else the only one that begins so.
 * -1, with the error printed: none, or several. @what: "object", what the names are of; @expected:
 * what the error names if there is none of them.
 */
int word_find(const char *word, const char *const *names, size_t n, const char *what,
	      const char *expected);

#endif
