// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes one object three times (JSON, JSON with line breaks, text), with strings that break
 * careless printers, and entries in each of the styles of text. print.py reads them back.
 */
#include <stdio.h>
#include <stdlib.h>

#include "print.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static const char *const strings[] = {
	"plain", "", "\"quoted\" \\ back", "tab\t newline\n bell\a escape\x1b[31m", "%s %n %d",
	"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x8c\xb3", "\xff\xfe lone \x80", "cut \xe2\x82",
	"\xc0\xaf overlong", "\xed\xa0\x80", "\xc2\x9bJ \xc2\xa0",
	"\xd8\x9c\xd8\x9d \xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90",
	"\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xaf",
	"\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa",
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

/* What a list of ranks looks like: two entries of several lines. */
static void write_entries(void)
{
	int i;

	out_open_list(NULL);
	for (i = 0; i < 2; i++) {
		out_open(NULL);
		out_num("ifindex", NULL, 7, UNIT_NONE);
		out_str("dev", "dev %s", "br0");
		out_str("state", " %s", i ? "failed" : "ready");
		out_rest(true);
		out_str("fallback", NULL, "none\x1b[31m");
		out_open("parent");
		out_str("addr", " parent %s", i ? "fe80::1" : "10.0.0.1");
		out_num("port", NULL, 5227, UNIT_NONE);
		out_close();
		out_num("waiting", "\n    waiting for rank %s", 3, UNIT_NONE);
		out_bool("late", " LATE", true);
		out_text("\n");
		out_close();
	}
	out_close_list();
	out_end();
}

static void open_file(const char *dir, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!freopen(path, "w", stdout)) {
		perror(path);
		exit(1);
	}
}

static void write_file(const char *dir, const char *name, bool json, bool pretty)
{
	open_file(dir, name);
	out_init(json, pretty);
	write_all();
}

static void write_styles(const char *dir)
{
	static const char *const names[] = { "plain", "oneline", "brief", "details", "color" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		open_file(dir, names[i]);
		out_style(i == 1, i == 2, i == 3, i == 4);
		write_entries();
	}
	out_style(true, true, true, false);
	open_file(dir, "all");
	write_entries();
	open_file(dir, "all.json");
	out_init(true, false);
	out_style(true, true, true, true);
	write_entries();
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	write_file(argv[1], "json", true, false);
	write_file(argv[1], "pretty", true, true);
	write_file(argv[1], "text", false, false);
	write_styles(argv[1]);
	return 0;
}
