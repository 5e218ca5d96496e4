// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits over generic netlink: those of the namespace, then those of every user that is known in
 * the reader's user namespace. Changes of a namespace's limits are its administrator's, of the
 * users' the machine's.
 */
#include <linux/capability.h>
#include <linux/rculist.h>
#include <linux/user_namespace.h>
#include "core/events.h"
#include "netlink/nl_policy.h"
#include "netlink/nl_put.h"

#define LIMIT_TAKES	(BIT_ULL(INC_A_LIMIT_SCOPE) | BIT_ULL(INC_A_LIMIT_VALUES))

struct limit_entry {
	const struct netinc_account *account;
	enum inc_limit_scope scope;
	uid_t uid;
};

static int put_values(struct sk_buff *skb, int attr, const atomic64_t *v)
{
	struct nlattr *nest = nla_nest_start(skb, attr);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 1; i <= INC_LIMIT_MAX; i++)
		if (netinc_nl_put_u64(skb, i, atomic64_read(&v[i])))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_limit(struct sk_buff *skb, void *obj, u32 arg)
{
	const struct limit_entry *e = obj;

	if (nla_put_u32(skb, INC_A_LIMIT_SCOPE, e->scope) ||
	    (e->scope == INC_SCOPE_USER && nla_put_u32(skb, INC_A_LIMIT_UID, e->uid)) ||
	    put_values(skb, INC_A_LIMIT_VALUES, e->account->max) ||
	    put_values(skb, INC_A_LIMIT_USE, e->account->use) ||
	    put_values(skb, INC_A_LIMIT_REFUSED, e->account->refused))
		return -EMSGSIZE;
	return 0;
}

static int dump_one(struct sk_buff *skb, struct netlink_callback *cb, struct limit_entry *e,
		    u32 index)
{
	struct netinc_nl_message m =
		netinc_nl_dump_message(cb, INC_CMD_LIMIT_GET, INC_A_LIMIT, fill_limit);
	int err;

	if (index < netinc_nl_cursor(cb)->index)
		return 0;
	err = netinc_nl_put(skb, &m, e, 0);
	if (!err)
		netinc_nl_cursor(cb)->index = index + 1;
	return err;
}

int inc_nl_limit_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct netinc_net *nn = netinc_nl_dump_net(cb);
	struct user_namespace *reader = sk_user_ns(NETLINK_CB(cb->skb).sk);
	struct limit_entry e = { .account = &nn->account, .scope = INC_SCOPE_NETNS };
	struct netinc_user *user;
	u32 index = 0;
	int err;

	netinc_nl_dump_piece(cb, &netinc_users_changed);
	err = dump_one(skb, cb, &e, index++);
	e.scope = INC_SCOPE_USER;
	rcu_read_lock();
	list_for_each_entry_rcu(user, &netinc_users, list) {
		if (err)
			break;
		if (!kuid_has_mapping(reader, user->uid))
			continue;
		e.account = &user->account;
		e.uid = from_kuid(reader, user->uid);
		err = dump_one(skb, cb, &e, index++);
	}
	rcu_read_unlock();
	return netinc_nl_dump_status(skb, err);
}

static void set_values(atomic64_t *max, struct nlattr **values)
{
	int i;

	for (i = 1; i <= INC_LIMIT_MAX; i++)
		if (values[i])
			atomic64_set(&max[i], nla_get_u64(values[i]));
}

static int check_values(struct nlattr **values, struct netlink_ext_ack *extack)
{
	int i, n = 0;

	for (i = 1; i <= INC_LIMIT_MAX; i++) {
		if (!values[i])
			continue;
		n++;
		if (nla_get_u64(values[i]) > S64_MAX) {
			NL_SET_ERR_MSG_FMT(extack, "limit %d: expected at most %lld", i, S64_MAX);
			return -ERANGE;
		}
	}
	if (n)
		return 0;
	NL_SET_ERR_MSG(extack, "limit: missing; expected one at least");
	return -EINVAL;
}

int inc_nl_limit_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *tb[INC_A_LIMIT_MAX + 1], *values[INC_LIMIT_MAX + 1];
	enum inc_limit_scope scope = INC_SCOPE_NETNS;
	int err;

	if (!info->attrs[INC_A_LIMIT]) {
		NL_SET_ERR_MSG(info->extack, "limit: missing; expected one at least");
		return -EINVAL;
	}
	/* the family's policy has validated the nests already */
	err = nla_parse_nested(tb, INC_A_LIMIT_MAX, info->attrs[INC_A_LIMIT], NULL, info->extack);
	if (!err)
		err = netinc_nl_takes(tb, INC_A_LIMIT_MAX, LIMIT_TAKES, "limit", info->extack);
	if (!err && !tb[INC_A_LIMIT_VALUES]) {
		NL_SET_ERR_MSG(info->extack, "limit: missing; expected one at least");
		err = -EINVAL;
	}
	if (!err)
		err = nla_parse_nested(values, INC_LIMIT_MAX, tb[INC_A_LIMIT_VALUES], NULL,
				       info->extack);
	if (!err)
		err = check_values(values, info->extack);
	if (err)
		return err;
	if (tb[INC_A_LIMIT_SCOPE])
		scope = nla_get_u32(tb[INC_A_LIMIT_SCOPE]);
	if (scope == INC_SCOPE_USER && !netlink_capable(skb, CAP_NET_ADMIN)) {
		NL_SET_ERR_MSG(info->extack,
			       "user: needs CAP_NET_ADMIN in the initial user namespace");
		return -EPERM;
	}
	if (scope == INC_SCOPE_USER) {
		set_values(netinc_root_max, values);
		set_values(netinc_user_max, values);
	} else {
		set_values(netinc_net(genl_info_net(info))->max, values);
	}
	netinc_event_limits(genl_info_net(info), scope);
	return 0;
}
