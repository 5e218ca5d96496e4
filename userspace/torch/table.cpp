// SPDX-License-Identifier: LGPL-2.1-or-later
/* The tuning table of a process group. */
#include "table.hpp"

#include <cstdio>
#include <cstdlib>

#include "table_file.h"

namespace inctorch {
namespace {

constexpr size_t why_room = 512;

/* The collective of MPI that a function of c10d is, by whose name a table has it. */
const char *table_name(Fn fn)
{
	switch (fn) {
	case Fn::allreduce:
	case Fn::allreduce_coalesced:
		return "allreduce";
	case Fn::broadcast:
		return "bcast";
	case Fn::allgather:
	case Fn::allgather_base:
	case Fn::allgather_coalesced:
		return "allgather";
	case Fn::reduce_scatter:
	case Fn::reduce_scatter_base:
		return "reduce_scatter_block";
	case Fn::alltoall:
	case Fn::alltoall_base:
		return "alltoallv";
	default:
		return fn_name(fn);
	}
}

Why as_why(inctorch_tuned tuned)
{
	switch (tuned) {
	case INCTORCH_TUNED_BELOW:
		return Why::table_min;
	case INCTORCH_TUNED_ABOVE:
		return Why::table_max;
	case INCTORCH_TUNED_NEVER:
		return Why::table;
	default:
		return Why::none;
	}
}

} // namespace

Table::Table(incmpi_tune *tune, uint32_t lines) : tune_(tune, free), lines_(lines) {}

std::string Table::read(const std::string &path, uint32_t ranks)
{
	char why[why_room];
	std::unique_ptr<incmpi_tune, void (*)(void *)> tune(
		inctorch_tune_read(path.c_str(), why, sizeof(why)), free);
	std::string lines;

	if (!tune) {
		if (why[0])
			fprintf(stderr, "libinc-torch: %s; there is no tuning table\n", why);
		return lines;
	}
	lines.resize(inctorch_tune_give(tune.get(), ranks, nullptr, 0));
	inctorch_tune_give(tune.get(), ranks, &lines[0], lines.size());
	return lines;
}

std::shared_ptr<const Table> Table::take(const std::string &lines)
{
	incmpi_tune *tune = lines.empty() ? nullptr :
			    inctorch_tune_take(lines.data(), lines.size());

	if (!tune)
		return nullptr;
	return std::shared_ptr<const Table>(new Table(tune, inctorch_tune_lines(tune)));
}

Why Table::who(Fn fn, uint32_t type, uint64_t bytes) const
{
	int64_t saved;

	return as_why(inctorch_tune_find(tune_.get(), table_name(fn), type, bytes, &saved));
}

int64_t Table::saved_ns(Fn fn, uint32_t type, uint64_t bytes) const
{
	int64_t saved;

	inctorch_tune_find(tune_.get(), table_name(fn), type, bytes, &saved);
	return saved;
}

} // namespace inctorch
