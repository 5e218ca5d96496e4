// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc.ko: in-network collectives. What there is, in the order in which it comes up; it goes down in
 * reverse.
 */
#include <linux/module.h>
#include "host/convert.h"
#include "host/counts.h"
#include "host/membership.h"
#include "netlink/nl_family.h"
#include "core/netns.h"
#include "node/node_group.h"
#include "node/node.h"
#include "core/page_ring.h"
#include "reduce/reduce.h"
#include "core/fpu_section.h"
#include "host/socket.h"

#if BITS_PER_LONG != 64
#error "the module needs a kernel of 64 bits: counters of ranks and groups are read without a lock"
#endif

#define CREATE_TRACE_POINTS
#include "core/trace.h"

static int __init netinc_init(void)
{
	int err;

	netinc_fpu_section_init();
	netinc_reduce_init(netinc_cpu_features());
	err = netinc_reduce_selftest();	/* debug builds */
	if (err)
		return err;
	err = netinc_page_ring_init();	/* both: packets */
	if (err)
		return err;
	err = netinc_fold_init();	/* node side: folding */
	if (err)
		goto err_page_ring;
	err = netinc_convert_init();	/* host side: conversion */
	if (err)
		goto err_fold;
	err = netinc_membership_init();	/* host side: IP multicast groups */
	if (err)
		goto err_convert;
	err = netinc_counts_init();	/* host side: exchange of counts */
	if (err)
		goto err_membership;
	err = netinc_net_init();	/* state of every netns */
	if (err)
		goto err_counts;
	err = netinc_node_init();	/* node side: devices that go away */
	if (err)
		goto err_net;
	err = netinc_nl_init();		/* configuration and statistics */
	if (err)
		goto err_node;
	/* last: a socket that somebody makes from here on needs all of it */
	err = netinc_socket_init();	/* host side: AF_INC */
	if (err)
		goto err_nl;
	return 0;

err_nl:
	netinc_nl_fini();
err_node:
	netinc_node_fini();
err_net:
	netinc_net_fini();
err_counts:
	netinc_counts_fini();
err_membership:
	netinc_membership_fini();
err_convert:
	netinc_convert_fini();
err_fold:
	rcu_barrier();
	netinc_fold_fini();
err_page_ring:
	netinc_page_ring_fini();
	return err;
}

static void __exit netinc_exit(void)
{
	netinc_socket_fini();
	netinc_nl_fini();
	netinc_node_fini();
	netinc_net_fini();
	netinc_counts_fini();	/* a worker may have had the last reference to a rank */
	netinc_membership_fini();
	/*
	 * Groups, ranks and nodes are freed by RCU callbacks of this module. Ports of nodes are
	 * freed by a callback that another one has asked for: net_exit_batch() has waited for that.
	 */
	rcu_barrier();
	netinc_convert_fini();
	netinc_fold_fini();
	netinc_page_ring_fini();
}

module_init(netinc_init);
module_exit(netinc_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("In-network collectives: AF_INC sockets and reduction at bridges");
