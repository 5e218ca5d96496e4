// SPDX-License-Identifier: LGPL-2.1-or-later
/* Reading the environment, and options that stand before it. */
#include "settings.hpp"

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <stdexcept>

#include <inc.h>

#include "count.hpp"

namespace inctorch {
namespace {

class Reader {
public:
	explicit Reader(const Overrides &overrides) : overrides_(overrides) {}

	std::string text(const char *name) const
	{
		auto found = overrides_.find(name);
		const char *value;

		if (found != overrides_.end())
			return found->second;
		value = getenv(name);
		return value ? value : "";
	}

	[[noreturn]] void refuse(const char *name, const char *expected) const
	{
		throw std::invalid_argument(std::string(name) + " is \"" + text(name) +
					    "\": expected " + expected);
	}

	uint64_t number(const char *name, uint64_t def, uint64_t max, const char *expected) const
	{
		std::string value = text(name);
		unsigned long long n;
		char *end;

		if (value.empty())
			return def;
		errno = 0;
		n = strtoull(value.c_str(), &end, 10);
		if (value[0] < '0' || value[0] > '9' || *end || errno || n > max)
			refuse(name, expected);
		return n;
	}

private:
	const Overrides &overrides_;
};

Mode read_mode(const Reader &from)
{
	std::string text = from.text("INC_TORCH");

	if (text.empty() || text == "on")
		return Mode::on;
	if (text == "off")
		return Mode::off;
	if (text != "verbose")
		from.refuse("INC_TORCH", "on, off or verbose");
	return Mode::verbose;
}

When read_gloo(const Reader &from)
{
	std::string text = from.text("INC_TORCH_GLOO");

	if (text.empty() || text == "init")
		return When::init;
	if (text != "lazy")
		from.refuse("INC_TORCH_GLOO", "init or lazy");
	return When::lazy;
}

bool is_wire(int type)
{
	return type == INC_TYPE_F32 || type == INC_TYPE_F16 || type == INC_TYPE_BF16 ||
	       type == INC_TYPE_F8E4M3 || type == INC_TYPE_F8E5M2;
}

uint32_t read_wire(const Reader &from)
{
	std::string text = from.text("INC_TORCH_WIRE");
	int type;

	if (text.empty() || text == "none")
		return 0;
	type = inc_type_parse(text == "fp8" ? "f8e4m3" : text.c_str());
	if (!is_wire(type))
		from.refuse("INC_TORCH_WIRE", "none, f32, bf16, f16, fp8, f8e4m3 or f8e5m2");
	return static_cast<uint32_t>(type);
}

/* Names with commas between them. */
uint32_t read_fns(const Reader &from)
{
	std::string text = from.text("INC_TORCH_COLLS"), name;
	std::istringstream names(text);
	uint32_t fns = 0;

	if (text.empty() || text == "all")
		return std::numeric_limits<uint32_t>::max();
	while (std::getline(names, name, ',')) {
		int fn = parse_fn(name);

		if (fn < 0)
			from.refuse("INC_TORCH_COLLS", "all, or names as allreduce,broadcast");
		fns |= 1u << fn;
	}
	return fns;
}

} // namespace

Settings read_settings(const Overrides &overrides)
{
	constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
	Reader from(overrides);
	Settings set{};

	set.mode = read_mode(from);
	set.gloo = read_gloo(from);
	set.report = from.number("INC_TORCH_REPORT", 0, 1, "0 or 1") || set.mode == Mode::verbose;
	set.one_host = from.number("INC_TORCH_ONE_HOST", 0, 1, "0 or 1");
	set.wire = read_wire(from);
	set.fns = read_fns(from);
	set.timeout_ms = from.number("INC_TORCH_TIMEOUT", 5000, 600000, "1 to 600000 milliseconds");
	if (!set.timeout_ms)
		from.refuse("INC_TORCH_TIMEOUT", "1 to 600000 milliseconds");
	set.min = from.number("INC_TORCH_MIN", 0, most, "a number of bytes");
	set.max = from.number("INC_TORCH_MAX", most, most, "a number of bytes");
	return set;
}

std::string tune_path(const Overrides &overrides)
{
	return Reader(overrides).text("INC_TORCH_TUNE");
}

} // namespace inctorch
