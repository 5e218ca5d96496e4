/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What nodes fold: types and operations. A node may lack some of them; what any node of a tree
 * lacks, none of its groups does.
 */
#ifndef NETINC_ENGINE_KINDS_H
#define NETINC_ENGINE_KINDS_H

#include "wire.h"

/* Bit i of a word: number i of enum inc_type, or enum inc_op. */
struct netinc_kinds {
	u32 types;
	u32 ops;
};

/* All that there is to fold; a node folds sums of what ranks have weighted (INC_OP_WSUM). */
#define NETINC_ALL_TYPES	((1u << __INC_TYPE_MAX) - 2)
#define NETINC_ALL_OPS		((1u << INC_OP_WSUM) - 2)

static_assert(__INC_TYPE_MAX < 32 && __INC_OP_MAX < 32);

static inline bool netinc_kinds_any(struct netinc_kinds k)
{
	return k.types | k.ops;
}

static inline bool netinc_kinds_same(struct netinc_kinds a, struct netinc_kinds b)
{
	return a.types == b.types && a.ops == b.ops;
}

static inline struct netinc_kinds netinc_kinds_or(struct netinc_kinds a, struct netinc_kinds b)
{
	return (struct netinc_kinds){ a.types | b.types, a.ops | b.ops };
}

static inline struct netinc_kinds netinc_kinds_and(struct netinc_kinds a, struct netinc_kinds b)
{
	return (struct netinc_kinds){ a.types & b.types, a.ops & b.ops };
}

/* Those of @a that are not in @b. */
static inline struct netinc_kinds netinc_kinds_less(struct netinc_kinds a, struct netinc_kinds b)
{
	return (struct netinc_kinds){ a.types & ~b.types, a.ops & ~b.ops };
}

/*
 * Does who lacks @k not fold this type, or not by this operation? Elements that are only moved have
 * none.
 */
static inline bool netinc_kinds_prevent(struct netinc_kinds k, u8 type, u8 op)
{
	return op != INC_OP_NONE && ((k.types >> type | k.ops >> op) & 1);
}

static inline struct netinc_kinds netinc_kinds_parse(const struct inc_kinds *w)
{
	return (struct netinc_kinds){ be32_to_cpu(w->types), be32_to_cpu(w->ops) };
}

static inline struct inc_kinds netinc_kinds_build(struct netinc_kinds k)
{
	return (struct inc_kinds){ cpu_to_be32(k.types), cpu_to_be32(k.ops) };
}

/* As REFUSE says it. */
static inline u64 netinc_kinds_detail(struct netinc_kinds k)
{
	return k.types | (u64)k.ops << 32;
}

#endif
