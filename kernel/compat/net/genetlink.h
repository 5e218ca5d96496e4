/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Generic netlink's table of commands, one entry for each way to call one. One without a policy
 * takes no attributes, but the kernel refuses them only in tables of both ways, which kernels
 * before 6.2 have: for the others the policy that refuses all is filled in here. Tables of both
 * ways have one policy for them: where do and dump have one each, it is that of do.
 */
#ifndef NETINC_COMPAT_NET_GENETLINK_H
#define NETINC_COMPAT_NET_GENETLINK_H

#include_next <net/genetlink.h>

#include <linux/bug.h>

/* Of a multicast group: what kernels before 6.7, without later mends, have instead. */
#ifndef GENL_MCAST_CAP_NET_ADMIN
#define GENL_MCAST_CAP_NET_ADMIN	GENL_UNS_ADMIN_PERM
#endif

#ifdef NETINC_HAVE_GENL_SPLIT_OPS	/* Kbuild has looked */

/* Once, before the family is registered. */
static inline void netinc_genl_set_ops(struct genl_family *family, const struct genl_split_ops *ops,
				       u8 n)
{
	static const struct nla_policy nothing[] = { {}, { .type = NLA_REJECT } };
	static struct genl_split_ops filled[32];
	u8 i;

	if (WARN_ON_ONCE(n > ARRAY_SIZE(filled)))
		return;
	for (i = 0; i < n; i++) {
		filled[i] = ops[i];
		if (ops[i].policy)
			continue;
		filled[i].policy = nothing;
		filled[i].maxattr = ARRAY_SIZE(nothing) - 1;
	}
	family->split_ops = filled;
	family->n_split_ops = n;
}

#else

struct genl_split_ops {
	int (*doit)(struct sk_buff *skb, struct genl_info *info);
	int (*dumpit)(struct sk_buff *skb, struct netlink_callback *cb);
	const struct nla_policy *policy;
	unsigned int maxattr;
	u8 cmd;
	u8 flags;
};

/* Before a dump without a policy: it does not take what the command's other form does. */
static inline int netinc_genl_takes_none(struct netlink_callback *cb)
{
	if (!nlmsg_attrlen(cb->nlh, GENL_HDRLEN))
		return 0;
	NL_SET_ERR_MSG(cb->extack, "expected no attributes: this lists all there is");
	return -EINVAL;
}

/* Once, before the family is registered. Those of one command stand side by side. */
static inline void netinc_genl_set_ops(struct genl_family *family, const struct genl_split_ops *ops,
				       u8 n)
{
	static struct genl_ops merged[32];
	struct genl_ops *op = NULL;

	family->ops = merged;
	family->n_ops = 0;
	for (; n; n--, ops++) {
		if (!op || op->cmd != ops->cmd) {
			if (WARN_ON_ONCE(family->n_ops == ARRAY_SIZE(merged)))
				return;
			op = &merged[family->n_ops++];
			op->cmd = ops->cmd;
		}
		op->flags |= ops->flags & ~(GENL_CMD_CAP_DO | GENL_CMD_CAP_DUMP);
		if (ops->doit)
			op->doit = ops->doit;
		if (ops->dumpit) {
			op->dumpit = ops->dumpit;
			op->start = ops->policy ? NULL : netinc_genl_takes_none;
		}
		if (!op->policy) {
			op->policy = ops->policy;
			op->maxattr = ops->maxattr;
		}
	}
}

#endif

#endif
