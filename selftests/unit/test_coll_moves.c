// SPDX-License-Identifier: GPL-2.0-only
/*
 * What collectives move: every collective is played through block by block, without a network, for
 * random sizes, counts, roots and lengths of blocks. Each element that a rank gets must be the one
 * that the collective's definition says, from the ranks that it says; streams have neither holes
 * nor overlaps; all ranks see the same blocks.
 */
#include "engine/coll.h"
#include "reduce/reduce.h"

#include "ktap.h"
#include "siphash.h"

#define MAX_SIZE	7u
#define MAX_ELEMS	300u	/* of a share */

static struct {
	u32 size;
	u32 block;		/* bytes */
	struct netinc_op op[MAX_SIZE];
	u32 counts[MAX_SIZE * MAX_SIZE];
	u64 before[MAX_SIZE][NETINC_BEFORE(MAX_SIZE)];
	u64 got[MAX_SIZE];	/* elements so far */
	struct netinc_block b[MAX_SIZE];
} play;

/* An element of a stream: number @e of the share of @peer. */
struct element {
	u32 peer;
	u64 e;
};

static bool share_of(const struct netinc_op *op, bool send, u32 i, struct netinc_share *s)
{
	return send ? netinc_coll_send_share(op, i, s) : netinc_coll_recv_share(op, i, s);
}

static struct element element_at(const struct netinc_op *op, bool send, u64 at)
{
	struct netinc_share s = { .peer = ~0u };
	u32 i;

	for (i = 0; share_of(op, send, i, &s); i++) {
		if (at < s.elems)
			return (struct element){ s.peer, at };
		at -= s.elems;
	}
	expect(false, "%s: element %llu behind the stream's end", netinc_coll_name(op->coll),
	       (unsigned long long)at);
	return (struct element){ ~0u, 0 };
}

static u64 stream_length(const struct netinc_op *op, bool send)
{
	struct netinc_share s;
	u64 n = 0;
	u32 i;

	for (i = 0; share_of(op, send, i, &s); i++)
		n += s.elems;
	return n;
}

/* What rank @from has to contribute to element @want of rank @to; peer ~0: nothing. */
static struct element expected(const struct netinc_op *op, u32 from, u32 to, struct element want)
{
	const struct element nothing = { ~0u, 0 };

	switch (op->coll) {
	case INC_COLL_ALLREDUCE:
	case INC_COLL_REDUCE:
		return (struct element) { from, want.e };
	case INC_COLL_REDUCE_SCATTER:
		return (struct element) { to, want.e };
	case INC_COLL_BROADCAST:
		return from == op->root ? (struct element) { from, want.e } : nothing;
	case INC_COLL_ALLGATHER:
	case INC_COLL_GATHER:
		return from == want.peer ? (struct element) { from, want.e } : nothing;
	case INC_COLL_SCATTER:
	case INC_COLL_ALLTOALL:
		if (from != (op->coll == INC_COLL_SCATTER ? op->root : want.peer))
			return nothing;
		return (struct element) { to, want.e };
	default:
		return nothing;
	}
}

static bool check_element(u32 to, u32 x)
{
	const struct netinc_op *op = &play.op[to];
	struct element want = element_at(op, false, play.b[to].recv + x), have, should;
	u32 from;

	for (from = 0; from < play.size; from++) {
		if (netinc_coll_chains(op->coll)) {
			should = (struct element){ ~0u, 0 };
			if (from == play.b[to].owner && from < to)
				should = (struct element){ from, want.e };
		} else {
			should = expected(op, from, to, want);
		}
		have = (struct element) { ~0u, 0 };
		if (play.b[from].bits & INC_F_PAYLOAD)
			have = element_at(&play.op[from], true, play.b[from].send + x);
		if (!expect(have.peer == should.peer && have.e == should.e,
			    "%s of %u: rank %u gets element %llu of share %u: rank %u gives %llu of %d, expected %llu of %d",
			    netinc_coll_name(op->coll), play.size, to, (unsigned long long)want.e,
			    want.peer, from, (unsigned long long)have.e, (int)have.peer,
			    (unsigned long long)should.e, (int)should.peer))
			return false;
	}
	return true;
}

static bool play_block(u64 idx)
{
	u32 r, x, size = netinc_reduce_elem_size(netinc_coll_wire_type(&play.op[0]));
	const struct netinc_block *b;

	for (r = 0; r < play.size; r++)
		netinc_coll_block(&play.op[r], idx, &play.b[r]);
	for (r = 0; r < play.size; r++) {
		b = &play.b[r];
		if (!expect(b->elems == play.b[0].elems && b->owner == play.b[0].owner &&
			    b->round == play.b[0].round &&
			    b->elems * size + (idx ? 0 : sizeof(struct inc_desc)) <=
					    play.block &&
			    (b->elems || !b->bits),
			    "rank %u sees block %llu of %s with %u elements, rank 0 with %u", r,
			    (unsigned long long)idx, netinc_coll_name(play.op[0].coll), b->elems,
			    play.b[0].elems))
			return false;
		if (!(b->bits & INC_F_WANT))
			continue;
		if (!netinc_coll_chains(play.op[r].coll) &&
		    !expect(b->recv == play.got[r], "%s: rank %u gets from %llu on, has %llu",
			    netinc_coll_name(play.op[r].coll), r, (unsigned long long)b->recv,
			    (unsigned long long)play.got[r]))
			return false;
		play.got[r] += b->elems;
		for (x = 0; x < b->elems; x++)
			if (!check_element(r, x))
				return false;
	}
	return true;
}

/* Positions only grow, by what is sent and got. */
static void check_positions(u32 r)
{
	struct netinc_op *op = &play.op[r];
	u64 idx, send = 0, recv = 0;
	struct netinc_block b;

	for (idx = 0; idx < op->blocks; idx++) {
		netinc_coll_block(op, idx, &b);
		if (!expect(b.send == send && b.recv >= recv,
			    "%s of %u, rank %u, block %llu: %llu sent, %llu expected; %llu got",
			    netinc_coll_name(op->coll), play.size, r, (unsigned long long)idx,
			    (unsigned long long)b.send, (unsigned long long)send,
			    (unsigned long long)b.recv))
			return;
		send += b.bits & INC_F_PAYLOAD ? b.elems : 0;
		recv = b.recv;
	}
	expect(send == stream_length(op, true), "%s of %u, rank %u: sends %llu of %llu",
	       netinc_coll_name(op->coll), play.size, r, (unsigned long long)send,
	       (unsigned long long)stream_length(op, true));
}

/* Where the wire changes elements a rank's own share comes back to it; elsewhere it stays here. */
static void check_own(u32 r)
{
	const struct netinc_op *op = &play.op[r];
	struct netinc_share s;
	bool own = false;
	u32 i;

	for (i = 0; share_of(op, false, i, &s); i++)
		own |= s.peer == r;
	expect(own == (op->wire != op->type), "%s of %u, rank %u: its share is %s",
	       netinc_coll_name(op->coll), play.size, r, own ? "sent" : "not sent");
}

static void random_counts(const struct netinc_op *like)
{
	u32 i, n = like->coll == INC_COLL_ALLTOALL ? play.size * play.size : play.size;

	for (i = 0; i < n; i++)
		play.counts[i] = ktap_random() % 3 ? ktap_below(MAX_ELEMS) : 0;
}

static void play_one(u8 coll)
{
	struct netinc_op op = { .coll = coll, .type = INC_TYPE_F32, .wire = INC_TYPE_F32,
				.count = ktap_below(MAX_ELEMS) };
	u64 idx;
	u32 r;

	play.size = 1 + ktap_below(MAX_SIZE);
	play.block = 64 + 16 * ktap_below(20);
	if (coll == INC_COLL_BARRIER)
		op = (struct netinc_op) { .coll = coll };
	if (netinc_coll_reduces(coll))
		op.op = INC_OP_SUM;
	if (netinc_coll_rooted(coll))
		op.root = ktap_below(play.size);
	if ((coll == INC_COLL_REDUCE_SCATTER || coll == INC_COLL_ALLGATHER ||
	     netinc_coll_asks_counts(coll)) &&
	    ktap_random() % 2) {
		op.mode = INC_MODE_COUNTS;
		op.counts = play.counts;
		random_counts(&op);
	}
	if (ktap_random() % 4 == 0 && op.type)
		/* all get what went over the wire, also of their own */
		op.wire = INC_TYPE_BF16;
	for (r = 0; r < play.size; r++) {
		play.op[r] = op;
		play.op[r].rank = r;
		play.op[r].size = play.size;
		play.op[r].before = play.before[r];
		play.got[r] = 0;
		netinc_coll_cut(&play.op[r], play.block);
		expect(play.op[r].blocks == play.op[0].blocks && play.op[r].blocks, "blocks");
	}
	for (idx = 0; idx < play.op[0].blocks; idx++)
		if (!play_block(idx))
			return;
	for (r = 0; r < play.size; r++) {
		check_positions(r);
		if (coll == INC_COLL_ALLTOALL || coll == INC_COLL_ALLGATHER)
			check_own(r);
		if (!netinc_coll_chains(coll))
			expect(play.got[r] == stream_length(&play.op[r], false),
			       "%s: rank %u got %llu of %llu", netinc_coll_name(coll), r,
			       (unsigned long long)play.got[r],
			       (unsigned long long)stream_length(&play.op[r], false));
		else
			expect(play.got[r] == r * op.count, "%s: rank %u got %llu",
			       netinc_coll_name(coll), r, (unsigned long long)play.got[r]);
	}
}

static void test_moves(void)
{
	u8 coll = (u8)(uintptr_t)ktap.arg;
	u32 i;

	for (i = 0; i < 300 && !ktap.failed; i++)
		play_one(coll);
}

#define MOVES(coll) \
	{ .name = "moves " #coll, .run = test_moves, .arg = (void *)(uintptr_t)INC_COLL_##coll }

static const struct ktap_test tests[] = {
	MOVES(ALLREDUCE), MOVES(REDUCE), MOVES(REDUCE_SCATTER), MOVES(BROADCAST), MOVES(ALLGATHER),
	MOVES(GATHER), MOVES(SCATTER), MOVES(ALLTOALL), MOVES(SCAN), MOVES(EXSCAN), MOVES(BARRIER),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
