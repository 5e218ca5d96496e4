/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The netlink spec as tables, which spec_table.py makes of Documentation/netlink/specs/inc.yaml,
 * and messages that are built and judged by them: right ones, and ones that are wrong in ways that
 * a parser may overlook.
 */
#ifndef INC_FUZZ_SPEC_H
#define INC_FUZZ_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spec_type {
	SPEC_FLAG, SPEC_U8, SPEC_U16, SPEC_U32, SPEC_U64, SPEC_STRING, SPEC_BINARY, SPEC_NEST,
	SPEC_UNUSED
};

struct spec_attr {
	const char *name;
	unsigned int number;
	enum spec_type type;
	unsigned int len;		/* bytes, where that is fixed; else 0 */
	unsigned int item;		/* bytes of each, where it is an array; else 0 */
	const struct spec_set *nested;
	const char * const *names;	/* of an enum's values, NULL where there is none */
	unsigned int n_names;
	bool out;			/* only in answers */
};

struct spec_set {
	const char *name;
	const struct spec_attr *attrs;	/* attrs[i].number is i + 1 */
	unsigned int n;
};

struct spec_op {
	const char *name;
	unsigned int cmd;
	unsigned int request;		/* top-level attributes: 1 << number */
	unsigned int reply;
	bool has_do, has_dump, has_event;
	bool admin;			/* needs CAP_NET_ADMIN */
};

extern const struct spec_op spec_ops[];
extern const unsigned int spec_n_ops;
extern const struct spec_set * const spec_top;

/* Where decisions come from: @data while there is some, then 0; without @data random numbers. */
struct source {
	const uint8_t *data;
	size_t left;
	uint64_t state;
};

/* 0 .. n - 1; n 0: any number */
uint32_t draw(struct source *s, uint32_t n);
uint64_t draw64(struct source *s);
/* A number that is often at an edge. */
uint64_t draw_number(struct source *s);
static inline bool one_in(struct source *s, uint32_t n)
{
	return draw(s, n) == n - 1;
}

struct message {
	uint8_t *buf;
	size_t len, size;
	unsigned int damage;	/* one attribute of so many is damaged; 0: none */
	bool answer;		/* else a request: without attributes that are only in answers */
	const char * const *devs;	/* names of interfaces; their numbers are 1 .. n_devs */
	unsigned int n_devs;
};

#define SPEC_NAMES	4

/* Of tenants. */
extern const char * const spec_names[SPEC_NAMES];

/* Attributes of @set whose bits are in @mask (of those of a nest: ~0U), at the end of @m. */
void put_attrs(struct message *m, struct source *s, const struct spec_set *set, unsigned int mask);

/*
 * NULL if these attributes are what the spec says, else what is wrong, which is valid until
 * something else is. Of a request that is what no strict parser may accept; what follows the end of
 * a string in it is nobody's.
 */
const char *wrong_request(const void *data, size_t len, const struct spec_set *set,
			  unsigned int mask);
const char *wrong_answer(const void *data, size_t len, const struct spec_set *set,
			 unsigned int mask);

#endif
