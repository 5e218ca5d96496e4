/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The services that fpu.c needs from its environment: simd_cpu_features() gives NETINC_CPU_ bits,
 * simd_begin() / simd_end() are an FPU section, simd_tick() counts its calls.
 *
 * There are five environments: a kernel on x86-64; user-mode Linux on x86-64, where FPU sections
 * are dummies and there are no CPU feature words to trust, so the CPU is asked; a kernel on arm64;
 * a kernel on anything else, which has no SIMD variants; and userspace.
 */
#ifndef NETINC_REDUCE_SIMD_H
#define NETINC_REDUCE_SIMD_H

#include "reduce/reduce.h"

/* CPU features */

#if defined(__KERNEL__) && defined(CONFIG_X86_64) && !defined(CONFIG_UML)

#include <asm/cpufeature.h>
#include <asm/fpu/api.h>

/* The instruction sets of this CPU whose registers the kernel saves. */
static inline unsigned int simd_cpu_features(void)
{
	const u64 ymm = XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, zmm = ymm | XFEATURE_MASK_AVX512;
	unsigned int features = 0;

	if (!boot_cpu_has(X86_FEATURE_OSXSAVE) || !cpu_has_xfeatures(ymm, NULL))
		return 0;
	if (boot_cpu_has(X86_FEATURE_AVX2))
		features |= NETINC_CPU_AVX2;
	if (boot_cpu_has(X86_FEATURE_F16C))
		features |= NETINC_CPU_F16C;
	if (boot_cpu_has(X86_FEATURE_AVX512F) && boot_cpu_has(X86_FEATURE_AVX512BW) &&
	    boot_cpu_has(X86_FEATURE_AVX512DQ) && boot_cpu_has(X86_FEATURE_AVX512VL) &&
	    cpu_has_xfeatures(zmm, NULL))
		features |= NETINC_CPU_AVX512;
	return features;
}

#elif defined(__x86_64__)

static inline void simd_cpuid(u32 leaf, u32 *regs)
{
	regs[0] = leaf;
	regs[2] = 0;
	asm volatile("cpuid" : "+a" (regs[0]), "=b" (regs[1]), "+c" (regs[2]), "=d" (regs[3]));
}

static inline unsigned int simd_cpu_features(void)
{
	const u32 osxsave_avx = 1u << 27 | 1u << 28, f16c = 1u << 29;		/* leaf 1, ecx */
	const u32 avx2 = 1u << 5;						/* leaf 7, ebx */
	const u32 avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;		/* F, DQ, BW, VL */
	/* xcr0: what the OS saves */
	const u32 ymm = 0x6, zmm = 0xe6;
	u32 regs[4], xcr0, xcr0_high, has_f16c;
	unsigned int features = 0;

	simd_cpuid(0, regs);
	if (regs[0] < 7)
		return 0;
	simd_cpuid(1, regs);
	if ((regs[2] & osxsave_avx) != osxsave_avx)
		return 0;
	has_f16c = regs[2] & f16c;
	asm volatile("xgetbv" : "=a" (xcr0), "=d" (xcr0_high) : "c" (0));
	if ((xcr0 & ymm) != ymm)
		return 0;
	simd_cpuid(7, regs);
	if (regs[1] & avx2)
		features |= NETINC_CPU_AVX2;
	if (has_f16c)
		features |= NETINC_CPU_F16C;
	if ((regs[1] & avx512) == avx512 && (xcr0 & zmm) == zmm)
		features |= NETINC_CPU_AVX512;
	return features;
}

#elif defined(__AARCH64EL__) && !defined(NETINC_HAVE_NEON_BUFFER)

/* Every CPU has it; the kernel's option can be off. */
static inline unsigned int simd_cpu_features(void)
{
#ifdef __KERNEL__
	if (!IS_ENABLED(CONFIG_KERNEL_MODE_NEON))
		return 0;
#endif
	return NETINC_CPU_NEON;
}

#else

/* On arm64, too, where a section would have to bring memory for its registers. */
static inline unsigned int simd_cpu_features(void)
{
	return 0;
}

#endif

/* FPU sections */

#ifndef __KERNEL__

static inline bool simd_begin(void)
{
	return true;
}

static inline void simd_end(void)
{
}

#elif defined(CONFIG_X86_64)

#include <asm/fpu/api.h>

static inline bool simd_begin(void)
{
	if (!irq_fpu_usable())
		return false;
	kernel_fpu_begin();
	return true;
}

static inline void simd_end(void)
{
	kernel_fpu_end();
}

#elif defined(CONFIG_ARM64) && defined(CONFIG_KERNEL_MODE_NEON) && !defined(NETINC_HAVE_NEON_BUFFER)

#include <asm/neon.h>
#include <asm/simd.h>

/*
 * The kernel saves what a task has in FPCR, but leaves it in force: a program that rounds upward,
 * or flushes subnormals, would do so to others' sums.
 */
static inline bool simd_begin(void)
{
	if (!may_use_simd())
		return false;
	kernel_neon_begin();
	write_sysreg(0, fpcr);
	return true;
}

static inline void simd_end(void)
{
	kernel_neon_end();
}

#else

static inline bool simd_begin(void)
{
	return false;
}

static inline void simd_end(void)
{
}

#endif

/* Counting */

#ifdef __KERNEL__

#include <linux/atomic.h>

static inline unsigned int simd_tick(void)
{
	static atomic_t ticks;

	return atomic_inc_return(&ticks);
}

#else

static inline unsigned int simd_tick(void)
{
	static unsigned int ticks;

	return __atomic_add_fetch(&ticks, 1, __ATOMIC_RELAXED);
}

#endif

#endif
