// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SipHash-2-4 that tests and simulator link in place of the kernel's: the vectors of its
 * authors.
 */
#include "siphash.h"

#include "ktap.h"

/* Key 00 01 .. 0f, message 00 01 .. of that many bytes. */
static const struct {
	u32 len;
	u64 hash;
} vectors[] = {
	{ 0, 0x726fdb47dd0e0e31ull }, { 1, 0x74f839c593dc67fdull }, { 2, 0x0d6c8009d9a94f5aull },
	{ 3, 0x85676696d7fb7e2dull }, { 4, 0xcf2794e0277187b7ull }, { 5, 0x18765564cd99a68dull },
	{ 6, 0xcbc9466e58fee3ceull }, { 7, 0xab0200f58b01d137ull }, { 8, 0x93f5f5799a932462ull },
	{ 15, 0xa129ca6149be45e5ull },
};

static void test_vectors(void)
{
	static const u64 key[2] = { 0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull };
	u8 message[16];
	u64 hash;
	u32 i;

	for (i = 0; i < sizeof(message); i++)
		message[i] = i;
	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		hash = netinc_siphash(message, vectors[i].len, key);
		expect(hash == vectors[i].hash, "%u bytes: %#llx, expected %#llx", vectors[i].len,
		       (unsigned long long)hash, (unsigned long long)vectors[i].hash);
	}
}

static const struct ktap_test tests[] = { KTAP(test_vectors) };

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
