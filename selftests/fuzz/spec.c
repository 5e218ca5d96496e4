// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of the netlink family, drawn from the tables of its spec and compared with them.
 */
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>

#include "spec.h"

#include "spec_data.h"

#define MAX_DEPTH 4

uint64_t draw64(struct source *s)
{
	uint64_t v = 0;
	int i;

	if (s->data) {
		for (i = 0; i < 8 && s->left; i++, s->left--)
			v |= (uint64_t)*s->data++ << 8 * i;
		return v;
	}
	/* splitmix64 */
	s->state += 0x9e3779b97f4a7c15ULL;
	v = s->state;
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ULL;
	v = (v ^ v >> 27) * 0x94d049bb133111ebULL;
	return v ^ v >> 31;
}

uint32_t draw(struct source *s, uint32_t n)
{
	uint32_t v = 0;
	int i, bytes = !n || n > 65536 ? 4 : n > 256 ? 2 : 1;

	if (!s->data)
		v = (uint32_t)draw64(s);
	for (i = 0; s->data && i < bytes && s->left; i++, s->left--)
		v = v << 8 | *s->data++;
	return n ? v % n : v;
}

uint64_t draw_number(struct source *s)
{
	static const uint64_t edges[] = {
		0, 1, 2, 3, 4, 16, 99, 100, 255, 256, 500, 512, 1024, 4096, 5227, 65535, 65536,
		1 << 20, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000ULL, 1ULL << 40,
		0x7fffffffffffffffULL, 0x8000000000000000ULL, ~0ULL,
	};
	uint32_t i = draw(s, 32);

	if (i < sizeof(edges) / sizeof(*edges))
		return edges[i];
	return i & 1 ? draw64(s) : draw(s, 256);
}

/* Values that requests are granted for, by the attribute's name. */
static const struct {
	const char *name;
	uint64_t values[4];
} likely[] = {
	{ "dead-ms", { 100, 250, 1000, 2000 } },
	{ "late-ms", { 0, 10, 500, 5000 } },
	{ "window", { 4, 16, 512, 4096 } },
	{ "max-groups", { 1, 8, 64, 65536 } },
	{ "max-slots", { 8, 64, 1024, 1 << 29 } },
	{ "max-memory", { 65536, 1 << 20, 64 << 20, 1ULL << 40 } },
	{ "port", { 5227, 1, 65535, 7000 } },
	{ "node", { 1, 2, 3, 4 } },
	{ "sockets", { 1, 100, 1 << 20, 1ULL << 40 } },
	{ "operations", { 1, 100, 1 << 20, 1ULL << 40 } },
	{ "op-memory", { 65536, 1 << 20, 64 << 20, 1ULL << 40 } },
	{ "pinned-memory", { 65536, 1 << 20, 64 << 20, 1ULL << 40 } },
	{ "slot-memory", { 65536, 1 << 20, 64 << 20, 1ULL << 40 } },
	{ "held-memory", { 65536, 1 << 20, 64 << 20, 1ULL << 40 } },
	{ "socket-memory", { 65536, 1 << 20, 64 << 20, 1ULL << 40 } },
};

static uint64_t value_of(struct message *m, struct source *s, const struct spec_attr *a)
{
	size_t i;

	if (a->names && !one_in(s, 8))
		return draw(s, a->n_names);
	if (!strcmp(a->name, "ifindex") && m->n_devs && !one_in(s, 4))
		return 1 + draw(s, m->n_devs);
	for (i = 0; i < sizeof(likely) / sizeof(*likely); i++)
		if (!strcmp(a->name, likely[i].name) && !one_in(s, 4))
			return likely[i].values[draw(s, 4)];
	return draw_number(s);
}

static void put(struct message *m, const void *data, size_t len)
{
	if (len > m->size - m->len)
		len = m->size - m->len;
	memcpy(m->buf + m->len, data, len);
	m->len += len;
}

static void put_random(struct message *m, struct source *s, size_t len)
{
	uint64_t v;

	for (; len; len -= len < sizeof(v) ? len : sizeof(v)) {
		v = draw64(s);
		put(m, &v, len < sizeof(v) ? len : sizeof(v));
	}
}

static void align(struct message *m)
{
	while (m->len & (NLA_ALIGNTO - 1) && m->len < m->size)
		m->buf[m->len++] = 0;
}

const char * const spec_names[SPEC_NAMES] = { "a", "b.2", "c-3", "d_4" };

static void put_string(struct message *m, struct source *s, const struct spec_attr *a)
{
	static const char *const texts[] = {
		"inc", "", "\"quoted\" \\ back", "tab\t newline\n bell\a escape\x1b[31m",
		"%s %n %d", "\xc3\xa4 \xe2\x82\xac", "\xff\xfe lone \x80", "cut \xe2\x82",
		"csi \xc2\x9bJ", "\xed\xa0\x80",
	};
	const char *text;

	if (!strcmp(a->name, "ifname") && m->n_devs && !one_in(s, 4))
		text = m->devs[draw(s, m->n_devs)];
	else if (!strcmp(a->name, "name") && !one_in(s, 4))
		text = spec_names[draw(s, SPEC_NAMES)];
	else
		text = texts[draw(s, sizeof(texts) / sizeof(*texts))];
	put(m, text, strlen(text) + 1);
}

static void put_binary(struct message *m, struct source *s, const struct spec_attr *a)
{
	static const uint8_t addrs[][16] = {
		{ 10, 7, 0, 254 }, { 127, 0, 0, 1 }, { 0 }, { 224, 0, 0, 1 },
		{ 255, 255, 255, 255 }, { 0xfe, 0x80, [15] = 1 }, { 0xff, 2, [15] = 1 },
		{ 0xfd, 0, 0, 7, [15] = 0xfe }, { [15] = 1 },
	};

	if (a->len)
		put_random(m, s, a->len);
	else
		put(m, addrs[draw(s, sizeof(addrs) / sizeof(*addrs))], one_in(s, 3) ? 16 : 4);
}

static void put_value(struct message *m, struct source *s, const struct spec_attr *a)
{
	uint64_t v;

	switch (a->type) {
	case SPEC_FLAG:
		break;
	case SPEC_U8:
	case SPEC_U16:
	case SPEC_U32:
	case SPEC_U64:
		v = value_of(m, s, a);
		put(m, &v, a->len);	/* little-endian machines only */
		break;
	case SPEC_STRING:
		put_string(m, s, a);
		break;
	case SPEC_BINARY:
		put_binary(m, s, a);
		break;
	case SPEC_NEST:
		put_attrs(m, s, a->nested, ~0U);
		break;
	case SPEC_UNUSED:
		break;
	}
}

enum damage {
	DAMAGE_LENGTH, DAMAGE_TYPE, DAMAGE_FLAGS, DAMAGE_HEADER, DAMAGE_TWICE, DAMAGE_GARBAGE,
	DAMAGE_DEEP, DAMAGE_END,
	DAMAGE_KINDS
};

/* Nests in nests, far deeper than the spec has them. */
static void put_deep(struct message *m, struct source *s)
{
	uint32_t depth = 1 + draw(s, 40), i;
	struct nlattr h;

	for (i = 0; i < depth; i++) {
		h.nla_len = (uint16_t)(sizeof(h) * (depth - i));
		h.nla_type = (uint16_t)(NLA_F_NESTED | (1 + draw(s, 10)));
		put(m, &h, sizeof(h));
	}
}

/* Its type: one that there is not, or another one. */
static void damage_type(struct source *s, struct nlattr *h, const struct spec_set *set)
{
	h->nla_type = (uint16_t)(one_in(s, 2) ? draw(s, set->n + 8) : draw(s, NLA_TYPE_MASK + 1));
}

static void damage_header(struct source *s, struct nlattr *h)
{
	h->nla_len = (uint16_t)(one_in(s, 2) ? draw(s, 4) : 60000 + draw(s, 5000));
}

static void put_body(struct message *m, struct source *s, const struct spec_attr *a,
		     enum damage kind)
{
	if (kind == DAMAGE_LENGTH)
		put_random(m, s, one_in(s, 8) ? draw(s, 2000) : draw(s, 20));
	else if (kind == DAMAGE_GARBAGE)
		put_random(m, s, draw(s, 64));
	else
		put_value(m, s, a);
	if (kind == DAMAGE_DEEP)
		put_deep(m, s);
}

static void put_attr(struct message *m, struct source *s, const struct spec_set *set,
		     const struct spec_attr *a)
{
	enum damage kind = DAMAGE_KINDS;
	struct nlattr h = { 0 };
	size_t at = m->len;

	if (m->size - m->len < sizeof(h) + 64)
		return;
	if (m->damage && one_in(s, m->damage))
		kind = (enum damage)draw(s, DAMAGE_KINDS);
	m->len += sizeof(h);
	put_body(m, s, a, kind);
	h.nla_len = (uint16_t)(m->len - at);
	h.nla_type = (uint16_t)(a->number | (a->type == SPEC_NEST ? NLA_F_NESTED : 0));
	if (kind == DAMAGE_TYPE)
		damage_type(s, &h, set);
	else if (kind == DAMAGE_FLAGS)
		h.nla_type ^= one_in(s, 2) ? NLA_F_NESTED : NLA_F_NET_BYTEORDER;
	else if (kind == DAMAGE_HEADER)
		damage_header(s, &h);
	memcpy(m->buf + at, &h, sizeof(h));
	align(m);
	if (kind == DAMAGE_TWICE)
		put_attr(m, s, set, a);
	else if (kind == DAMAGE_END)
		m->len -= draw(s, (uint32_t)(m->len - at));
}

void put_attrs(struct message *m, struct source *s, const struct spec_set *set, unsigned int mask)
{
	static int depth;
	unsigned int i;

	if (depth == MAX_DEPTH)
		return;
	depth++;
	for (i = 0; i < set->n; i++) {
		const struct spec_attr *a = &set->attrs[i];
		bool want = mask == ~0U ? !one_in(s, 3) : mask >> a->number & 1 && !one_in(s, 8);

		if (a->type == SPEC_UNUSED)
			want = m->damage && one_in(s, 4 * m->damage);
		else if (a->out && !m->answer)
			want = m->damage && one_in(s, 4 * m->damage);
		if (!want && mask != ~0U && m->damage)
			want = one_in(s, 4 * m->damage);	/* not of this command */
		if (want)
			put_attr(m, s, set, a);
	}
	depth--;
}

static char complaint[160];

static const char *wrong(const struct spec_set *set, const char *attr, const char *what)
{
	snprintf(complaint, sizeof(complaint), "%s %s: %s", set->name, attr, what);
	return complaint;
}

static const char *wrong_string(const char *body, size_t len, bool request)
{
	size_t n = strnlen(body, len);

	return n == len || (!request && n + 1 != len) ? "the end of the string" : NULL;
}

/*
 * An array has one item at least. What has no length and no items is an address. Of two in a
 * request the last counts: not known here.
 */
static const char *wrong_binary(size_t len, const struct spec_attr *a, bool request)
{
	bool fits;

	if (a->len)
		fits = len == a->len;
	else if (a->item)
		fits = len && len % a->item == 0;
	else
		fits = len == 4 || len == 16 || request;
	return fits ? NULL : "its length";
}

/* Of two nests in a request the last counts; types and lengths have to be right in both. */
enum judged {
	ANSWER, REQUEST, REPLACED
};

static const char *wrong_attrs(const uint8_t *p, size_t len, const struct spec_set *set,
			       unsigned int mask, enum judged judged);

static const char *wrong_attr(const uint8_t *body, size_t len, const struct spec_set *set,
			      const struct spec_attr *a, enum judged judged)
{
	bool request = judged != ANSWER;
	const char *what = NULL;

	switch (a->type) {
	case SPEC_FLAG:
		what = len ? "a flag with a body" : NULL;
		break;
	case SPEC_U8:
	case SPEC_U16:
	case SPEC_U32:
	case SPEC_U64:
		what = len != a->len ? "its length" : NULL;
		break;
	case SPEC_STRING:
		what = wrong_string((const char *)body, len, request);
		break;
	case SPEC_BINARY:
		what = wrong_binary(len, a, request);
		break;
	case SPEC_NEST:
		return wrong_attrs(body, len, a->nested, ~0U, judged);
	case SPEC_UNUSED:
		what = "not used any more";
		break;
	}
	return what ? wrong(set, a->name, what) : NULL;
}

static const char *wrong_type(const struct spec_set *set, unsigned int mask, uint16_t type,
			      enum judged judged)
{
	unsigned int number = type & NLA_TYPE_MASK;
	const struct spec_attr *a;

	/* 0 fills up to where a u64 is aligned */
	if (!number)
		return judged != ANSWER ? wrong(set, "attribute", "none of a request") : NULL;
	if (number > set->n || (mask != ~0U && !(mask >> number & 1)))
		return wrong(set, "attribute", "none of this set or command");
	a = &set->attrs[number - 1];
	if (a->out && judged == REQUEST)
		return wrong(set, a->name, "only in answers");
	if (a->type == SPEC_NEST && !(type & NLA_F_NESTED))
		return wrong(set, a->name, "a nest that does not say so");
	return NULL;
}

/* Whether one of this number is among the attributes at @p. */
static bool comes_again(const uint8_t *p, size_t len, unsigned int number)
{
	struct nlattr h;

	while (len >= sizeof(h)) {
		memcpy(&h, p, sizeof(h));
		if (h.nla_len < sizeof(h) || h.nla_len > len)
			return false;
		if ((h.nla_type & NLA_TYPE_MASK) == number)
			return true;
		p += NLA_ALIGN((size_t)h.nla_len);
		len -= len < NLA_ALIGN((size_t)h.nla_len) ? len : NLA_ALIGN((size_t)h.nla_len);
	}
	return false;
}

static const char *wrong_attrs(const uint8_t *p, size_t len, const struct spec_set *set,
			       unsigned int mask, enum judged judged)
{
	const char *text = NULL;
	unsigned int number;
	enum judged nest;
	struct nlattr h;
	size_t step;

	while (len && !text) {
		if (len < sizeof(h))
			return wrong(set, "attribute", "cut off");
		memcpy(&h, p, sizeof(h));
		if (h.nla_len < sizeof(h) || h.nla_len > len)
			return wrong(set, "attribute", "length in its header");
		number = h.nla_type & NLA_TYPE_MASK;
		text = wrong_type(set, mask, h.nla_type, judged);
		step = len < NLA_ALIGN((size_t)h.nla_len) ? len : NLA_ALIGN((size_t)h.nla_len);
		nest = judged == REQUEST && mask != ~0U &&
		       comes_again(p + step, len - step, number) ? REPLACED : judged;
		if (!text && number)
			text = wrong_attr(p + sizeof(h), h.nla_len - sizeof(h), set,
					  &set->attrs[number - 1], nest);
		len -= step;
		p += step;
	}
	return text;
}

const char *wrong_request(const void *data, size_t len, const struct spec_set *set,
			  unsigned int mask)
{
	return wrong_attrs(data, len, set, mask, REQUEST);
}

const char *wrong_answer(const void *data, size_t len, const struct spec_set *set,
			 unsigned int mask)
{
	return wrong_attrs(data, len, set, mask, ANSWER);
}
