/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether INC serves a process group. All its ranks agree on that through c10d's store: a rank that
 * fell back alone would wait for the others for ever.
 */
#ifndef INCTORCH_AGREE_HPP
#define INCTORCH_AGREE_HPP

#include <chrono>
#include <memory>
#include <string>

#include <inc.h>

#include "count.hpp"
#include "settings.hpp"
#include "table.hpp"
#include "torch_version.hpp"

namespace inctorch {

struct Agreed {
	Why why = Why::none;		/* none: INC serves the group */
	std::string reason;		/* in words: what some rank said; only at rank 0 */
	Settings set{};			/* rank 0's, but for what a rank says of itself */
	std::shared_ptr<const Table> table;	/* rank 0's, for this many ranks; null: none */
	inc_group *group = nullptr;	/* joined; of the caller, who leaves it */
	int64_t generation = 0;		/* how many process groups had the store before */
};

/* Of keys in the store, which still has those of the process groups before. */
std::string generation_prefix(const std::string &name, int64_t generation);

/*
 * All ranks of a process group call it, with the store that they and nobody else have; it waits for
 * all of them. Throws what the store throws: a rank that does not come within its timeout. Also
 * throws if the ranks have said that all have joined, and this one has not. @tune: rank 0's table,
 * as Table::read() gives it.
 */
Agreed agree(const StorePtr &store, int rank, int size, const Settings &own,
	     const std::string &tune);

} // namespace inctorch

#endif
