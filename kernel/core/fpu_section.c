// SPDX-License-Identifier: GPL-2.0-only
/* FPU sections as lockdep knows them. */
#include "core/fpu_section.h"

struct lockdep_map netinc_fpu_section_map;

void netinc_fpu_section_init(void)
{
	static struct lock_class_key key;

	lockdep_init_map_wait(&netinc_fpu_section_map, "netinc_fpu_section", &key, 0, LD_WAIT_SPIN);
}
