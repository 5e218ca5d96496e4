/* SPDX-License-Identifier: GPL-2.0-only */
/* Where packets come in, see nf_hooks.c. */
#ifndef NETINC_CORE_NF_HOOKS_H
#define NETINC_CORE_NF_HOOKS_H

#include <linux/types.h>

struct net;
struct netinc_net;
struct socket;

extern unsigned short netinc_port;	/* UDP port of this machine, host order */

/*
 * A socket that holds @port, of @family, in @net: no other program gets it, and NICs aggregate what
 * comes to it. Others of these may hold the same. NULL: some program has the port; what is the
 * module's is taken all the same. Process context.
 */
struct socket *netinc_port_hold(struct net *net, u8 family, __be16 port);

int netinc_hooks_register(struct netinc_net *nn);
/* Returns when no packet is inside any more. */
void netinc_hooks_unregister(struct netinc_net *nn);

#endif
