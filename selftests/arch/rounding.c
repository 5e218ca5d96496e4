// SPDX-License-Identifier: GPL-2.0-only
/*
 * Computes for ever with FPCR set to round upward and to flush subnormals: who reduces in softirqs
 * on top of it must not do so, too. Ends, with status 1, when FPCR has changed.
 */
#include <stdint.h>

#define UPWARD_FLUSHED	0x1400000u	/* FZ, and RMode "towards plus infinity" */

int main(void)
{
	uint64_t fpcr = UPWARD_FLUSHED;

	asm volatile("msr fpcr, %0" : : "r" (fpcr));
	while (fpcr == UPWARD_FLUSHED)
		asm volatile("mrs %0, fpcr" : "=r" (fpcr));
	return 1;
}
