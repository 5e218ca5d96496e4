// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes one object three times (JSON, JSON with line breaks, text), with strings that break
 * careless printers. print.py reads them back.
 */
#include <stdio.h>
#include <stdlib.h>

#include "print.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static const char *const strings[] = {
	"plain", "", "\"quoted\" \\ back", "tab\t newline\n bell\a escape\x1b[31m", "%s %n %d",
	"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x8c\xb3", "\xff\xfe lone \x80", "cut \xe2\x82",
	"\xc0\xaf overlong", "\xed\xa0\x80", "\xc2\x9bJ \xc2\xa0",
};

static void write_all(void)
{
	size_t i;

	out_open(NULL);
	out_open_list("strings");
	for (i = 0; i < ARRAY_SIZE(strings); i++) {
		out_open(NULL);
		out_str("s", "<%s>\n", strings[i]);
		out_close();
	}
	out_close_list();
	out_open_list("empty");
	out_close_list();
	out_num("big", "%s\n", UINT64_MAX, UNIT_NONE);
	out_num("ms", "%s\n", 1500, UNIT_MS);
	out_num("short_ms", "%s\n", 250, UNIT_MS);
	out_num("us", "%s\n", 85, UNIT_US);
	out_num("bytes", "%s\n", 64 << 20, UNIT_BYTES);
	out_num("odd_bytes", "%s\n", 1408, UNIT_BYTES);
	out_num("hex", "%s\n", 0xbeef, UNIT_HEX);
	out_num(NULL, "text only\n", 1, UNIT_NONE);
	out_num("json_only", NULL, 7, UNIT_NONE);
	out_bool("yes", "YES\n", 1);
	out_bool("no", "NO\n", 0);
	out_text("100%%\n");
	out_close();
	out_end();
}

static void write_file(const char *dir, const char *name, bool json, bool pretty)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!freopen(path, "w", stdout)) {
		perror(path);
		exit(1);
	}
	out_init(json, pretty);
	write_all();
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	write_file(argv[1], "json", true, false);
	write_file(argv[1], "pretty", true, true);
	write_file(argv[1], "text", false, false);
	return 0;
}
