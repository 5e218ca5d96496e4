// SPDX-License-Identifier: GPL-2.0-only
/* A group of more ranks than one packet has room for: where they are is said in several. */
#define SIZE	41u
#include "group_env.h"

#define PEERS	20u	/* in one packet */

static const struct inc_peers *next_peers(u32 rank)
{
	return (const void *)sent_at(__FILE__, __LINE__, INC_PKT_PEERS, rank)->body;
}

static void probe_from(u32 rank, u32 known)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_PROBE, rank);
	struct inc_probe body = { .srtt = 0 };

	pkt.len = sizeof(body);
	pkt.opseq = known;
	expect(!check(rank, INC_PKT_PROBE, 2000) && !rx_control(&pkt, &body, 2000), "PROBE");
}

static void expect_peers(const struct inc_peers *p, u32 first, u32 n)
{
	u32 i;

	expect(be32_to_cpu(p->first) == first && be32_to_cpu(p->n) == n, "%u from %u, expected %u",
	       be32_to_cpu(p->n), be32_to_cpu(p->first), n);
	for (i = 0; i < n; i++)
		expect(p->peer[i].addr.addr[3] == first + i, "rank %u is at %u", first + i,
		       p->peer[i].addr.addr[3]);
}

/* The first ones come with READY, others to who asks for them. */
static void test_peers(void)
{
	u32 i;

	begin();
	env.g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	for (i = 0; i < SIZE; i++)
		expect(!join(i, 0, 1000), "rank %u", i);
	expect(env.g.state == INC_GROUP_ACTIVE, "state %u", env.g.state);
	env.seen += SIZE - 1;
	for (i = 0; i < SIZE; i++) {
		expect_sent(INC_PKT_READY, i);
		expect_peers(next_peers(i), 0, PEERS);
	}
	probe_from(7, PEERS);
	expect_peers(next_peers(7), PEERS, PEERS);
	probe_from(7, 2 * PEERS);
	expect_peers(next_peers(7), 2 * PEERS, 1);
	probe_from(7, SIZE);
	end();
}

/* Of more ranks than trees only those at whose hosts the trees are have their keys. */
static void test_keys(void)
{
	const struct inc_ready *r;
	u32 i;

	begin();
	env.g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	env.g.cfg.spread = true;
	for (i = 0; i < SIZE; i++)
		expect(!join(i, 0, 1000), "rank %u", i);
	env.seen += SIZE - 1;
	for (i = 0; i < SIZE; i++) {
		r = (const void *)expect_sent(INC_PKT_READY, i)->body;
		expect(be16_to_cpu(r->trees) == W, "%u trees", be16_to_cpu(r->trees));
		expect(!!(r->tree_key[0] | r->tree_key[1]) == (i && i < W), "the key of rank %u",
		       i);
		expect_sent(INC_PKT_PEERS, i);
	}
	end();
}

static const struct ktap_test tests[] = { KTAP(test_peers), KTAP(test_keys) };

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
