// SPDX-License-Identifier: GPL-2.0-only
/* Tenants over generic netlink. */
#include <linux/ctype.h>
#include <linux/rculist.h>
#include "core/events.h"
#include "netlink/nl_policy.h"
#include "netlink/nl_put.h"
#include "node/tenant.h"

#define MIN_SLOTS	(2u * INC_MIN_WINDOW)
#define MIN_MEMORY	65536ULL

#define TENANT_ID	BIT_ULL(INC_A_TENANT_NAME)
#define TENANT_TAKES	(TENANT_ID | BIT_ULL(INC_A_TENANT_KEY) | BIT_ULL(INC_A_TENANT_PREFIX) | \
			 BIT_ULL(INC_A_TENANT_PORT) | BIT_ULL(INC_A_TENANT_MAX_GROUPS) | \
			 BIT_ULL(INC_A_TENANT_MAX_SLOTS) | BIT_ULL(INC_A_TENANT_MAX_MEMORY) | \
			 BIT_ULL(INC_A_TENANT_CPU) | BIT_ULL(INC_A_TENANT_RATE))

static int put_places(struct sk_buff *skb, const struct netinc_tenant_cfg *cfg)
{
	struct nlattr *nest;
	u32 i;

	for (i = 0; i < cfg->nprefixes; i++) {
		const struct netinc_prefix *prefix = &cfg->prefix[i];

		nest = nla_nest_start(skb, INC_A_TENANT_PREFIX);
		if (!nest ||
		    nla_put(skb, INC_A_PREFIX_ADDR, prefix->family == AF_INET ? 4 : 16,
			    prefix->addr) ||
		    nla_put_u32(skb, INC_A_PREFIX_LEN, prefix->len))
			return -EMSGSIZE;
		nla_nest_end(skb, nest);
	}
	for (i = 0; i < cfg->nports; i++)
		if (nla_put_u32(skb, INC_A_TENANT_PORT, cfg->port[i]))
			return -EMSGSIZE;
	return 0;
}

/* What has been set, but the key. */
static int put_tenant_cfg(struct sk_buff *skb, const struct netinc_tenant_cfg *cfg)
{
	if ((cfg->keyed && nla_put_flag(skb, INC_A_TENANT_KEYED)) || put_places(skb, cfg) ||
	    nla_put_u32(skb, INC_A_TENANT_MAX_GROUPS, cfg->max_groups) ||
	    nla_put_u32(skb, INC_A_TENANT_MAX_SLOTS, cfg->max_slots) ||
	    netinc_nl_put_u64(skb, INC_A_TENANT_MAX_MEMORY, cfg->max_memory) ||
	    nla_put_u32(skb, INC_A_TENANT_CPU, cfg->cpu) ||
	    netinc_nl_put_u64(skb, INC_A_TENANT_RATE, cfg->rate))
		return -EMSGSIZE;
	return 0;
}

static int fill_tenant(struct sk_buff *skb, void *obj, u32 arg)
{
	struct netinc_tenant *tenant = obj;
	const atomic64_t *use = tenant->account.use, *refused = tenant->account.refused;
	int err;

	spin_lock_bh(&tenant->lock);
	err = put_tenant_cfg(skb, &tenant->cfg);
	spin_unlock_bh(&tenant->lock);
	if (err || nla_put_string(skb, INC_A_TENANT_NAME, tenant->name) ||
	    nla_put_u32(skb, INC_A_TENANT_GROUPS, atomic64_read(&use[INC_LIMIT_GROUPS])) ||
	    nla_put_u32(skb, INC_A_TENANT_SLOTS,
			atomic64_read(&use[NETINC_LIMIT_TENANT_SLOTS])) ||
	    netinc_nl_put_u64(skb, INC_A_TENANT_MEMORY,
			      atomic64_read(&use[NETINC_LIMIT_TENANT_MEMORY])) ||
	    netinc_nl_put_u64(skb, INC_A_TENANT_CPU_NSEC,
			      netinc_stats_sum(tenant->stats, NETINC_TENANT_CPU_NSEC)) ||
	    netinc_nl_put_u64(skb, INC_A_TENANT_BYTES,
			      netinc_stats_sum(tenant->stats, NETINC_TENANT_BYTES)) ||
	    netinc_nl_put_u64(skb, INC_A_TENANT_REFUSED_GROUPS,
			      atomic64_read(&refused[INC_LIMIT_GROUPS])) ||
	    netinc_nl_put_u64(skb, INC_A_TENANT_REFUSED_SLOTS,
			      atomic64_read(&refused[NETINC_LIMIT_TENANT_SLOTS])) ||
	    netinc_nl_put_u64(skb, INC_A_TENANT_REFUSED_MEMORY,
			      atomic64_read(&refused[NETINC_LIMIT_TENANT_MEMORY])) ||
	    netinc_nl_put_u64(skb, INC_A_TENANT_REFUSED_CPU, atomic64_read(&tenant->refused_cpu)) ||
	    netinc_nl_put_u64(skb, INC_A_TENANT_REFUSED_RATE, atomic64_read(&tenant->refused_rate)))
		return -EMSGSIZE;
	return 0;
}

int inc_nl_tenant_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct netinc_nl_message m =
		netinc_nl_dump_message(cb, INC_CMD_TENANT_GET, INC_A_TENANT, fill_tenant);
	struct netinc_net *nn = netinc_nl_dump_net(cb);
	struct netinc_tenant *tenant;
	u32 index = 0;
	int err = 0;

	netinc_nl_dump_list(cb, NETINC_LIST_TENANTS);
	rcu_read_lock();
	list_for_each_entry_rcu(tenant, &nn->tenants, list) {
		if (index++ < netinc_nl_cursor(cb)->index)
			continue;
		err = netinc_nl_put(skb, &m, tenant, 0);
		if (err)
			break;
		netinc_nl_cursor(cb)->index = index;
	}
	rcu_read_unlock();
	return netinc_nl_dump_status(skb, err);
}

static int check_name(const char *name, struct netlink_ext_ack *extack)
{
	const char *c;

	for (c = name; isalnum(*c) || (*c && strchr(".-_", *c)); c++)
		;
	if (c != name && !*c)
		return 0;
	NL_SET_ERR_MSG_FMT(extack,
			   "name: expected 1..%u letters, digits, dots, dashes and underscores",
			   INC_TENANT_NAME - 1);
	return -EINVAL;
}

static int parse_tenant(struct genl_info *info, struct nlattr **tb, u64 takes)
{
	int err;

	if (!info->attrs[INC_A_TENANT]) {
		NL_SET_ERR_MSG(info->extack, "tenant: missing; expected which one");
		return -EINVAL;
	}
	/* the family's policy has validated the nest already */
	err = nla_parse_nested(tb, INC_A_TENANT_MAX, info->attrs[INC_A_TENANT], NULL, info->extack);
	if (!err)
		err = netinc_nl_takes(tb, INC_A_TENANT_MAX, takes, "tenant", info->extack);
	if (err)
		return err;
	if (!tb[INC_A_TENANT_NAME]) {
		NL_SET_ERR_MSG(info->extack, "name: missing; expected that of the tenant");
		return -EINVAL;
	}
	return check_name(nla_data(tb[INC_A_TENANT_NAME]), info->extack);
}

static int take_prefix(struct netinc_prefix *prefix, const struct nlattr *nest,
		       struct netlink_ext_ack *extack)
{
	struct nlattr *tb[INC_A_PREFIX_MAX + 1];
	int err, len;
	u32 bits;

	err = nla_parse_nested(tb, INC_A_PREFIX_MAX, nest, NULL, extack);
	if (err)
		return err;
	len = tb[INC_A_PREFIX_ADDR] ? nla_len(tb[INC_A_PREFIX_ADDR]) : 0;
	if (len != 4 && len != 16) {
		NL_SET_ERR_MSG_FMT(extack,
				   "prefix: address of %d bytes: expected 4 (IPv4) or 16 (IPv6)",
				   len);
		return -EINVAL;
	}
	memset(prefix, 0, sizeof(*prefix));
	prefix->family = len == 4 ? AF_INET : AF_INET6;
	bits = tb[INC_A_PREFIX_LEN] ? nla_get_u32(tb[INC_A_PREFIX_LEN]) : 8 * len;
	prefix->len = min_t(u32, bits, 8 * len);
	memcpy(prefix->addr, nla_data(tb[INC_A_PREFIX_ADDR]), len);
	if (bits <= 8 * len)
		return 0;
	NL_SET_ERR_MSG_FMT(extack, "prefix of %u bits: expected at most %d", bits, 8 * len);
	return -ERANGE;
}

/* All prefixes that the request names, instead of those of before. */
static int take_prefixes(struct netinc_tenant_cfg *cfg, const struct nlattr *tenant,
			 struct netlink_ext_ack *extack)
{
	const struct nlattr *attr;
	int rem, err;
	u32 n = 0;

	nla_for_each_nested(attr, tenant, rem) {
		if (nla_type(attr) != INC_A_TENANT_PREFIX || !nla_len(attr))
			continue;
		if (n == INC_TENANT_PLACES) {
			NL_SET_ERR_MSG_FMT(extack, "prefix: expected at most %u",
					   INC_TENANT_PLACES);
			return -E2BIG;
		}
		err = take_prefix(&cfg->prefix[n++], attr, extack);
		if (err)
			return err;
	}
	cfg->nprefixes = n;
	return 0;
}

static int take_ports(struct netinc_tenant_cfg *cfg, const struct nlattr *tenant,
		      struct netlink_ext_ack *extack)
{
	const struct nlattr *attr;
	u32 n = 0;
	int rem;

	nla_for_each_nested(attr, tenant, rem) {
		if (nla_type(attr) != INC_A_TENANT_PORT || !nla_get_u32(attr))
			continue;
		if (n == INC_TENANT_PLACES) {
			NL_SET_ERR_MSG_FMT(extack, "port: expected at most %u", INC_TENANT_PLACES);
			return -E2BIG;
		}
		cfg->port[n++] = nla_get_u32(attr);
	}
	cfg->nports = n;
	return 0;
}

static int take_quotas(struct netinc_tenant_cfg *cfg, struct nlattr **tb,
		       struct netlink_ext_ack *extack)
{
	if (tb[INC_A_TENANT_MAX_GROUPS]) {
		cfg->max_groups = nla_get_u32(tb[INC_A_TENANT_MAX_GROUPS]);
		if (!cfg->max_groups || cfg->max_groups > NETINC_TENANT_GROUPS) {
			NL_SET_ERR_MSG_FMT(extack, "max-groups %u: expected 1..%u", cfg->max_groups,
					   NETINC_TENANT_GROUPS);
			return -ERANGE;
		}
	}
	if (tb[INC_A_TENANT_MAX_SLOTS]) {
		cfg->max_slots = nla_get_u32(tb[INC_A_TENANT_MAX_SLOTS]);
		if (cfg->max_slots < MIN_SLOTS || cfg->max_slots > NETINC_TENANT_SLOTS) {
			NL_SET_ERR_MSG_FMT(extack, "max-slots %u: expected %u..%u", cfg->max_slots,
					   MIN_SLOTS, NETINC_TENANT_SLOTS);
			return -ERANGE;
		}
	}
	if (tb[INC_A_TENANT_MAX_MEMORY]) {
		cfg->max_memory = nla_get_u64(tb[INC_A_TENANT_MAX_MEMORY]);
		if (cfg->max_memory < MIN_MEMORY || cfg->max_memory > NETINC_TENANT_MEMORY) {
			NL_SET_ERR_MSG_FMT(extack, "max-memory %llu: expected bytes in %llu..%llu",
					   cfg->max_memory, MIN_MEMORY, NETINC_TENANT_MEMORY);
			return -ERANGE;
		}
	}
	if (tb[INC_A_TENANT_CPU]) {
		cfg->cpu = nla_get_u32(tb[INC_A_TENANT_CPU]);
		if (cfg->cpu > 100) {
			NL_SET_ERR_MSG_FMT(extack, "cpu %u: expected percent in 0..100", cfg->cpu);
			return -ERANGE;
		}
	}
	if (tb[INC_A_TENANT_RATE]) {
		cfg->rate = nla_get_u64(tb[INC_A_TENANT_RATE]);
		if (cfg->rate &&
		    (cfg->rate < INC_TENANT_RATE_MIN || cfg->rate > INC_TENANT_RATE_MAX)) {
			NL_SET_ERR_MSG_FMT(extack, "rate %llu: expected 0, or bit/s in %llu..%llu",
					   cfg->rate, INC_TENANT_RATE_MIN,
					   INC_TENANT_RATE_MAX);
			return -ERANGE;
		}
	}
	return 0;
}

static int take_tenant(struct netinc_tenant_cfg *cfg, struct nlattr **tb,
		       const struct genl_info *info)
{
	const struct nlattr *nest = info->attrs[INC_A_TENANT];
	int err = 0;

	if (tb[INC_A_TENANT_KEY]) {
		nla_memcpy(cfg->key, tb[INC_A_TENANT_KEY], sizeof(cfg->key));
		cfg->keyed = memchr_inv(cfg->key, 0, sizeof(cfg->key));
	}
	if (tb[INC_A_TENANT_PREFIX])
		err = take_prefixes(cfg, nest, info->extack);
	if (!err && tb[INC_A_TENANT_PORT])
		err = take_ports(cfg, nest, info->extack);
	return err ?: take_quotas(cfg, tb, info->extack);
}

static int add_tenant(struct netinc_net *nn, const char *name, const struct netinc_tenant_cfg *cfg)
{
	int err = netinc_tenant_add(nn, name, cfg);

	if (!err)
		netinc_event_tenant(nn->net, INC_EVENT_TENANT_ADD, name);
	return err;
}

/*
 * A tenant that is there already gets the settings of a new one, and keeps its groups, its counters
 * and its place in the order.
 */
static int replace_tenant(struct netinc_net *nn, const char *name,
			  const struct netinc_tenant_cfg *cfg)
{
	struct netinc_tenant *tenant = netinc_tenant_find(nn, name);

	if (!tenant)
		return add_tenant(nn, name, cfg);
	netinc_tenant_set(tenant, cfg);
	netinc_event_tenant(nn->net, INC_EVENT_TENANT_SET, name);
	return 0;
}

int inc_nl_tenant_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct netinc_net *nn = netinc_net(genl_info_net(info));
	struct nlattr *tb[INC_A_TENANT_MAX + 1];
	struct netinc_tenant_cfg cfg;
	const char *name;
	int err;

	netinc_tenant_cfg_init(&cfg);
	err = parse_tenant(info, tb, TENANT_TAKES) ?: take_tenant(&cfg, tb, info);
	if (err)
		goto out;
	name = nla_data(tb[INC_A_TENANT_NAME]);
	mutex_lock(&nn->mutex);
	err = info->attrs[INC_A_REPLACE] ? replace_tenant(nn, name, &cfg) :
					   add_tenant(nn, name, &cfg);
	mutex_unlock(&nn->mutex);
	if (err == -EEXIST)
		NL_SET_ERR_MSG_FMT(info->extack, "tenant %s: is there already; `set` changes it",
				   name);
	else if (err == -ENOSPC)
		NL_SET_ERR_MSG_FMT(info->extack, "tenant %s: there are %u, as many as there may be",
				   name, NETINC_MAX_TENANTS);
out:
	memzero_explicit(&cfg, sizeof(cfg));
	return err;
}

/*
 * Finds the tenant that a request names, under nn->mutex. NULL: there is none, and extack says so.
 */
static struct netinc_tenant *find_named(struct netinc_net *nn, struct nlattr **tb,
					struct genl_info *info)
{
	const char *name = nla_data(tb[INC_A_TENANT_NAME]);
	struct netinc_tenant *tenant = netinc_tenant_find(nn, name);

	if (!tenant)
		NL_SET_ERR_MSG_FMT(info->extack, "tenant %s: there is none of that name", name);
	return tenant;
}

int inc_nl_tenant_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct netinc_net *nn = netinc_net(genl_info_net(info));
	struct nlattr *tb[INC_A_TENANT_MAX + 1];
	struct netinc_tenant *tenant;
	struct netinc_tenant_cfg cfg;
	int err = parse_tenant(info, tb, TENANT_TAKES);

	if (err)
		return err;
	mutex_lock(&nn->mutex);
	tenant = find_named(nn, tb, info);
	err = -ENOENT;
	if (tenant) {
		/* only requests change it, and nn->mutex is held */
		cfg = tenant->cfg;
		err = take_tenant(&cfg, tb, info);
	}
	if (!err) {
		netinc_tenant_set(tenant, &cfg);
		netinc_event_tenant(nn->net, INC_EVENT_TENANT_SET, tenant->name);
	}
	mutex_unlock(&nn->mutex);
	memzero_explicit(&cfg, sizeof(cfg));
	return err;
}

int inc_nl_tenant_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct netinc_net *nn = netinc_net(genl_info_net(info));
	struct nlattr *tb[INC_A_TENANT_MAX + 1];
	struct netinc_tenant *tenant;
	int err = parse_tenant(info, tb, TENANT_ID);

	if (err)
		return err;
	mutex_lock(&nn->mutex);
	tenant = find_named(nn, tb, info);
	if (tenant) {
		netinc_tenant_del(tenant);
		netinc_list_changed(nn, NETINC_LIST_TENANTS);
		netinc_event_tenant(nn->net, INC_EVENT_TENANT_DEL, nla_data(tb[INC_A_TENANT_NAME]));
	}
	mutex_unlock(&nn->mutex);
	return tenant ? 0 : -ENOENT;
}
