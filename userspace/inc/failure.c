// SPDX-License-Identifier: GPL-2.0-only
/* Errors of groups: from netlink's numbers to the words that libinc has for them. */
#include <linux/inc.h>
#include <linux/inc_netlink.h>
#include <linux/inc_socket.h>
#include <string.h>

#include "attr.h"
#include "failure.h"
#include "internal.h"
#include "names.h"
#include "print.h"

#define NO_RANK (~0U)

/* What is no number of this tool's version is one that has no name. */
static uint8_t byte_of(struct nlattr *attr)
{
	uint32_t number = 0;

	get_u32(attr, &number);
	return number < UINT8_MAX ? (uint8_t)number : UINT8_MAX;
}

static void parse_desc(struct inc_error_info *e, uint32_t *opseq, int side, struct nlattr *nest)
{
	struct nlattr *tb[INC_A_DESC_MAX + 1];
	uint64_t count = 0;

	if (!nest)
		return;
	parse_nest(nest, tb, INC_A_DESC_MAX);
	e->desc[side].coll = byte_of(tb[INC_A_DESC_COLL]);
	e->desc[side].type = byte_of(tb[INC_A_DESC_TYPE]);
	e->desc[side].op = byte_of(tb[INC_A_DESC_OP]);
	e->desc[side].wire = byte_of(tb[INC_A_DESC_WIRE]);
	e->desc[side].mode = byte_of(tb[INC_A_DESC_MODE]);
	get_u32(tb[INC_A_DESC_ROOT], &e->desc[side].root);
	get_u32(tb[INC_A_DESC_OPSEQ], &opseq[side]);
	get_u64(tb[INC_A_DESC_COUNT], &count);
	e->desc[side].count = count;
	get_u32(tb[INC_A_DESC_COUNTS_HASH], &e->desc[side].counts);
}

/* False: there is no code. */
static bool parse_error(struct inc_error_info *e, uint32_t *opseq, struct nlattr *nest)
{
	struct nlattr *tb[INC_A_ERROR_MAX + 1];
	uint32_t code;

	memset(e, 0, sizeof(*e));
	e->rank[0] = NO_RANK;
	e->rank[1] = NO_RANK;
	opseq[0] = 0;
	opseq[1] = 0;
	parse_nest(nest, tb, INC_A_ERROR_MAX);
	get_u32(tb[INC_A_ERROR_OPSEQ], &e->opseq);
	get_u32(tb[INC_A_ERROR_RANK0], &e->rank[0]);
	get_u32(tb[INC_A_ERROR_RANK1], &e->rank[1]);
	parse_desc(e, opseq, 0, tb[INC_A_ERROR_DESC0]);
	parse_desc(e, opseq, 1, tb[INC_A_ERROR_DESC1]);
	if (!get_u32(tb[INC_A_ERROR_CODE], &code))
		return false;
	e->code = code < UINT16_MAX ? (uint16_t)code : UINT16_MAX;
	return true;
}

const char *failure_text(struct nlattr *nest)
{
	static char text[ERRMSG_LEN];
	struct inc_error_info e;
	uint32_t opseq[2];

	text[0] = 0;
	if (parse_error(&e, opseq, nest))
		inc_append_cause(text, sizeof(text), &e, opseq);
	return text;
}

/* JSON only. */
static void show_desc(const char *key, const struct inc_error_info *e, const uint32_t *opseq,
		      int side)
{
	const char *type = inc_type_name(e->desc[side].type);
	const char *wire = inc_type_name(e->desc[side].wire);
	const char *op = inc_op_name(e->desc[side].op);

	if (!e->desc[side].coll)
		return;
	out_open(key);
	out_str("coll", NULL, inc_coll_name(e->desc[side].coll) ?: "unknown");
	if (type)
		out_str("type", NULL, type);
	if (op)
		out_str("op", NULL, op);
	if (wire)
		out_str("wire", NULL, wire);
	out_num("mode", NULL, e->desc[side].mode, UNIT_NONE);
	out_num("root", NULL, e->desc[side].root, UNIT_NONE);
	out_num("opseq", NULL, opseq[side], UNIT_NONE);
	out_num("count", NULL, e->desc[side].count, UNIT_NONE);
	if (e->desc[side].mode & INC_MODE_COUNTS)
		out_num("counts_hash", NULL, e->desc[side].counts, UNIT_NONE);
	out_close();
}

void show_failure(const char *key, const char *start, struct nlattr *nest)
{
	struct inc_error_info e;
	uint32_t opseq[2];

	if (!nest || !parse_error(&e, opseq, nest))
		return;
	out_open(key);
	out_text("%s", start ?: "");
	out_num("number", NULL, e.code, UNIT_NONE);
	out_str("code", start ? "%s" : NULL, error_name(e.code));
	out_num("opseq", start ? " in operation %s" : NULL, e.opseq, UNIT_NONE);
	if (e.rank[0] != NO_RANK)
		out_num("rank0", NULL, e.rank[0], UNIT_NONE);
	if (e.rank[1] != NO_RANK)
		out_num("rank1", NULL, e.rank[1], UNIT_NONE);
	show_desc("desc0", &e, opseq, 0);
	show_desc("desc1", &e, opseq, 1);
	out_str("text", start ? ": %s" : NULL, failure_text(nest));
	out_close();
}
