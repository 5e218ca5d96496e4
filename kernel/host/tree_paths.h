/* SPDX-License-Identifier: GPL-2.0-only */
/* A rank's paths to the roots of an epoch's trees. */
#ifndef NETINC_HOST_TREE_PATHS_H
#define NETINC_HOST_TREE_PATHS_H

#include "engine/endpoint.h"

struct netinc_rank;

/* The engine's spread(). */
bool netinc_tree_paths_find(struct netinc_ep *ep);
/* The rank's paths to other trees than the first. Nobody uses it any more. */
void netinc_tree_paths_fini(struct netinc_rank *rank);

#endif
