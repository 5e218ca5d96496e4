/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings of a process group: INC_TORCH and its like, see Documentation/howto-torch.rst. */
#ifndef INCTORCH_SETTINGS_HPP
#define INCTORCH_SETTINGS_HPP

#include <cstdint>
#include <map>
#include <string>

namespace inctorch {

enum class Mode : uint32_t { off, on, verbose };
enum class When : uint32_t { init, lazy };

/* Plain bytes: rank 0 tells those that have to be equal to the others (struct Proposal). */
struct Settings {
	Mode mode;
	When gloo;		/* when Gloo is made */
	uint32_t report;
	uint32_t one_host;	/* also where all ranks are on one host */
	uint32_t wire;		/* enum inc_type of sums on the wire, 0: as in memory */
	uint32_t fns;		/* bit n: Fn n may use INC */
	uint32_t timeout_ms;	/* of joining */
	uint32_t resv;
	uint64_t min, max;	/* bytes of a call's largest buffer */
};

/* Values that stand before those of the environment: names as INC_TORCH_WIRE. */
using Overrides = std::map<std::string, std::string>;

/* Throws std::invalid_argument (ValueError), which says what was wrong, and what is expected. */
Settings read_settings(const Overrides &overrides);

/* INC_TORCH_TUNE: of rank 0 alone. */
std::string tune_path(const Overrides &overrides);

} // namespace inctorch

#endif
