/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Netlink error texts with values in them, for kernels before 6.3, whose struct netlink_ext_ack has a pointer to the
 * text but no room for one.
 */
#ifndef NETINC_COMPAT_LINUX_NETLINK_H
#define NETINC_COMPAT_LINUX_NETLINK_H

#include_next <linux/netlink.h>

#ifndef NL_SET_ERR_MSG_FMT

#include <linux/atomic.h>
#include <linux/kernel.h>

#define NETLINK_MAX_FMTMSG_LEN	80

/*
 * The text is read once, by the task that made it, when its request is answered right after the handler returns. It
 * would be another task's only if this file failed 64 requests in between.
 */
static inline char *netinc_extack_buf(void)
{
	static char ring[64][NETLINK_MAX_FMTMSG_LEN];
	static atomic_t next;

	return ring[(unsigned int)atomic_inc_return(&next) % ARRAY_SIZE(ring)];
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
