// SPDX-License-Identifier: GPL-2.0-only
/* The table by which packets are demultiplexed. */
#include <linux/slab.h>
#include "core/demux.h"
#include "core/netns.h"

static int compare_keys(struct rhashtable_compare_arg *arg, const void *object)
{
	const struct netinc_demux_entry *entry = object;

	/*
	 * An entry that has just been taken out may get another key meanwhile: it is missed, or
	 * found by who looks at what it belongs to, too.
	 */
	return !data_race(netinc_demux_equal(&entry->key, arg->key));
}

static const struct rhashtable_params demux_params = {
	.head_offset = offsetof(struct netinc_demux_entry, list),
	.key_offset = offsetof(struct netinc_demux_entry, key),
	.key_len = offsetofend(struct netinc_demux_key, kind),
	.obj_cmpfn = compare_keys,
	.min_size = 64,
	.automatic_shrinking = true,
};

int netinc_demux_init(struct netinc_net *nn)
{
	struct rhltable *table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);
	int err = table ? rhltable_init(table, &demux_params) : -ENOMEM;

	if (err)
		kfree(table);
	else
		nn->demux = table;
	return err;
}

void netinc_demux_fini(struct netinc_net *nn)
{
	if (!nn->demux)
		return;
	WARN_ON_ONCE(atomic_read(&nn->demux->ht.nelems));
	rhltable_destroy(nn->demux);
	kfree(nn->demux);
}

static void take_out(struct netinc_net *nn, struct netinc_demux_entry *entry)
{
	WARN_ON_ONCE(rhltable_remove(nn->demux, &entry->list, demux_params));
	atomic_dec(&nn->demuxed[entry->key.kind]);
}

/* Packets that are looked up just now may miss it: a loss. */
static int put_in(struct netinc_net *nn, struct netinc_demux_entry *entry)
{
	int err;

	atomic_inc(&nn->demuxed[entry->key.kind]);
	err = rhltable_insert(nn->demux, &entry->list, demux_params);
	if (err)
		atomic_dec(&nn->demuxed[entry->key.kind]);
	return err;
}

int netinc_demux_set(struct netinc_net *nn, struct netinc_demux_entry *entry,
		     const struct netinc_demux_key *key)
{
	int err = 0;

	if (netinc_demux_equal(&entry->key, key))
		return 0;
	if (entry->key.kind != NETINC_DEMUX_NONE)
		take_out(nn, entry);
	entry->key = *key;
	if (key->kind != NETINC_DEMUX_NONE)
		err = put_in(nn, entry);
	if (err)
		entry->key = (struct netinc_demux_key){};
	return err ? -ENOMEM : 0;
}

void netinc_demux_clear(struct netinc_net *nn, struct netinc_demux_entry *entry)
{
	netinc_demux_set(nn, entry, &(struct netinc_demux_key){});
}

struct rhlist_head *netinc_demux_find(const struct netinc_net *nn,
				      const struct netinc_demux_key *key)
{
	/* hashing costs more than to see that a namespace has no parents, trees or nodes */
	if (!atomic_read(&nn->demuxed[key->kind]))
		return NULL;
	return rhltable_lookup(nn->demux, key, demux_params);
}
