// SPDX-License-Identifier: LGPL-2.1-or-later
/* Operations of one INC group from their start to their end. */
#include "engine.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include <unistd.h>

namespace inctorch {

std::function<void()> check_signals;
std::function<void(const std::function<void()> &)> without_gil = [](const auto &what) { what(); };

namespace {

using std::chrono::milliseconds;

constexpr milliseconds thread_slice(1000);	/* between two looks at who is waited for */
constexpr milliseconds drain_limit(10000);
constexpr milliseconds cancel_limit(15000);	/* more than the `dead` limit of a node */
constexpr milliseconds patience(100);	/* with callbacks that may wait for what is not known */

/* The callbacks that this thread runs, and the engine whose thread it is. */
thread_local std::shared_ptr<Inside> inside;
thread_local const Engine *thread_of;

/* How long a limit is waited for while no operation of this process ends, and if it has none. */
constexpr milliseconds full_limit(60000);
constexpr milliseconds others_limit(1000);
constexpr milliseconds full_slice(2);	/* between two attempts */

/* Operations of this process that have begun and not ended, and how many have ended so far. */
std::atomic<unsigned int> nr_begun, nr_ended;

/*
 * Waiting for a limit of the user or the host: nothing has begun, and the operation may begin when
 * some of this process have ended, also of other groups. What other processes have is given back
 * soon, or not before this rank comes.
 */
class Room {
public:
	explicit Room(Clock::time_point deadline) : deadline_(deadline) {}

	/* After this result of an attempt, is there to be another one? */
	bool may_come(int result)
	{
		Clock::time_point now = Clock::now();
		unsigned int ended = nr_ended;

		if (result == -EAGAIN)
			return true;
		if (result != -ENOMEM && result != -ENOBUFS && result != -EDQUOT)
			return false;
		if (ended != seen_)
			since_ = now;
		seen_ = ended;
		return now < std::min(since_ + (nr_begun ? full_limit : others_limit), deadline_);
	}

private:
	const Clock::time_point deadline_;
	unsigned int seen_ = nr_ended;
	Clock::time_point since_ = Clock::now();
};

int ms_until(Clock::time_point until)
{
	auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();

	return static_cast<int>(std::min<int64_t>(std::max<int64_t>(left, 0), 3600000));
}

} // namespace

Engine::Engine(inc_group *group, std::shared_ptr<Counts> counts)
	: group_(group), counts_(std::move(counts)), pid_(getpid())
{
}

Engine::~Engine()
{
	close();
}

bool Engine::is_child() const
{
	return pid_ != getpid();
}

/* In a child the lock may be held by a thread that there is not. */
void Engine::refuse_child() const
{
	if (is_child())
		throw_error("inc: the process group is the parent's of this process");
}

std::string Engine::late(milliseconds limit)
{
	Lock lock(mutex_);

	return late_text(limit);
}

std::string Engine::late_text(milliseconds limit)
{
	std::string text = "not within " + std::to_string(limit.count()) + " ms";

	look_at_missing();
	if (missing_ != ~0U)
		text += ", waiting for rank " + std::to_string(missing_);
	return text;
}

/* While the group works: who has ended it may have waited for that rank, too. */
void Engine::look_at_missing()
{
	struct inc_info info;

	missing_ = group_ && !inc_info(group_, &info) ? info.missing : ~0U;
}

std::exception_ptr Engine::error_of(const IncWork &work, int result)
{
	std::string text;

	if (!result)
		return nullptr;
	counts_->event(Event::errors);
	text = late_.empty() ? inc_errmsg(group_) : late_;
	if (text.empty())
		text = inc_strerror(result);
	if (late_.empty() && result == -ECONNRESET && missing_ != ~0U)
		text += ", while rank " + std::to_string(missing_) + " was waited for";
	try {
		throw_error(std::string("inc: ") + fn_name(work.fn) + ": " + text);
	} catch (...) {
		return std::current_exception();
	}
}

/* ---- Starting ------------------------------------------------------------ */

/* -EFAULT: the operation does not exist yet, so it may begin again with other memory. */
bool Engine::use_own_memory(IncWork &work)
{
	try {
		if (!work.staging.copy_all(work.args))
			return false;
	} catch (...) {
		/* the other ranks would wait for this one */
		inc_cancel(group_);
		throw;
	}
	counts_->event(Event::staged_memory);
	return true;
}

/* While an operation has not begun. */
void Engine::look_for_signals(Lock &lock, SignalWatch *signals)
{
	if (!signals->due())
		return;
	lock.unlock();
	try {
		signals->look();
	} catch (...) {
		/* the other ranks would wait for this one */
		cancel();
		throw;
	}
	lock.lock();
}

void Engine::submit(Lock &lock, IncWork &work)
{
	Room room(work.deadline);
	std::exception_ptr error;
	SignalWatch signals;
	int ret;

	/*
	 * As many are under way as the kernel holds of a group (-EAGAIN), or as a limit lets it
	 * hold: until one of them has ended.
	 */
	while (room.may_come(ret = inc_icollective(group_, &work.args, &work.request_)) ||
	       (ret == -EFAULT && use_own_memory(work))) {
		if (ret == -EFAULT)
			continue;
		if (driving_ || pending_.empty())
			changed_.wait_for(lock, milliseconds(1));
		else
			drive(lock, Clock::now() + (ret == -EAGAIN ? signal_slice : full_slice));
		look_for_signals(lock, &signals);
	}
	if (!ret) {
		nr_begun++;
		return;
	}
	error = error_of(work, ret);
	/* the other ranks would wait for this one */
	inc_cancel(group_);
	std::rethrow_exception(error);
}

void Engine::start(const IncWorkPtr &work)
{
	refuse_child();

	Lock lock(mutex_);

	if (closed_)
		throw_error("inc: the process group was destroyed");
	submit(lock, *work);
	work->queued_ = true;
	pending_.push_back(work);
	changed_.notify_all();
}

/* ---- Ending -------------------------------------------------------------- */

/* Its time is over: the group ends, and with it this operation. */
void Engine::expire(IncWork &work)
{
	if (!cancelled_) {
		late_ = late_text(work.limit);
		inc_cancel(group_);
	}
	cancelled_ = true;
	work.deadline = Clock::now() + cancel_limit;
}

/* Callbacks that may wait for it go on. */
void Engine::resume(const IncWork &work)
{
	auto by = work.asked_by_.lock();

	if (!by || --by->asked)
		return;
	busy_++;
	busy_since_ = Clock::now();
}

void Engine::end_first(Lock &lock, int result)
{
	IncWorkPtr work = pending_.front();
	std::exception_ptr error = error_of(*work, result);
	bool wanted = work->wanted_;

	nr_begun--;
	nr_ended++;
	pending_.pop_front();
	work->queued_ = false;
	if (wanted)
		wanted_--;
	resume(*work);
	if (!error) {
		counts_->done(work->fn, work->bytes, work->saved_ns);
		missing_ = ~0U;
	}
	run_callbacks(lock, std::move(work), error, wanted);
	changed_.notify_all();
}

void Engine::run_callbacks(Lock &lock, IncWorkPtr work, std::exception_ptr error, bool wanted)
{
	std::shared_ptr<Inside> outer = inside, here;
	bool ours = thread_of == this;

	if (wanted) {
		here = std::make_shared<Inside>(Inside{ this, 0 });
		busy_++;
		busy_since_ = Clock::now();
	}
	free_ -= ours;
	add_thread();
	changed_.notify_all();
	inside = here;
	lock.unlock();
	work->complete(error);
	/* without the lock: freeing tensors may wait for Python's, whose owner may wait for ours */
	work.reset();
	lock.lock();
	inside = outer;
	free_ += ours;
	if (here && !here->asked)
		busy_--;
}

/*
 * Waits for the oldest operation, which there is; nobody else drives. It is the queue's until
 * end_first() has it.
 */
void Engine::drive(Lock &lock, Clock::time_point until)
{
	IncWork *work = pending_.front().get();
	Clock::time_point end = std::min(until, work->deadline);
	int ret;

	driving_ = true;
	lock.unlock();
	ret = inc_wait(&work->request_, ms_until(end));
	lock.lock();
	driving_ = false;
	if (ret == -ETIMEDOUT && Clock::now() >= work->deadline)
		expire(*work);
	else if (ret == -ETIMEDOUT && !cancelled_)
		look_at_missing();
	if (ret == -ETIMEDOUT)
		changed_.notify_all();
	else
		end_first(lock, ret > 0 ? -ETIME : ret);	/* not of all ranks: an error */
}

bool Engine::wait(IncWork &work, Clock::time_point until)
{
	if (work.ended())
		return true;
	refuse_child();

	Lock lock(mutex_);

	while (!work.ended()) {
		Clock::time_point now = Clock::now(), end = std::min(until, now + signal_slice);

		if (now >= until)
			return false;
		if (driving_ || !work.queued_)
			changed_.wait_until(lock, end);
		else
			drive(lock, end);
		if (work.ended() || Clock::now() < end || !check_signals)
			continue;
		lock.unlock();
		check_signals();
		lock.lock();
	}
	return true;
}

bool Engine::test(IncWork &work)
{
	if (is_child())
		return work.ended();

	Lock lock(mutex_);

	while (!driving_ && work.queued_) {
		int ret = inc_test(&pending_.front()->request_);

		if (ret == -EAGAIN && Clock::now() >= pending_.front()->deadline)
			expire(*pending_.front());
		if (ret == -EAGAIN)
			break;
		end_first(lock, ret > 0 ? -ETIME : ret);
	}
	return work.ended();
}

void Engine::cancel()
{
	if (is_child())
		return;

	Lock lock(mutex_);

	if (group_ && !closed_)
		inc_cancel(group_);
	cancelled_ = true;
}

/* ---- The threads --------------------------------------------------------- */

/* Where somebody has a future, and no thread is free to complete it. */
void Engine::add_thread()
{
	auto self = weak_from_this().lock();

	if (!self || !wanted_ || free_ || stop_)
		return;
	try {
		threads_.emplace_back([self] { self->run_thread(); });
	} catch (const std::system_error &) {
		/* those that there are go on when their callbacks have ended */
		return;
	}
	free_++;
	counts_->event(Event::threads);
}

void Engine::want(IncWork &work)
{
	if (is_child())
		return;

	Lock lock(mutex_);

	if (!work.queued_ || work.wanted_)
		return;
	work.wanted_ = true;
	wanted_++;
	if (inside && inside->engine == this) {
		work.asked_by_ = inside;
		if (!inside->asked++)
			busy_--;
	}
	add_thread();
	changed_.notify_all();
}

void Engine::run_thread()
{
	Lock lock(mutex_);

	thread_of = this;
	while (!stop_) {
		if (!wanted_ || driving_ || pending_.empty())
			changed_.wait(lock);
		else if (busy_ && Clock::now() < busy_since_ + patience)
			changed_.wait_until(lock, busy_since_ + patience);
		else
			drive(lock, Clock::now() + thread_slice);
	}
}

/* ---- The end ------------------------------------------------------------- */

void Engine::drain(Lock &lock, milliseconds limit)
{
	Clock::time_point until = Clock::now() + limit;

	while (!pending_.empty() && Clock::now() < until) {
		if (driving_)
			changed_.wait_until(lock, until);
		else
			drive(lock, until);
	}
}

void Engine::fail_all(Lock &lock)
{
	while (!pending_.empty())
		end_first(lock, -ECONNRESET);
}

/*
 * Its threads, and what they have locked, are the parent's of this process. The group stays as it
 * is: another thread of the parent may have had its lock.
 */
void Engine::forget()
{
	if (closed_)
		return;
	closed_ = true;
	group_ = nullptr;
	/* never freed: nobody can wait for them here */
	new std::vector<std::thread>(std::move(threads_));
}

void Engine::close()
{
	if (is_child()) {
		forget();
		return;
	}

	Lock lock(mutex_);
	std::vector<std::thread> threads;

	if (closed_)
		return;
	closed_ = true;
	if (!cancelled_)
		drain(lock, drain_limit);
	if (!pending_.empty()) {
		inc_cancel(group_);
		cancelled_ = true;
		drain(lock, cancel_limit);
	}
	stop_ = true;
	threads.swap(threads_);
	changed_.notify_all();
	lock.unlock();
	for (std::thread &thread : threads) {
		/* the last reference may be dropped by a callback */
		if (thread.get_id() == std::this_thread::get_id())
			thread.detach();
		else
			thread.join();
	}
	lock.lock();
	if (!pending_.empty()) {
		fail_all(lock);
		inc_abort(group_);
	} else if (inc_leave(group_) == -EBUSY) {
		inc_abort(group_);
	}
	group_ = nullptr;
}

} // namespace inctorch
