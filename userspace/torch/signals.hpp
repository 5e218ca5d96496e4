/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ctrl-C: what waits for other ranks looks for signals now and then. */
#ifndef INCTORCH_SIGNALS_HPP
#define INCTORCH_SIGNALS_HPP

#include <chrono>
#include <functional>

namespace inctorch {

constexpr std::chrono::milliseconds signal_slice(100);	/* between two looks at signals */

/*
 * Called a few times a second by a thread of the program that waits; throws to end the waiting, as
 * after Ctrl-C. No lock is held.
 */
extern std::function<void()> check_signals;

/* Looks if the last look is long ago. */
class SignalWatch {
public:
	bool due() const
	{
		return check_signals && std::chrono::steady_clock::now() >= next_;
	}

	void look()
	{
		if (!due())
			return;
		check_signals();
		next_ = std::chrono::steady_clock::now() + signal_slice;
	}

private:
	std::chrono::steady_clock::time_point next_ =
		std::chrono::steady_clock::now() + signal_slice;
};

} // namespace inctorch

#endif
