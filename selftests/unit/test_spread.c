// SPDX-License-Identifier: GPL-2.0-only
/* How blocks are spread over trees: evenly, in runs, and a slot belongs to one tree for ever. */
#include "engine/endpoint.h"

#include "ktap.h"

static void test_one(void)
{
	struct netinc_spread s = { 0 };

	expect(!netinc_tree_of(&s, 12345) && netinc_tree_run(&s, 12345, 77) == 77, "before READY");
	netinc_spread_init(&s, 1, 64);
	expect(!netinc_tree_of(&s, 12345) && netinc_tree_run(&s, 12345, 77) == 77, "one tree");
}

/* Every window of blocks has its share for each tree, the largest at most twice the smallest. */
static void check_spread(u32 trees, u32 window, u64 first)
{
	u32 n[INC_MAX_TREES] = { 0 }, i, t, run, least = ~0u, most = 0;
	struct netinc_spread s;

	netinc_spread_init(&s, trees, window);
	for (i = 0; i < window; i++) {
		t = netinc_tree_of(&s, first + i);
		expect(t < trees, "block %u is tree %u's of %u", i, t, trees);
		n[t % INC_MAX_TREES]++;
		expect(t == netinc_tree_of(&s, first + i + 2 * window),
		       "slot of block %u, %u trees", i, trees);
		run = netinc_tree_run(&s, first + i, window);
		expect(run && run <= NETINC_LONGEST_RUN &&
		       t == netinc_tree_of(&s, first + i + run - 1),
		       "a run of %u at block %u, %u trees", run, i, trees);
	}
	for (t = 0; t < trees; t++) {
		least = min(least, n[t]);
		most = max(most, n[t]);
	}
	expect(least && most <= 2 * least, "%u trees, W %u: %u to %u blocks", trees, window, least,
	       most);
}

static void test_even(void)
{
	u32 trees, window;

	for (window = INC_MIN_WINDOW; window <= INC_MAX_WINDOW; window *= 2) {
		for (trees = 2; trees <= INC_MAX_TREES && trees <= window; trees++) {
			check_spread(trees, window, 0);
			check_spread(trees, window, (1ull << 32) - window / 2);
			check_spread(trees, window, 0ull - window / 2);
		}
	}
}

/* Sets of small numbers: how many longs they take. */
static void test_bits_longs(void)
{
	u32 bits = 8 * sizeof(long), i;

	for (i = 0; i < 8 * bits; i++)
		expect(netinc_bits_longs(i) == (i + bits - 1) / bits, "%u bits take %u longs", i,
		       netinc_bits_longs(i));
}

static const struct ktap_test tests[] = {
	KTAP(test_one), KTAP(test_even), KTAP(test_bits_longs),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
