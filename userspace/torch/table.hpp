/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tuning table of a process group: rank 0's, of which the others get the lines for their number
 * of ranks. So what it says of a call is the same at all ranks.
 */
#ifndef INCTORCH_TABLE_HPP
#define INCTORCH_TABLE_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "count.hpp"

struct incmpi_tune;

namespace inctorch {

class Table {
public:
	/* Rank 0's, as the others get it; empty: there is none. @path: INC_TORCH_TUNE. */
	static std::string read(const std::string &path, uint32_t ranks);

	/* What rank 0 has given; null: nothing, or not what this library understands. */
	static std::shared_ptr<const Table> take(const std::string &lines);

	/*
	 * Who does a call; Why::none: INC. @type: INC's, of what is reduced. @bytes: of the largest
	 * buffer.
	 */
	Why who(Fn fn, uint32_t type, uint64_t bytes) const;

	/* Nanoseconds that INC saves with one, as the table has it; 0 also if it does not say. */
	int64_t saved_ns(Fn fn, uint32_t type, uint64_t bytes) const;

	uint32_t lines() const { return lines_; }

private:
	Table(incmpi_tune *tune, uint32_t lines);

	std::shared_ptr<incmpi_tune> tune_;
	uint32_t lines_;
};

} // namespace inctorch

#endif
