/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What q_inc.so uses of tc, declared here because iproute2 installs no headers for plugins: struct
 * qdisc_util, which tc looks up as "inc_qdisc_util", and functions that tc exports. So in
 * iproute2 5.0 to 6.x (tc/tc_util.h, include/libnetlink.h, include/json_print.h,
 * include/json_writer.h there). Nothing says at run time whether that still holds: the plugin works
 * with the iproute2 that it was built for and no other.
 */
#ifndef INC_TC_ABI_H
#define INC_TC_ABI_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct qdisc_util {
	struct qdisc_util *next;	/* tc's */
	const char *id;
	/* Options of "tc qdisc add ... inc", appended to @n; 0, or -1 with the error printed. */
	int (*parse_qopt)(struct qdisc_util *qu, int argc, char **argv, struct nlmsghdr *n,
			  const char *dev);
	/* TCA_OPTIONS, NULL: there are none. */
	int (*print_qopt)(struct qdisc_util *qu, FILE *f, struct rtattr *opt);
	/* TCA_STATS_APP, of the qdisc or of a class. */
	int (*print_xstats)(struct qdisc_util *qu, FILE *f, struct rtattr *xstats);
	/* Options of a class. */
	int (*parse_copt)(struct qdisc_util *qu, int argc, char **argv, struct nlmsghdr *n,
			  const char *dev);
	int (*print_copt)(struct qdisc_util *qu, FILE *f, struct rtattr *opt);
	/* Does it use shared blocks of filters? */
	int (*has_block)(struct qdisc_util *qu, struct rtattr *opt, bool *has);
};

/* @maxlen: of the whole message. 0, or -1 with the error printed. */
int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data, int len);

struct json_writer;

bool is_json_context(void);
struct json_writer *get_json_writer(void);
void jsonw_name(struct json_writer *w, const char *name);
void jsonw_start_object(struct json_writer *w);
void jsonw_end_object(struct json_writer *w);
void jsonw_start_array(struct json_writer *w);
void jsonw_end_array(struct json_writer *w);
void jsonw_u64(struct json_writer *w, uint64_t value);
void jsonw_string(struct json_writer *w, const char *value);
void jsonw_bool(struct json_writer *w, bool value);

#endif
