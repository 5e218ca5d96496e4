// SPDX-License-Identifier: GPL-2.0-only
/* Packets between the nodes and ranks of fuzz_tree: what is sent, and how it arrives. */
#include "tree_parts.h"

static bool is_beside(u32 addr)
{
	return addr == OTHER || addr >= RANK_AT + MAX_RANKS;
}

void tree_send(u32 from, u32 to, const struct netinc_pkt *pkt, const struct inc_desc *desc,
	       const void *body, u32 len)
{
	struct queue *q = is_beside(from) || is_beside(to) ? &env.beside : &env.tree;
	struct frame *f = &q->frame[q->last % QUEUE];

	env.sent++;
	if (to == NOBODY || q->last - q->first == QUEUE)
		return;
	q->last++;
	*f = (struct frame){ .from = from, .to = to, .pkt = *pkt };
	f->pkt.len = len;
	f->body = malloc(len);
	if (len)
		memcpy(f->body, body, len);
	if (desc)
		f->desc = *desc;
}

void tree_resize(struct frame *f, u32 len)
{
	u8 *body = calloc(1, len);

	if (f->pkt.len && len)
		memcpy(body, f->body, min_t(u32, len, f->pkt.len));
	free(f->body);
	f->body = body;
	f->pkt.len = len;
}

void tree_copy(struct frame *to, const struct frame *from)
{
	*to = *from;
	to->body = malloc(from->pkt.len);
	if (from->pkt.len)
		memcpy(to->body, from->body, from->pkt.len);
}

/* Only what the parser lets through arrives. */
static bool passes_parser(struct frame *f)
{
	u32 len = (u32)sizeof(struct inc_hdr) + netinc_body_len(&f->pkt);
	struct netinc_pkt back;
	u8 *buf = calloc(1, len);
	bool good;

	netinc_build((struct inc_hdr *)buf, &f->pkt);
	good = !netinc_parse(buf, len, &back) && back.group == GROUP;
	free(buf);
	if (!good)
		return false;
	back.ce = f->pkt.ce;
	f->pkt = back;
	return true;
}

/* A liar may set a dead limit of a minute, but then all that is to come takes as long. */
static void limit_dead(struct frame *f)
{
	struct inc_ready *ready = (void *)f->body;
	u32 dead = be32_to_cpu(ready->dead_ms);

	if (dead > MOST_DEAD_MS && dead <= NETINC_MAX_DEAD_MS)
		ready->dead_ms = cpu_to_be32(MOST_DEAD_MS);
}

void tree_arrives(struct frame *f, bool same)
{
	bool good = passes_parser(f);

	if (good && f->pkt.type == INC_PKT_READY)
		limit_dead(f);
	if (!good)
		;
	else if (f->to < NODES)
		tree_at_node(&env.node[f->to], f, same);
	else if (f->to >= RANK_AT && f->to < RANK_AT + ALL_RANKS)
		rank_receives(f->to - RANK_AT, f);
	free(f->body);
}

void tree_deliver(bool same)
{
	struct queue *q = &env.tree;
	static u32 from, to;
	struct frame f;

	if (q->first == q->last)
		return;
	f = q->frame[q->first++ % QUEUE];
	if (is_liar_at(f.from) && (env.mute || (!env.truth && !liar_alters(&f)))) {
		free(f.body);
		return;
	}
	same &= f.from == from && f.to == to;
	from = f.from;
	to = f.to;
	env.now++;
	tree_arrives(&f, same);
}

void tree_pump_beside(void)
{
	struct queue *q = &env.beside;
	struct frame f;

	while (q->first != q->last) {
		f = q->frame[q->first++ % QUEUE];
		tree_arrives(&f, false);
	}
}

void tree_pump(void)
{
	u32 most = 4 * QUEUE;

	tree_pump_beside();
	while (env.tree.first != env.tree.last && most--)
		tree_deliver(false);
}
