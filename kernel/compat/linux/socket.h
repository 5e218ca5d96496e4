/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels before 6.19 hand a socket's operations an address that claims to have the size of struct
 * sockaddr.
 */
#ifndef NETINC_COMPAT_LINUX_SOCKET_H
#define NETINC_COMPAT_LINUX_SOCKET_H

#include_next <linux/socket.h>

#ifndef NETINC_HAVE_SOCKADDR_UNSIZED	/* Kbuild has looked */
#define sockaddr_unsized	sockaddr
#endif

#endif
