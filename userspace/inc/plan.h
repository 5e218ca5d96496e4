/* SPDX-License-Identifier: GPL-2.0-only */
/* Where `inc plan` has its topology from. */
#ifndef INC_TOOL_PLAN_H
#define INC_TOOL_PLAN_H

#include "cost.h"

/*
 * plan_file.c: the topology in the file at @path ("-": stdin), in the syntax of tools/vm/fabric,
 * with what its lines say of links and nodes; what they do not say is as in @link. Returns 0 or,
 * with the error printed, the exit status.
 */
int plan_read(const char *path, const struct cost_link *link, struct cost_fabric *f);

#endif
