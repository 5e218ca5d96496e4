// SPDX-License-Identifier: GPL-2.0-only
/*
 * FPU sections and the choice of instruction sets, with two knobs: fpu_deny_nth refuses every n-th
 * section, because otherwise no test would ever see a softirq that arrives on top of somebody
 * else's FPU section; reduce_variant limits the kernels to one instruction set and those below it.
 */
#include "reduce/simd.h"

unsigned int netinc_fpu_deny_nth;
static unsigned int features_allowed = ~0u;

bool netinc_fpu_begin(void)
{
	unsigned int nth = READ_ONCE(netinc_fpu_deny_nth);

	if (unlikely(nth) && simd_tick() % nth == 0)
		return false;
	return simd_begin();
}

void netinc_fpu_end(void)
{
	simd_end();
}

unsigned int netinc_cpu_features(void)
{
	return simd_cpu_features() & features_allowed;
}

#ifdef __KERNEL__

#include <linux/module.h>
#include <linux/printk.h>

/* The instruction sets that each value of the parameter needs, and those that it allows. */
static const struct choice {
	const char *name;
	unsigned int needs, allows;
} choices[] = {
	{ "auto", 0, ~0u },
	{ "generic", 0, 0 },
	{ "avx2", NETINC_NEEDS_AVX2, NETINC_NEEDS_AVX2 },
	{ "avx512", NETINC_NEEDS_AVX512, NETINC_NEEDS_AVX2 | NETINC_NEEDS_AVX512 },
	{ "neon", NETINC_CPU_NEON, NETINC_CPU_NEON },
};

static const struct choice *chosen = &choices[0];

static int set_variant(const char *val, const struct kernel_param *kp)
{
	const struct choice *c;

	for (c = choices; c < choices + ARRAY_SIZE(choices); c++)
		if (sysfs_streq(val, c->name))
			break;
	if (c == choices + ARRAY_SIZE(choices)) {
		pr_err("inc: reduce_variant=%s: expected auto, generic, avx2, avx512 or neon\n",
		       val);
		return -EINVAL;
	}
	if (c->needs & ~simd_cpu_features()) {
		pr_err("inc: reduce_variant=%s: this CPU does not have it, expected auto or generic\n",
		       c->name);
		return -EOPNOTSUPP;
	}
	features_allowed = c->allows;
	chosen = c;
	return 0;
}

static int get_variant(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", chosen->name);
}

static const struct kernel_param_ops variant_ops = {
	.set = set_variant,
	.get = get_variant,
};

/*
 * Read-only once loaded: a variant is chosen by netinc_reduce_init() and the same for all groups.
 */
module_param_cb(reduce_variant, &variant_ops, NULL, 0444);
MODULE_PARM_DESC(reduce_variant,
		 "Reduction kernels to use: auto (default), generic, avx2, avx512 or neon");

module_param_named(fpu_deny_nth, netinc_fpu_deny_nth, uint, 0644);
MODULE_PARM_DESC(fpu_deny_nth,
		 "Debug: refuse every n-th FPU section, so that the generic kernels run (0: never)");

#endif
