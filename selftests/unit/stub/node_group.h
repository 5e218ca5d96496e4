/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Of node/node_group.h, core/fpu_section.h and core/skb_contig.h what node/fold_elements.c uses,
 * for test_fold.c.
 */
#ifndef INC_STUB_NODE_GROUP_H
#define INC_STUB_NODE_GROUP_H

#include <errno.h>

#include "engine/group.h"

#define ilog2(x)	(31 - __builtin_clz(x))

struct netinc_fpu_section {
	bool denied;
};

struct netinc_node_group {
	struct netinc_group grp;
	struct netinc_fpu_section section;
};

/* Bytes, of which those before @cut and those behind it do not lie in one piece. */
struct sk_buff {
	u8 *data;
	u32 len, cut;
	bool lost;		/* its header has said more than is there */
};

bool netinc_fpu_section_enter(struct netinc_fpu_section *s);
void netinc_fpu_section_leave(struct netinc_fpu_section *s);
const void *netinc_skb_contig(const struct sk_buff *skb, u32 off, u32 len);
int skb_copy_bits(const struct sk_buff *skb, u32 off, void *to, u32 len);

int netinc_fold_init(void);
void netinc_fold_fini(void);
void netinc_fold_elements(struct netinc_node_group *g, const struct netinc_slot *slot, u32 part,
			  void *dst);

#endif
