/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tool and tc's plugin (userspace/tc) know of sch_inc. */
#ifndef INC_QDISC_H
#define INC_QDISC_H

#include <linux/types.h>

#include "tool.h"

struct nlattr;

/* Commands of the object qdisc, see struct command. */
int qdisc_add(int argc, char **argv);
int qdisc_change(int argc, char **argv);
int qdisc_replace(int argc, char **argv);
int qdisc_del(int argc, char **argv);

/* The options, ends with a NULL key: to be copied for args_parse(). */
#define QDISC_OPTIONS	7
extern const struct arg qdisc_option_args[QDISC_OPTIONS + 1];

/* Appends an attribute to @msg; false: there is no room. */
typedef bool (*qdisc_put)(void *msg, int type, const void *data, int len);
/* Those of @args that were given. Returns 0 or, with the error printed, the exit status. */
int qdisc_put_options(const struct arg *args, void *msg, qdisc_put put);

/* TCA_OPTIONS, without the object around them. */
void qdisc_show_options(struct nlattr *nest);
/* TCA_STATS_APP. Returns 0 or, with the error printed, the exit status. */
int qdisc_show_xstats(struct nlattr *attr);
/* How long packets have waited; times that never were are left out. */
void qdisc_show_delays(const __u64 *delay);

#endif
