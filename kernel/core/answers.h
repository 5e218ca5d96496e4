/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Budgets of what a network namespace says to those who are no members, so that nobody can use them
 * all up: neither who forges addresses behind one port, nor who sends junk.
 *
 * Challenges and refusals have one each: the limit INC_LIMIT_ANSWERS, per second. Half of it is
 * shared by all. Of what is shared one port gets at most half, and one network behind it (/24, /64)
 * a quarter. The other half is set aside, the same for each port: what one of them does the others
 * do not feel, nor what several do but in their pace.
 */
#ifndef NETINC_CORE_ANSWERS_H
#define NETINC_CORE_ANSWERS_H

#include <linux/types.h>

struct netinc_net;
struct netinc_peer;

enum netinc_answer {
	NETINC_ANSWER_CHALLENGE,
	NETINC_ANSWER_REFUSE,
	__NETINC_ANSWER_MAX
};

struct netinc_answers;

struct netinc_answers *netinc_answers_alloc(void);
void netinc_answers_free(struct netinc_answers *answers);
/*
 * May one more be sent to @peer, who came in by @ifindex? Counted as refused by the limit if not.
 * Softirqs off.
 */
bool netinc_answer_ok(struct netinc_net *nn, enum netinc_answer kind,
		      const struct netinc_peer *peer, u32 ifindex);

#endif
