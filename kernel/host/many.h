/* SPDX-License-Identifier: GPL-2.0-only */
/* Several operations in one system call: they are submitted, or waited for. */
#ifndef NETINC_HOST_MANY_H
#define NETINC_HOST_MANY_H

#include <linux/inc_socket.h>

struct netinc_rank;

int netinc_submit_many(struct netinc_rank *rank, struct inc_submit_many __user *u);
int netinc_wait_many(struct netinc_rank *rank, struct inc_wait_many __user *u);

#endif
