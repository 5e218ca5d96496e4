/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A store whose clients do not block each other. All process groups of a process have one client of
 * c10d's store, and one that waits there for a key holds its connection: whoever waits looks for
 * the key again and again instead. Gloo's thread does, and so does what that must not wait for: a
 * rank may wait for Gloo, which needs that thread at all ranks, before it comes to what these wait
 * for.
 */
#ifndef INCTORCH_PATIENT_HPP
#define INCTORCH_PATIENT_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "signals.hpp"
#include "torch_version.hpp"

namespace inctorch {

class PatientStore : public c10d::PrefixStore {
public:
	/*
	 * @who: for the error's text; @stop: that it is not needed any more, null: it is a thread
	 * of the program that waits
	 */
	PatientStore(const std::string &prefix, StorePtr store, std::string who,
		     std::shared_ptr<std::atomic<bool>> stop = nullptr)
		: PrefixStore(prefix, std::move(store)), who_(std::move(who)),
		  stop_(std::move(stop))
	{
	}

	std::vector<uint8_t> get(const std::string &key) override
	{
		wait({ key });
		return PrefixStore::get(key);
	}

	/*
	 * Several keys in one request wait in the store. Without "override": 1.13 has no such
	 * question.
	 */
	virtual bool hasExtendedApi() const { return false; }

	void wait(const std::vector<std::string> &keys) override
	{
		wait(keys, getTimeout());
	}

	void wait(const std::vector<std::string> &keys,
		  const std::chrono::milliseconds &timeout) override
	{
		auto until = std::chrono::steady_clock::now() + timeout;
		std::chrono::milliseconds pause(1);
		SignalWatch signals;

		while (!check(keys)) {
			if (!stop_)
				signals.look();
			if (stop_ && *stop_)
				throw std::runtime_error("the process group was destroyed");
			if (std::chrono::steady_clock::now() >= until)
				throw std::runtime_error(who_ + ": some rank does not come");
			std::this_thread::sleep_for(pause);
			pause = std::min(pause * 2, std::chrono::milliseconds(20));
		}
	}

private:
	const std::string who_;
	std::shared_ptr<std::atomic<bool>> stop_;
};

} // namespace inctorch

#endif
