/* SPDX-License-Identifier: GPL-2.0-only */
/* Where packets come in, see nf_hooks.c. */
#ifndef NETINC_CORE_NF_HOOKS_H
#define NETINC_CORE_NF_HOOKS_H

#include <linux/types.h>

struct netinc_net;

extern unsigned short netinc_port;	/* UDP port of this machine, host order */

int netinc_hooks_register(struct netinc_net *nn);
/* Returns when no packet is inside any more. */
void netinc_hooks_unregister(struct netinc_net *nn);

#endif
