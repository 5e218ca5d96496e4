/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of this CPU, which is the only one, for test_fold.c. */
#ifndef INC_STUB_PERCPU_H
#define INC_STUB_PERCPU_H

#include <stdlib.h>

#define __percpu

#define PCPU_MIN_UNIT_SIZE		(32 << 10)

#define alloc_percpu(type)		((type *)calloc(1, sizeof(type)))
#define free_percpu(p)			free(p)
#define this_cpu_ptr(p)			(p)
#define per_cpu_ptr(p, cpu)		((void)(cpu), (p))
#define for_each_possible_cpu(cpu)	\
	for (int *cpu_ = &(cpu), done_ = *cpu_ = 0; !done_; done_ = 1)

#endif
