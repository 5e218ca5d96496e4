// SPDX-License-Identifier: LGPL-2.1-or-later
/* Names, counters, and the report of them. */
#include "count.hpp"

namespace inctorch {
namespace {

#define FN_NAME(name, text) text,
#define WHY_KEY(name, key, text) key,
#define WHY_TEXT(name, key, text) text,

const char *const fn_names[] = { INCTORCH_FNS(FN_NAME) };
const char *const why_keys[] = { "", INCTORCH_WHYS(WHY_KEY) };
const char *const why_texts[] = { "", INCTORCH_WHYS(WHY_TEXT) };
const char *const event_names[] = {
	"groups", "refused", "errors", "staged", "staged.memory", "empty", "gloo", "threads",
	"timed"
};

unsigned long long counter_value(const std::atomic<uint64_t> &counter)
{
	return counter.load(std::memory_order_relaxed);
}

void add_to(std::atomic<uint64_t> &counter, uint64_t n)
{
	counter.fetch_add(n, std::memory_order_relaxed);
}

} // namespace

const char *fn_name(Fn fn)
{
	return fn_names[static_cast<int>(fn)];
}

const char *why_key(Why why)
{
	return why_keys[static_cast<int>(why)];
}

const char *why_text(Why why)
{
	return why_texts[static_cast<int>(why)];
}

int parse_fn(const std::string &name)
{
	for (int i = 0; i < nr_fns; i++)
		if (name == fn_names[i])
			return i;
	return -1;
}

Counts &Counts::process()
{
	/* never freed: threads may count while the process ends */
	static Counts *counts = new Counts;

	return *counts;
}

void Counts::count(std::array<Counter, nr_fns> Counts::*what, Fn fn, uint64_t n)
{
	add_to((this->*what)[static_cast<int>(fn)], n);
	add_to((process().*what)[static_cast<int>(fn)], n);
}

void Counts::done(Fn fn, uint64_t bytes, int64_t saved_ns)
{
	count(&Counts::calls_, fn, 1);
	count(&Counts::bytes_, fn, bytes);
	if (!saved_ns)
		return;
	event(Event::timed);
	saved_ns_.fetch_add(saved_ns, std::memory_order_relaxed);
}

void Counts::delegated(Fn fn, Why why)
{
	count(&Counts::by_gloo_, fn, 1);
	add_to(whys_[static_cast<int>(why)], 1);
	add_to(process().whys_[static_cast<int>(why)], 1);
}

void Counts::event(Event what)
{
	add_to(events_[static_cast<int>(what)], 1);
	add_to(process().events_[static_cast<int>(what)], 1);
}

std::map<std::string, uint64_t> Counts::all() const
{
	std::map<std::string, uint64_t> all;

	for (int i = 0; i < nr_fns; i++) {
		all[fn_names[i]] = counter_value(calls_[i]);
		all[std::string(fn_names[i]) + ".bytes"] = counter_value(bytes_[i]);
		all[std::string("gloo.") + fn_names[i]] = counter_value(by_gloo_[i]);
	}
	for (int i = 1; i < nr_whys; i++)
		all[std::string("why.") + why_keys[i]] = counter_value(whys_[i]);
	for (int i = 0; i < static_cast<int>(Event::nr); i++)
		all[event_names[i]] = counter_value(events_[i]);
	return all;
}

void Counts::report(FILE *out, int ranks) const
{
	fprintf(out, "libinc-torch: a group of %d ranks, as rank 0 has seen it\n", ranks);
	for (int i = 0; i < nr_fns; i++)
		if (counter_value(calls_[i]))
			fprintf(out, "libinc-torch: by INC: %s: %llu calls, %llu bytes\n",
				fn_names[i], counter_value(calls_[i]), counter_value(bytes_[i]));
	if (counter_value(events_[static_cast<int>(Event::timed)]))
		fprintf(out, "libinc-torch: saved against the tuning table: %.6f s, by %llu calls\n",
			static_cast<double>(saved_ns_.load(std::memory_order_relaxed)) / 1e9,
			counter_value(events_[static_cast<int>(Event::timed)]));
	for (int i = 1; i < nr_whys; i++)
		if (counter_value(whys_[i]))
			fprintf(out, "libinc-torch: by Gloo: %s (%s): %llu calls\n", why_keys[i],
				why_texts[i], counter_value(whys_[i]));
	fprintf(out, "libinc-torch: operations failed %llu, staged %llu, "
		"as the kernel cannot pin a tensor %llu, empty %llu\n",
		counter_value(events_[static_cast<int>(Event::errors)]),
		counter_value(events_[static_cast<int>(Event::staged)]),
		counter_value(events_[static_cast<int>(Event::staged_memory)]),
		counter_value(events_[static_cast<int>(Event::empty)]));
}

} // namespace inctorch
