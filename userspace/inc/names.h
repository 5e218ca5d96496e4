/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of the uapi as words, and the pieces of output that several objects share.
 */
#ifndef INC_TOOL_NAMES_H
#define INC_TOOL_NAMES_H

#include <netlink/attr.h>
#include <stdbool.h>
#include <stdint.h>

/* A number that this tool does not know comes back in decimal; valid until the next such call. */
const char *order_name(unsigned int order);	/* enum inc_order */
const char *role_name(unsigned int role);
const char *group_state_name(unsigned int state);
const char *member_state_name(unsigned int state);
const char *error_name(unsigned int code);
const char *event_name(unsigned int type);
const char *fallback_name(unsigned int fallback);
const char *placement_name(unsigned int placement);
/* rx_packets; "counter_45" for one that is newer than this tool. */
const char *counter_name(unsigned int type);
/* What it counts. */
const char *counter_text(unsigned int type);

/* By enum inc_fallback, ends with NULL. */
extern const char *const fallback_names[];

/* Is this the number of an interface of this network namespace? */
bool dev_is_there(uint32_t ifindex);
/* Its name; "if7" if it is gone. */
const char *dev_name(uint32_t ifindex);

/* JSON "ifindex" and "dev"; @fmt takes the name. */
void show_dev(const char *index_key, const char *key, const char *fmt, uint32_t ifindex);

/* 4 or 16 bytes; anything else is "?". Valid until the next call. */
const char *addr_text(struct nlattr *attr);
/* The same, printed. @fmt takes the address. */
void show_addr(const char *key, const char *fmt, struct nlattr *attr);
/* INC_A_PARENT_*, if there is one: where a node is, as an object "parent". */
void show_parent_nest(struct nlattr *nest);
/* The same in an object of another name, or in a list (NULL). */
void show_parent_as(const char *key, struct nlattr *nest);

/* Which stripe of a group it is, and of how many; nothing if one is missing. */
void show_stripe(struct nlattr *stripe, struct nlattr *stripes);

/* A nest of counters as an object @key, or lines; zeros only in JSON and with -s -s (or @all). */
void show_counters(const char *key, struct nlattr *nest, const char *indent, bool all);

#endif
