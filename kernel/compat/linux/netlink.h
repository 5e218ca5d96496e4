/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Netlink error texts with values in them, for kernels before 6.3, whose struct netlink_ext_ack has
 * a pointer to the text but no room for one.
 */
#ifndef NETINC_COMPAT_LINUX_NETLINK_H
#define NETINC_COMPAT_LINUX_NETLINK_H

#include_next <linux/netlink.h>

#ifndef NL_SET_ERR_MSG_FMT

#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#define NETLINK_MAX_FMTMSG_LEN	80

/*
 * The text is read once, by the task that made it, when its request is answered right after the
 * handler returns. Each task has one of these, that of whoever has failed longest ago: a text would
 * be another task's only if requests of 64 others failed in between. However many one task makes,
 * it writes over its own.
 */
static inline char *netinc_extack_buf(void)
{
	static struct {
		const void *task;	/* only to be compared */
		unsigned long used;
		char text[NETLINK_MAX_FMTMSG_LEN];
	} slots[64];
	static DEFINE_SPINLOCK(lock);
	static unsigned long now;
	unsigned int i, mine = 0;

	spin_lock(&lock);
	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		if (slots[i].task == current) {
			mine = i;
			break;
		}
		if (time_before(slots[i].used, slots[mine].used))
			mine = i;
	}
	slots[mine].task = current;
	slots[mine].used = ++now;
	spin_unlock(&lock);
	return slots[mine].text;
}

#define NL_SET_ERR_MSG_FMT(extack, fmt, args...) do {				\
	struct netlink_ext_ack *__extack = (extack);				\
	char *__buf;								\
										\
	if (!__extack)								\
		break;								\
	__buf = netinc_extack_buf();						\
	snprintf(__buf, NETLINK_MAX_FMTMSG_LEN, fmt, ##args);			\
	do_trace_netlink_extack(__buf);						\
	__extack->_msg = __buf;							\
} while (0)

#define NL_SET_ERR_MSG_FMT_MOD(extack, fmt, args...)				\
	NL_SET_ERR_MSG_FMT((extack), KBUILD_MODNAME ": " fmt, ##args)

#endif

#endif
