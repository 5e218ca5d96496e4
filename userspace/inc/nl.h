/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to the kernel over libnl: build, send, and hand every answer to a function. Everything
 * here prints its own errors, the kernel's extack text included.
 */
#ifndef INC_TOOL_NL_H
#define INC_TOOL_NL_H

#include <netlink/msg.h>
#include <stdbool.h>
#include <stdint.h>

#include "attr.h"

/* A request to the family "inc"; NULL if the kernel has no such family (the error is printed). */
struct nl_msg *inc_request(uint8_t cmd, int flags);

/*
 * Send @msg (which is freed) and call @show for the attribute @attr of every answer. @attr 0: no
 * answer is wanted. Returns the exit status.
 */
int inc_talk(struct nl_msg *msg, int attr, void (*show)(struct nlattr *nest));

/* Ask for the one @attr there is, without which there is no success: a document of its own. */
int inc_get(uint8_t cmd, int attr, void (*show)(struct nlattr *nest));

/* A dump as a JSON list, or lines. @group: NULL or the number to filter by. */
int inc_dump(uint8_t cmd, int attr, const uint32_t *group, void (*show)(struct nlattr *nest));

/* The same over rtnetlink. */
int route_talk(struct nl_msg *msg, void (*show)(const struct nlmsghdr *hdr));

/* Hand events to @show until it fails. */
int inc_listen(void (*show)(struct nlattr *nest));

/*
 * The process has come to another network namespace, or was forked: the next request opens a socket
 * of its own.
 */
void inc_forget_netns(void);

/* An allocation that failed while a message was built. */
int no_memory(struct nl_msg *msg);

#endif
