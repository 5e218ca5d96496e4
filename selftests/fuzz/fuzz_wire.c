// SPDX-License-Identifier: GPL-2.0-only
/* The parser on anything: it reads what is there only, and can put together what it accepts. */
#include "reader.h"
#include "siphash.h"

static void check_error(const u8 *body)
{
	struct inc_error_pkt one, two;
	struct netinc_error e, again;

	memcpy(&one, body, sizeof(one));
	netinc_error_parse(&one, &e);
	netinc_error_build(&two, &e);
	memset(&again, 0, sizeof(again));
	netinc_error_parse(&two, &again);
	netinc_assert(e.block == again.block && e.opseq == again.opseq &&
		      e.resume == again.resume && e.code == again.code &&
		      e.rank[0] == again.rank[0] && e.rank[1] == again.rank[1]);
	netinc_assert(!memcmp(e.desc, again.desc, sizeof(e.desc)));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct netinc_pkt pkt;
	struct inc_hdr h;
	int err;

	memset(&pkt, 0xa5, sizeof(pkt));
	err = netinc_parse(data, size, &pkt);
	netinc_assert(err <= 0 && err > -__INC_C_MAX);
	if (err)
		return 0;
	netinc_assert(size == sizeof(h) + netinc_body_len(&pkt));
	netinc_assert(pkt.span && pkt.type && pkt.type <= INC_PKT_MAX);
	netinc_assert(!netinc_is_data(pkt.type) || !pkt.part || (pkt.flags & INC_F_PART));
	netinc_assert(pkt.len >= netinc_min_body(pkt.type));
	netinc_build(&h, &pkt);
	netinc_assert(!memcmp(&h, data, sizeof(h)));
	if (pkt.type == INC_PKT_ERROR || pkt.type == INC_PKT_ABORT)
		check_error(data + sizeof(h));
	return 0;
}
