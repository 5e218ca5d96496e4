// SPDX-License-Identifier: GPL-2.0-only
/* The engine's MAC, from the kernel's own SipHash. */
#include <linux/siphash.h>
#include "engine/engine.h"

u64 netinc_siphash(const void *data, size_t len, const u64 key[2])
{
	const siphash_key_t k = { .key = { key[0], key[1] } };

	return siphash(data, len, &k);
}
