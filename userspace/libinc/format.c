// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Words: names of types, operations and collectives, and what an error was about. The tool has them
 * from here, too.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *name;
	size_t size;
} types[] = {
#define INC_TYPE(number, name, bytes) [number] = { name, bytes },
#include <linux/inc_names.h>
#undef INC_TYPE
};

static const char * const ops[] = {
#define INC_OP(number, name) [number] = name,
#include <linux/inc_names.h>
#undef INC_OP
};

static const char * const colls[] = {
#define INC_COLL(number, name) [number] = name,
#include <linux/inc_names.h>
#undef INC_COLL
};

static const char * const errors[] = {
#define INC_ERROR(number, text) [number] = text,
#include <linux/inc_names.h>
#undef INC_ERROR
};

static_assert(ARRAY_SIZE(types) == __INC_TYPE_MAX, "a type has no name");
static_assert(ARRAY_SIZE(ops) == __INC_OP_MAX, "an operation has no name");
static_assert(ARRAY_SIZE(colls) == __INC_COLL_MAX, "a collective has no name");
static_assert(ARRAY_SIZE(errors) == __INC_ERR_MAX, "an error has no text");

const char *inc_type_name(enum inc_type type)
{
	return (size_t)type < ARRAY_SIZE(types) ? types[type].name : NULL;
}

size_t inc_type_size(enum inc_type type)
{
	return (size_t)type < ARRAY_SIZE(types) ? types[type].size : 0;
}

const char *inc_op_name(enum inc_op op)
{
	return (size_t)op < ARRAY_SIZE(ops) ? ops[op] : NULL;
}

const char *inc_coll_name(enum inc_coll coll)
{
	return (size_t)coll < ARRAY_SIZE(colls) ? colls[coll] : NULL;
}

int inc_type_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (name && types[i].name && !strcmp(types[i].name, name))
			return (int)i;
	return -EINVAL;
}

int inc_op_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (name && ops[i] && !strcmp(ops[i], name))
			return (int)i;
	return -EINVAL;
}

int inc_coll_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(colls); i++)
		if (name && colls[i] && !strcmp(colls[i], name))
			return (int)i;
	return -EINVAL;
}

/* To the end of the text that is in @buf. */
void inc_append(char *buf, size_t len, const char *fmt, ...)
{
	size_t at = strnlen(buf, len);
	va_list args;

	if (at == len)
		return;
	va_start(args, fmt);
	vsnprintf(buf + at, len - at, fmt, args);
	va_end(args);
}

static void append_names(char *buf, size_t len, uint32_t bits, const char **between, bool of_ops)
{
	const char *name;

	for (unsigned int i = 1; i < 32; i++) {
		if (!(bits >> i & 1))
			continue;
		name = of_ops ? inc_op_name((enum inc_op)i) : inc_type_name((enum inc_type)i);
		inc_append(buf, len, "%s%s", *between, name ?: "something newer");
		*between = ", ";
	}
}

void inc_format_reduces(char *buf, size_t len, const struct inc_reduces *r)
{
	const char *between = "";

	append_names(buf, len, r->types, &between, false);
	append_names(buf, len, r->ops, &between, true);
}

/*
 * "allreduce f32 sum 4096 as bf16", "broadcast i8 4096 (part) root 2",
 * "gather f64 per-rank counts root 0", "barrier"
 */
void inc_format_op(char *buf, size_t len, const struct inc_submit *op)
{
	snprintf(buf, len, "%s", inc_coll_name(op->coll) ?: "unknown collective");
	if (op->type)
		inc_append(buf, len, " %s", inc_type_name(op->type) ?: "unknown type");
	if (op->op)
		inc_append(buf, len, " %s", inc_op_name(op->op) ?: "unknown operation");
	if (op->mode & INC_MODE_COUNTS)
		inc_append(buf, len, " per-rank counts");
	else if (op->type)
		inc_append(buf, len, " %llu", (unsigned long long)op->count);
	if (op->wire && op->wire != op->type)
		inc_append(buf, len, " as %s", inc_type_name(op->wire) ?: "unknown type");
	if (op->mode & INC_MODE_SATURATE)
		inc_append(buf, len, " saturating");
	if (op->mode & INC_MODE_PART)
		inc_append(buf, len, " (part)");
	if (op->root || inc_shape(op->coll)->rooted)
		inc_append(buf, len, " root %u", op->root);
}

/*
 * "rank 2: allreduce f32 sum 4096"; with the hash of per-rank counts where only that differs, and
 * with which operation of the rank it is where that is known and differs.
 */
static void append_side(char *buf, size_t len, const struct inc_error_info *e,
			const uint32_t *opseq, int side)
{
	const struct inc_submit op = {
		.coll = e->desc[side].coll, .type = e->desc[side].type, .op = e->desc[side].op,
		.wire = e->desc[side].wire, .mode = e->desc[side].mode, .root = e->desc[side].root,
		.count = e->desc[side].count,
	};
	char text[OP_LEN];

	inc_format_op(text, sizeof(text), &op);
	if (e->rank[side] != ~0U)
		inc_append(buf, len, "rank %u: ", e->rank[side]);
	inc_append(buf, len, "%s", text);
	if (op.mode & e->desc[!side].mode & INC_MODE_COUNTS &&
	    e->desc[0].counts != e->desc[1].counts)
		inc_append(buf, len, " (hash %08x)", e->desc[side].counts);
	if (opseq && opseq[0] != opseq[1])
		inc_append(buf, len, " as operation %u", opseq[side]);
}

/* "rank 2: barrier, rank 0: allreduce f32 sum 4097: ranks disagree about the operation" */
static void append_mismatch(char *buf, size_t len, const struct inc_error_info *e,
			    const uint32_t *opseq, const char *what)
{
	if (e->desc[0].coll && e->desc[1].coll) {
		append_side(buf, len, e, opseq, 0);
		inc_append(buf, len, ", ");
		append_side(buf, len, e, opseq, 1);
		inc_append(buf, len, ": %s", what);
	} else if (e->desc[0].coll) {
		append_side(buf, len, e, NULL, 0);
		inc_append(buf, len, ": %s", what);
	} else if (e->rank[0] != ~0U) {
		inc_append(buf, len, "%s: rank %u with what was completed without it", what,
			   e->rank[0]);
	} else {
		inc_append(buf, len, "%s", what);
	}
}

static void append_rank(char *buf, size_t len, const struct inc_error_info *e, const char *what)
{
	/* Of two descriptors it is the LEAVE that tells who has left. */
	uint32_t who = e->rank[e->code == INC_ERR_LEFT && e->desc[1].coll == INC_COLL_LEAVE];

	if (who == ~0U)
		inc_append(buf, len, "a rank %s", what);
	else
		inc_append(buf, len, "rank %u %s", who, what);
}

void inc_append_cause(char *buf, size_t len, const struct inc_error_info *e, const uint32_t *opseq)
{
	const char *what = e->code < ARRAY_SIZE(errors) ? errors[e->code] : NULL;

	what = what ?: "unknown error";
	switch (e->code) {
	case INC_ERR_MISMATCH:
		append_mismatch(buf, len, e, opseq, what);
		break;
	case INC_ERR_UNSUPPORTED:
		if (e->desc[0].coll) {
			append_side(buf, len, e, NULL, 0);
			inc_append(buf, len, ": ");
		}
		inc_append(buf, len, "%s", what);
		break;
	case INC_ERR_CANCELED:
	case INC_ERR_NODE_DEAD:
	case INC_ERR_NODE_GONE:
		inc_append(buf, len, "%s", what);
		break;
	case INC_ERR_COUNTS:
		if (e->rank[1] == ~0U)
			append_rank(buf, len, e, what);
		else
			inc_append(buf, len,
				   "rank %u sends rank %u another count than that expects",
				   e->rank[0], e->rank[1]);
		break;
	default:
		append_rank(buf, len, e, what);
	}
}

/* "operation 9: rank 2 did not contribute within the late limit" */
void inc_format_error(char *buf, size_t len, const struct inc_error_info *e)
{
	if (e->code == INC_ERR_NONE) {
		snprintf(buf, len, "no error");
		return;
	}
	snprintf(buf, len, "operation %u: ", e->opseq);
	inc_append_cause(buf, len, e, NULL);
}
