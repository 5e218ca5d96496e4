/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of c10d's functions, why Gloo does a call, and counters of both. */
#ifndef INCTORCH_COUNT_HPP
#define INCTORCH_COUNT_HPP

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

namespace inctorch {

#define INCTORCH_FNS(X)						\
	X(allreduce, "allreduce")				\
	X(allreduce_coalesced, "allreduce_coalesced")		\
	X(broadcast, "broadcast")				\
	X(reduce, "reduce")					\
	X(allgather, "allgather")				\
	X(allgather_base, "_allgather_base")			\
	X(allgather_coalesced, "allgather_coalesced")		\
	X(gather, "gather")					\
	X(scatter, "scatter")					\
	X(reduce_scatter, "reduce_scatter")			\
	X(reduce_scatter_base, "_reduce_scatter_base")		\
	X(alltoall, "alltoall")					\
	X(alltoall_base, "alltoall_base")			\
	X(barrier, "barrier")					\
	X(monitored_barrier, "monitored_barrier")		\
	X(send, "send")						\
	X(recv, "recv")						\
	X(recv_anysource, "recv_anysource")

#define INCTORCH_WHYS(X)							\
	X(off, "off", "INC_TORCH=off at some rank")				\
	X(alone, "one_rank", "a group of one rank")				\
	X(ranks, "too_many_ranks", "more ranks than a group may have")		\
	X(mixed, "mixed_machines", "ranks have different machines or versions")	\
	X(local, "one_host", "all ranks are on one host")			\
	X(no_group, "no_group", "no group: not all ranks could join one")	\
	X(not_inc, "no_such_call", "a call that INC does not have")		\
	X(chosen, "not_chosen", "not in INC_TORCH_COLLS")			\
	X(several, "several_tensors", "several tensors of one rank")		\
	X(layout, "layout", "a sparse or otherwise special tensor")		\
	X(op, "operation", "an operation that INC does not have")		\
	X(type, "type", "a type that INC cannot reduce with this operation")	\
	X(count, "count", "more elements than one operation may have")		\
	X(min, "below_min", "fewer bytes than INC_TORCH_MIN")			\
	X(max, "above_max", "more bytes than INC_TORCH_MAX")			\
	X(table_min, "below_table", "fewer bytes than the tuning table wants for INC")	\
	X(table_max, "above_table", "more bytes than the tuning table wants for INC")	\
	X(table, "table", "a function that the tuning table leaves to Gloo")	\
	X(args, "arguments", "arguments that are Gloo's to refuse")

#define INCTORCH_NAME(name, ...) name,
enum class Fn { INCTORCH_FNS(INCTORCH_NAME) nr };
enum class Why { none, INCTORCH_WHYS(INCTORCH_NAME) nr };
#undef INCTORCH_NAME

constexpr int nr_fns = static_cast<int>(Fn::nr);
constexpr int nr_whys = static_cast<int>(Why::nr);

/* What else is counted. */
enum class Event {
	groups,		/* joined */
	refused,	/* process groups that Gloo does alone */
	errors,		/* operations that failed */
	staged,		/* operations through memory of ours: with gaps, in a list, on a device */
	staged_memory,	/* the same, as the kernel cannot pin the tensors' own */
	empty,		/* calls with nothing to transfer, ended at once */
	gloo,		/* groups of Gloo's that were made */
	threads,	/* that complete futures */
	timed,		/* operations of which the tuning table says what they take */
	nr
};

const char *fn_name(Fn fn);
const char *why_key(Why why);
const char *why_text(Why why);
int parse_fn(const std::string &name);	/* its number, -1: there is none */

/* Counters of one process group; each also counts for the process. Any thread may count. */
class Counts {
public:
	/* @saved_ns: as the tuning table has it; 0: it does not say */
	void done(Fn fn, uint64_t bytes, int64_t saved_ns);
	void delegated(Fn fn, Why why);
	void event(Event what);

	/*
	 * By name: "allreduce", "allreduce.bytes", "gloo.allreduce" (what Gloo did), "why.type",
	 * "groups", "refused", "errors", "staged", "staged.memory", "empty", "gloo", "threads",
	 * "timed" (calls of which the tuning table has times).
	 */
	std::map<std::string, uint64_t> all() const;
	void report(FILE *out, int ranks) const;

	static Counts &process();

private:
	using Counter = std::atomic<uint64_t>;

	void count(std::array<Counter, nr_fns> Counts::*what, Fn fn, uint64_t n);

	std::array<Counter, nr_fns> calls_{}, bytes_{}, by_gloo_{};
	std::array<Counter, nr_whys> whys_{};
	std::array<Counter, static_cast<int>(Event::nr)> events_{};
	std::atomic<int64_t> saved_ns_{};
};

} // namespace inctorch

#endif
