// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is this JSON? As strict as python's json module is with UTF-8; fuzz_tool.py compares the two.
 */
#include <string.h>

#include "json.h"

#define MAX_DEPTH 64

struct text {
	const char *at, *end;
	int depth;
};

static bool value(struct text *t);

static void blanks(struct text *t)
{
	while (t->at < t->end && memchr(" \t\r\n", *t->at, 4))
		t->at++;
}

static bool take(struct text *t, char c)
{
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

static bool word(struct text *t, const char *w)
{
	size_t len = strlen(w);

	if ((size_t)(t->end - t->at) < len || memcmp(t->at, w, len))
		return false;
	t->at += len;
	return true;
}

static bool digits(struct text *t)
{
	const char *from = t->at;

	while (t->at < t->end && *t->at >= '0' && *t->at <= '9')
		t->at++;
	return t->at > from;
}

/* What the tool prints: whole numbers, without zeros in front. */
static bool number(struct text *t)
{
	const char *from = t->at;

	return digits(t) && (*from != '0' || t->at == from + 1);
}

static bool utf8(struct text *t)
{
	const unsigned char *s = (const unsigned char *)t->at;
	size_t left = (size_t)(t->end - t->at), i, n;
	unsigned int code;

	n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 :
	    s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	if (!n || n > left)
		return false;
	code = n == 1 ? s[0] : s[0] & (0x7fU >> n);
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return false;
		code = code << 6 | (s[i] & 0x3fU);
	}
	t->at += n;
	return !(n == 3 && code < 0x800) && !(n == 4 && code < 0x10000) &&
	       !(code >= 0xd800 && code < 0xe000) && code < 0x110000;
}

static bool escape(struct text *t)
{
	int i;

	if (t->at == t->end)
		return false;
	if (*t->at != 'u')
		return memchr("\"\\/bfnrt", *t->at++, 8);
	t->at++;
	for (i = 0; i < 4; i++, t->at++)
		if (t->at == t->end || !memchr("0123456789abcdefABCDEF", *t->at, 22))
			return false;
	return true;
}

static bool string(struct text *t)
{
	if (!take(t, '"'))
		return false;
	while (t->at < t->end && *t->at != '"') {
		if ((unsigned char)*t->at < 0x20)
			return false;
		if (take(t, '\\') ? !escape(t) : !utf8(t))
			return false;
	}
	return take(t, '"');
}

static bool member(struct text *t)
{
	blanks(t);
	if (!string(t))
		return false;
	blanks(t);
	return take(t, ':') && value(t);
}

static bool list(struct text *t, char end, bool (*item)(struct text *t))
{
	blanks(t);
	if (take(t, end))
		return true;
	do {
		if (!item(t))
			return false;
		blanks(t);
	} while (take(t, ','));
	return take(t, end);
}

static bool value(struct text *t)
{
	bool ok;

	if (++t->depth > MAX_DEPTH)
		return false;
	blanks(t);
	if (take(t, '{'))
		ok = list(t, '}', member);
	else if (take(t, '['))
		ok = list(t, ']', value);
	else if (t->at < t->end && *t->at == '"')
		ok = string(t);
	else
		ok = word(t, "true") || word(t, "false") || word(t, "null") || number(t);
	t->depth--;
	return ok;
}

bool is_json(const char *text, size_t len)
{
	struct text t = { text, text + len, 0 };

	if (!value(&t))
		return false;
	blanks(&t);
	return t.at == t.end;
}
