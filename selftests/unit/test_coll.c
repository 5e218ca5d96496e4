// SPDX-License-Identifier: GPL-2.0-only
/* Collectives: every element is in one block, nonsense is refused, signatures differ. */
#include "engine/coll.h"
#include "reduce/reduce.h"

#include "ktap.h"
#include "siphash.h"

static struct netinc_op allreduce(u64 count)
{
	return (struct netinc_op){ .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32,
				   .wire = INC_TYPE_F32, .op = INC_OP_SUM, .count = count };
}

static struct netinc_op barrier(void)
{
	return (struct netinc_op) { .coll = INC_COLL_BARRIER };
}

/* The elements of block @idx: [*first, *first + return value). */
static u32 range(const struct netinc_op *op, u64 idx, u64 *first)
{
	struct netinc_block b;

	netinc_coll_block(op, idx, &b);
	*first = b.send;
	return b.elems;
}

/* Blocks follow one another, none is empty but an empty operation's, the last ends at count. */
static void cover(u64 count, u32 block)
{
	struct netinc_op op = allreduce(count);
	u64 next = 0, first, idx;
	u32 n = 0, room;

	netinc_coll_cut(&op, block);
	for (idx = 0; idx < op.blocks; idx++) {
		n = range(&op, idx, &first);
		room = (block - (idx ? 0 : sizeof(struct inc_desc))) / 4;
		if (!expect(n <= room && (n || !count) && first == next &&
			    (idx + 1 == op.blocks || n == room),
			    "%llu elements in blocks of %u: block %llu is [%llu, + %u), expected to begin at %llu",
			    (unsigned long long)count, block, (unsigned long long)idx,
			    (unsigned long long)first, n, (unsigned long long)next))
			return;
		next += n;
	}
	expect(next == count, "%llu elements in blocks of %u: %llu are covered",
	       (unsigned long long)count, block, (unsigned long long)next);
	expect(!range(&op, op.blocks, &first), "a block after the last has elements");
}

static void test_cover(void)
{
	static const u32 sizes[] = { INC_MIN_BLOCK, 80, 1408, 1424, 8912, INC_MAX_BLOCK };
	u32 s, head, full, i;
	u64 count;

	for (s = 0; s < ARRAY_SIZE(sizes); s++) {
		head = (sizes[s] - sizeof(struct inc_desc)) / 4;
		full = sizes[s] / 4;
		for (count = 0; count < 3 * full; count++)
			cover(count, sizes[s]);
		for (i = 0; i < 200; i++) {
			count = head + ktap_below(100000) * full;
			cover(count - 1, sizes[s]);
			cover(count, sizes[s]);
			cover(count + 1, sizes[s]);
		}
	}
}

/* Too many blocks to walk through: the ends, and random ones in between. */
static void test_largest(void)
{
	struct netinc_op op = allreduce(INC_MAX_COUNT);
	u32 head = 8, full = 16, i;
	u64 first, idx;

	netinc_coll_cut(&op, INC_MIN_BLOCK);
	expect(op.blocks == 1 + (INC_MAX_COUNT - head + full - 1) / full,
	       "2^32 - 1 elements have %llu blocks", (unsigned long long)op.blocks);
	expect(range(&op, 0, &first) == head && !first, "the first block");
	expect(range(&op, op.blocks - 1, &first) == (INC_MAX_COUNT - head) % full &&
	       first + (INC_MAX_COUNT - head) % full == INC_MAX_COUNT, "the last block");
	for (i = 0; i < 1000; i++) {
		idx = 1 + ktap_below(op.blocks - 2);
		expect(range(&op, idx, &first) == full && first == head + (idx - 1) * full,
		       "block %llu begins at %llu", (unsigned long long)idx,
		       (unsigned long long)first);
	}
}

static struct netinc_op block_floats(bool deep, u64 count)
{
	return (struct netinc_op){ .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_MXF4E2M1,
				   .wire = INC_TYPE_MXF4E2M1, .op = INC_OP_MAX, .deep = deep,
				   .count = count };
}

/*
 * Elements longer than what a descriptor leaves of a block, and accumulators longer than a block:
 * the first block may be empty, and no other one is.
 */
static void test_long_elements(void)
{
	static const struct {
		u32 block, head, full;
		bool deep, fits;
	} cases[] = {
		{ 64, 1, 3, false, false }, { 128, 5, 7, false, false }, { 64, 0, 1, true, false },
		{ 144, 0, 1, true, true }, { 160, 0, 1, true, true }, { 176, 1, 1, true, true },
		{ 1408, 10, 10, true, true }, { 1408, 80, 82, false, true },
	};
	struct netinc_op op;
	u64 first;
	u32 i;

	netinc_reduce_init(0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		op = block_floats(cases[i].deep, 1000);
		netinc_coll_cut(&op, cases[i].block);
		expect(op.head == cases[i].head && op.full == cases[i].full &&
		       range(&op, 0, &first) == op.head && range(&op, 1, &first) == op.full,
		       "blocks of %u: %u and %u elements", cases[i].block, op.head, op.full);
		expect(op.blocks == 1 + DIV_ROUND_UP(1000 - op.head, op.full),
		       "blocks of %u: %llu", cases[i].block, (unsigned long long)op.blocks);
		expect(netinc_coll_fits(&op, cases[i].block) == cases[i].fits,
		       "blocks of %u: it says otherwise", cases[i].block);
	}
	op = block_floats(false, 1);
	op.coll = INC_COLL_BROADCAST;
	op.op = INC_OP_NONE;
	expect(netinc_coll_fits(&op, INC_MIN_BLOCK), "what is only moved has no accumulators");
	op = allreduce(1);
	expect(netinc_coll_fits(&op, INC_MIN_BLOCK), "f32 do not fit");
}

static void only_block(struct netinc_op op, u32 elems, u16 bits, const char *what)
{
	struct netinc_block b;

	netinc_coll_cut(&op, 1408);
	netinc_coll_block(&op, 0, &b);
	expect(op.blocks == 1, "%s has other than one block", what);
	expect(b.elems == elems && b.bits == bits, "%s: %u elements, bits %#x", what, b.elems,
	       b.bits);
}

static void test_empty(void)
{
	only_block(barrier(), 0, 0, "a barrier");
	only_block(allreduce(0), 0, 0, "an empty allreduce");
	only_block(allreduce(1), 1, INC_F_PAYLOAD | INC_F_WANT, "an allreduce of one");
}

static void check(struct netinc_op op, int expected, const char *what)
{
	int err;

	op.size = 4;
	err = netinc_coll_check(&op);

	expect(err == expected, "%s: %d, expected %d", what, err, expected);
}

static void test_check(void)
{
	struct netinc_op op = allreduce(1);

	netinc_reduce_init(0);
	check(op, 0, "allreduce");
	check(allreduce(0), 0, "of nothing");
	check(allreduce(INC_MAX_COUNT), 0, "of 2^32 - 1");
	check(allreduce(INC_MAX_COUNT + 1), -EOVERFLOW, "of 2^32");
	check(barrier(), 0, "barrier");
	op.type = INC_TYPE_NONE;
	check(op, -EINVAL, "no type");
	op.type = 255;
	check(op, -EINVAL, "unknown type");
	op = allreduce(1);
	op.op = INC_OP_NONE;
	check(op, -EINVAL, "no operation");
	op.op = 255;
	check(op, -EINVAL, "unknown operation");
	op = allreduce(1);
	op.op = INC_OP_BXOR;
	check(op, -EOPNOTSUPP, "what makes no sense for the type");
	op = allreduce(1);
	op.wire = INC_TYPE_I32;
	check(op, -EOPNOTSUPP, "a wire type that the type cannot be converted to");
	op = allreduce(1);
	op.mode = INC_MODE_SATURATE;
	check(op, -EOPNOTSUPP, "a saturating sum of f32");
	op.mode = INC_MODE_COUNTS;
	check(op, -EINVAL, "an allreduce with counts per rank");
	op.mode = INC_MODE_COUNTS_PHASE;
	check(op, -EINVAL, "an exchange of counts by itself");
	op.mode = INC_MODE_PART;
	check(op, 0, "a part of an allreduce");
	op.coll = INC_COLL_REDUCE_SCATTER;
	check(op, -EINVAL, "a part of what has shares");
	op = (struct netinc_op){ .coll = INC_COLL_BARRIER, .size = op.size,
				 .mode = INC_MODE_PART };
	check(op, -EINVAL, "a part of a barrier");
	op = allreduce(0x40000000);
	op.coll = INC_COLL_REDUCE_SCATTER;
	check(op, -EOVERFLOW, "4 shares of 2^30");
	op.count--;
	check(op, 0, "4 shares that fit a buffer");
	op.coll = INC_COLL_ALLTOALL;
	check(op, -EINVAL, "an alltoall with an operation");
	op.op = INC_OP_NONE;
	check(op, 0, "an alltoall");
	op.coll = INC_COLL_BROADCAST;
	op.root = 3;
	check(op, 0, "a broadcast from the last rank");
	op.root = 4;
	check(op, -EINVAL, "a broadcast from nobody");
	op = allreduce(1);
	op.root = 1;
	check(op, -EINVAL, "an allreduce with a root");
	op = barrier();
	op.count = 1;
	check(op, -EINVAL, "a barrier with elements");
	op = barrier();
	op.coll = INC_COLL_LEAVE;
	check(op, -EOPNOTSUPP, "leave");
	op.coll = INC_COLL_MAX + 1;
	check(op, -EOPNOTSUPP, "unknown collective");
	op.coll = 0;
	check(op, -EOPNOTSUPP, "no collective");
}

/* What makes two operations different makes their signatures different. */
static void test_sig(void)
{
	struct netinc_op op = allreduce(1000);
	u32 sig = netinc_coll_sig(&op);

	op.count++;
	expect(netinc_coll_sig(&op) != sig, "count");
	op = allreduce(1000);
	op.type = INC_TYPE_I32;
	expect(netinc_coll_sig(&op) != sig, "type");
	op = allreduce(1000);
	op.op = INC_OP_MAX;
	expect(netinc_coll_sig(&op) != sig, "operation");
	op = allreduce(1000);
	op.seq++;
	expect(netinc_coll_sig(&op) != sig, "sequence number");
	op = allreduce(1000);
	op.first = 1ull << 32;
	expect(netinc_coll_sig(&op) != sig, "first block");
	op = allreduce(1000);
	expect(netinc_coll_sig(&op) == sig, "the same");
}

static void test_desc(void)
{
	struct netinc_op op = allreduce(0x0102030405060708ull);
	struct inc_desc desc;
	const u8 *bytes = (const u8 *)&desc;

	memset(&desc, 0xff, sizeof(desc));
	op.seq = 0x11121314;
	op.mode = INC_MODE_SATURATE;
	netinc_coll_desc(&op, &desc);
	expect(bytes[0] == INC_COLL_ALLREDUCE && bytes[1] == INC_TYPE_F32 &&
	       bytes[2] == INC_OP_SUM && bytes[3] == INC_TYPE_F32 &&
	       bytes[4] == INC_MODE_SATURATE && !bytes[5] && !bytes[6] && !bytes[7],
	       "the first bytes");
	expect(bytes[12] == 0x11 && bytes[15] == 0x14 && bytes[16] == 1 && bytes[23] == 8 &&
	       !desc.counts_hash,
	       "the numbers");
}

/* Fixed values, so that machines of either byte order have the same. */
static void test_counts_hash(void)
{
	static const struct {
		u32 ranks;
		u64 hash;
	} want[] = { { 1, 0x7bf55e51b22b9698 }, { 32, 0xc4a3702634ab2f0c },
		     { 33, 0xc92995c06c76b8c8 }, { 100, 0xb24febcd360656cd } };
	u32 counts[100], i;

	for (i = 0; i < ARRAY_SIZE(counts); i++)
		counts[i] = i * 0x01020304;
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		struct netinc_op op = allreduce(1000);
		struct inc_desc desc;

		op.coll = INC_COLL_ALLGATHER;
		op.counts = counts;
		op.size = want[i].ranks;
		netinc_coll_desc(&op, &desc);
		expect(be64_to_cpu(desc.counts_hash) == want[i].hash, "%u ranks: %llx", op.size,
		       (unsigned long long)be64_to_cpu(desc.counts_hash));
	}
}

/* Only where ranks do not know all counts they are exchanged. */
static void test_asks_counts(void)
{
	u8 coll;

	for (coll = 0; coll < __INC_COLL_MAX; coll++)
		expect(netinc_coll_asks_counts(coll) ==
		       (coll == INC_COLL_GATHER || coll == INC_COLL_SCATTER ||
			coll == INC_COLL_ALLTOALL), "%s", netinc_coll_name(coll));
}

static const struct ktap_test tests[] = {
	KTAP(test_cover), KTAP(test_largest), KTAP(test_long_elements), KTAP(test_empty),
	KTAP(test_check), KTAP(test_sig), KTAP(test_desc), KTAP(test_counts_hash),
	KTAP(test_asks_counts),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
