/* SPDX-License-Identifier: GPL-2.0-only */
/* Of core/path.h what core/txq.c uses, for test_txq.c. */
#ifndef INC_STUB_PATH_H
#define INC_STUB_PATH_H

#include "core/txq.h"

int netinc_path_queue(struct netinc_path *path, struct sk_buff *skb, struct sk_buff_head *q);
void netinc_tx_flush(struct net *net, struct sk_buff_head *q);

#endif
