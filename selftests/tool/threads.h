/* SPDX-License-Identifier: GPL-2.0-only */
/* What the linker's --wrap puts in place of system calls, and what it leaves of them: threads.c. */
#ifndef THREADS_H
#define THREADS_H

#include <sys/socket.h>

int __wrap_inc_family(void);
int __wrap_socket(int family, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __real_inc_family(void);
int __real_socket(int family, int type, int protocol);

#endif
