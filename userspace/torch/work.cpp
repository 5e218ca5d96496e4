// SPDX-License-Identifier: LGPL-2.1-or-later
/* c10d's Work for one operation of INC's. */
#include "engine.hpp"

#include <algorithm>

namespace inctorch {
namespace {

c10::intrusive_ptr<c10::ivalue::Future> new_future()
{
	return c10::make_intrusive<c10::ivalue::Future>(
		c10::ListType::create(c10::TensorType::get()));
}

} // namespace

/* The base keeps @profiling until the operation has ended: torch.profiler shows it so. */
IncWork::IncWork(Fn fn, OpType type, int rank, std::shared_ptr<Engine> engine)
	: Work(rank, type, (std::string("inc:") + fn_name(fn)).c_str()), fn(fn),
	  engine_(std::move(engine))
{
}

bool IncWork::ended()
{
	std::lock_guard<decltype(mutex_)> lock(mutex_);

	return completed_;
}

bool IncWork::isCompleted()
{
	return ended() || (engine_ && engine_->test(*this));
}

bool IncWork::wait(std::chrono::milliseconds timeout)
{
	Clock::time_point until = Clock::time_point::max();

	if (timeout > kNoTimeout)
		until = Clock::now() + std::min<std::chrono::milliseconds>(timeout, a_year);
	if (engine_ && !engine_->wait(*this, until))
		throw_error(std::string("inc: ") + fn_name(fn) + ": " +
			    engine_->late(timeout) + "; it goes on");
	std::lock_guard<decltype(mutex_)> lock(mutex_);
	if (exception_)
		std::rethrow_exception(exception_);
	return true;
}

void IncWork::abort()
{
	if (engine_ && !ended())
		engine_->cancel();
}

c10::intrusive_ptr<c10::ivalue::Future> IncWork::getFuture()
{
	c10::intrusive_ptr<c10::ivalue::Future> future;
	std::exception_ptr error;

	{
		std::lock_guard<decltype(mutex_)> lock(mutex_);

		if (future_)
			return future_;
		future = new_future();
		if (!completed_)
			future_ = future;
		error = exception_;
	}
	if (future_) {
		engine_->want(*this);
	} else if (error) {
		future->setError(error);
	} else {
		future->markCompleted(c10::IValue(outputs));
	}
	return future;
}

void IncWork::complete(std::exception_ptr error)
{
	c10::intrusive_ptr<c10::ivalue::Future> future;

	try {
		if (!error)
			staging.finish();
		if (!error && then)
			then();
	} catch (...) {
		error = std::current_exception();
	}
	staging = Staging();
	then = nullptr;
	finish(error);
	{
		std::lock_guard<decltype(mutex_)> lock(mutex_);

		future = future_;
	}
	if (!future)
		return;
	if (error)
		future->setError(error);
	else
		future->markCompleted(c10::IValue(outputs));
}

} // namespace inctorch
