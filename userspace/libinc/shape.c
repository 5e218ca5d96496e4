// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What there is: who gives which buffer in a collective, which type has which operation and goes
 * over the wire as what. The kernel decides; this is for checks whose texts name the value, and for
 * saying why it has refused.
 */
#include <stdio.h>

#include "internal.h"

#define REDUCTION .submit = true, .reduces = true, .moves = true, .send = INC_ALL
#define MOVE	.submit = true, .moves = true

static const struct inc_shape shapes[__INC_COLL_MAX] = {
	[INC_COLL_BARRIER] = { .submit = true },
	[INC_COLL_ALLREDUCE] = { REDUCTION, .recv = INC_ALL, .in_place = INC_ALL },
	[INC_COLL_SCAN] = { REDUCTION, .recv = INC_ALL, .in_place = INC_ALL },
	[INC_COLL_EXSCAN] = { REDUCTION, .recv = INC_ALL, .in_place = INC_ALL },
	[INC_COLL_REDUCE] = { REDUCTION, .rooted = true, .recv = INC_ROOT, .in_place = INC_ROOT },
	[INC_COLL_REDUCE_SCATTER] = {
		REDUCTION, .send_shares = true, .recv = INC_ALL, .in_place = INC_ALL,
		.recv_counts = INC_ALL,
	},
	[INC_COLL_BROADCAST] = {
		MOVE, .rooted = true, .send = INC_ROOT, .recv = INC_OTHERS, .in_place = INC_ROOT,
	},
	[INC_COLL_ALLGATHER] = {
		MOVE, .send = INC_ALL, .recv = INC_ALL, .recv_shares = true, .in_place = INC_ALL,
		.recv_counts = INC_ALL, .displs = true,
	},
	[INC_COLL_GATHER] = {
		MOVE, .rooted = true, .send = INC_ALL, .recv = INC_ROOT, .recv_shares = true,
		.in_place = INC_ROOT, .recv_counts = INC_ROOT, .displs = true,
	},
	[INC_COLL_SCATTER] = {
		MOVE, .rooted = true, .send = INC_ROOT, .send_shares = true, .recv = INC_ALL,
		.in_place = INC_ROOT, .send_counts = INC_ROOT, .displs = true,
	},
	[INC_COLL_ALLTOALL] = {
		MOVE, .send = INC_ALL, .send_shares = true, .recv = INC_ALL, .recv_shares = true,
		.in_place = INC_ALL, .send_counts = INC_ALL, .recv_counts = INC_ALL, .displs = true,
	},
};

/* Never NULL; one without .submit for what is no collective. */
const struct inc_shape *inc_shape(unsigned int coll)
{
	return &shapes[coll < __INC_COLL_MAX ? coll : 0];
}

bool inc_applies(enum inc_whose whose, bool root)
{
	return whose == INC_ALL || (whose == INC_ROOT && root) || (whose == INC_OTHERS && !root);
}

#define BIT(n)		(1u << (n))
#define SIGNED		(BIT(INC_TYPE_I8) | BIT(INC_TYPE_I16) | BIT(INC_TYPE_I32) | \
			 BIT(INC_TYPE_I64))
#define UNSIGNED	(BIT(INC_TYPE_U8) | BIT(INC_TYPE_U16) | BIT(INC_TYPE_U32) | \
			 BIT(INC_TYPE_U64))
#define INTS		(SIGNED | UNSIGNED)
#define SMALL_INTS	(BIT(INC_TYPE_I8) | BIT(INC_TYPE_I16) | BIT(INC_TYPE_U8) | \
			 BIT(INC_TYPE_U16))
#define F32_OR_LESS	(BIT(INC_TYPE_F32) | BIT(INC_TYPE_F16) | BIT(INC_TYPE_BF16) | \
			 BIT(INC_TYPE_F8E4M3) | BIT(INC_TYPE_F8E5M2))
#define FLOATS		(F32_OR_LESS | BIT(INC_TYPE_F64))
#define COMPLEX		(BIT(INC_TYPE_C32) | BIT(INC_TYPE_C64))
#define PAIRS		(BIT(INC_TYPE_I32_I32) | BIT(INC_TYPE_F32_I32) | BIT(INC_TYPE_I64_I64) | \
			 BIT(INC_TYPE_F64_I64))
#define BLOCKS		(BIT(INC_TYPE_MXF8E4M3) | BIT(INC_TYPE_MXF8E5M2) | \
			 BIT(INC_TYPE_MXF4E2M1) | BIT(INC_TYPE_MXI8))
#define LOGICAL		(INTS | BIT(INC_TYPE_BOOL))

static const unsigned int types_of_op[__INC_OP_MAX] = {
	[INC_OP_SUM] = INTS | FLOATS | COMPLEX | BLOCKS,
	[INC_OP_PROD] = INTS | FLOATS | COMPLEX,
	[INC_OP_AVG] = INTS | FLOATS | COMPLEX | BLOCKS,
	[INC_OP_WSUM] = FLOATS | COMPLEX,
	[INC_OP_MIN] = INTS | FLOATS | BLOCKS,
	[INC_OP_MAX] = INTS | FLOATS | BLOCKS,
	[INC_OP_BAND] = INTS,
	[INC_OP_BOR] = INTS,
	[INC_OP_BXOR] = INTS,
	[INC_OP_LAND] = LOGICAL,
	[INC_OP_LOR] = LOGICAL,
	[INC_OP_LXOR] = LOGICAL,
	[INC_OP_MINLOC] = PAIRS,
	[INC_OP_MAXLOC] = PAIRS,
};

static bool has_type(unsigned int set, unsigned int type)
{
	return type < __INC_TYPE_MAX && set & BIT(type);
}

static bool travels_as(unsigned int type, unsigned int wire)
{
	return !wire || wire == type ||
	       (has_type(F32_OR_LESS, type) && has_type(F32_OR_LESS, wire)) ||
	       (type == INC_TYPE_F64 && wire == INC_TYPE_F32);
}

static bool avg_of_prefix(const struct inc_submit *op)
{
	return op->op == INC_OP_AVG && (op->coll == INC_COLL_SCAN || op->coll == INC_COLL_EXSCAN);
}

static bool has_op(const struct inc_submit *op)
{
	return op->op < __INC_OP_MAX && has_type(types_of_op[op->op], op->type);
}

/* Whether a type has an operation, and the collective too: there may still be no kernel for it. */
bool inc_meaningful(const struct inc_submit *op)
{
	return !inc_shape(op->coll)->reduces || (has_op(op) && !avg_of_prefix(op));
}

/* Bytes of an accumulator of block floats: f32, filled up to as many elements; else 0. */
static unsigned int block_accumulator(unsigned int type)
{
	unsigned int size = inc_type_size(type), bytes = 4 * INC_MX_VALUES;

	return has_type(BLOCKS, type) ? (bytes + size - 1) / size * size : 0;
}

/* What of that the nodes would have to reduce, and one of them does not. */
static struct inc_reduces lacks_of(const struct inc_submit *op, const struct inc_reduces *of)
{
	unsigned int wire = op->wire ? op->wire : op->type;
	unsigned int reduce = op->op == INC_OP_WSUM ? INC_OP_SUM : op->op;
	struct inc_reduces lacks = { 0 };

	if (!inc_shape(op->coll)->reduces || op->coll == INC_COLL_SCAN ||
	    op->coll == INC_COLL_EXSCAN)
		return lacks;
	/* what is no type is for the kernel to refuse */
	lacks.types = wire < 32 ? of->types & 1U << wire : 0;
	lacks.ops = reduce < 32 ? of->ops & 1U << reduce : 0;
	return lacks;
}

bool inc_is_lacking(const struct inc_submit *op, const struct inc_reduces *of)
{
	struct inc_reduces lacks = lacks_of(op, of);

	return lacks.types || lacks.ops;
}

static void say_lacks(char *buf, size_t len, const struct inc_reduces *lacks)
{
	snprintf(buf, len, "a node of the group does not reduce ");
	inc_format_reduces(buf, len, lacks);
	inc_append(buf, len, " (there: inc node show)");
}

/*
 * Completes "allreduce f32 bxor 16: ..." after -EOPNOTSUPP. @info: of the group, all 0 if that is
 * not known.
 */
void inc_why_unsupported(char *buf, size_t len, const struct inc_submit *op,
			 const struct inc_info *info)
{
	const struct inc_reduces lacks = lacks_of(op, &info->lacks);
	unsigned int block = info->block;
	const char *type = inc_type_name(op->type) ?: "", *reduce = inc_op_name(op->op) ?: "";
	const struct inc_shape *shape = inc_shape(op->coll);

	if (shape->reduces && !has_op(op))
		snprintf(buf, len, "%s has no %s", type, reduce);
	else if (avg_of_prefix(op))
		snprintf(buf, len, "%s has no avg", inc_coll_name(op->coll));
	else if (!travels_as(op->type, op->wire))
		snprintf(buf, len, "%s does not travel as %s", type,
			 inc_type_name(op->wire) ?: "that");
	else if (op->mode & INC_MODE_SATURATE &&
		 !(op->op == INC_OP_SUM && has_type(SMALL_INTS, op->type)))
		snprintf(buf, len, "saturating are only sums of i8, i16, u8 and u16");
	else if (lacks.types || lacks.ops)
		say_lacks(buf, len, &lacks);
	else if (shape->reduces && block && block < block_accumulator(op->type))
		snprintf(buf, len,
			 "an accumulator of %s takes %u bytes, the group's blocks have %u: expected a path with a larger MTU",
			 type, block_accumulator(op->type), block);
	else if (shape->reduces)
		snprintf(buf, len, "no reduction kernel for %s %s here (inc caps show)", type,
			 reduce);
	else
		snprintf(buf, len, "not in this kernel");
}
