/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations of one INC group from their start to their end, and c10d's Work for each.
 *
 * Operations end in the order in which they started. Who waits for one drives: it waits in libinc
 * for the oldest that is under way, and completes it, until its own has ended. So a blocking call
 * needs no other thread. Only where somebody has asked for a future, which must complete by itself,
 * a thread drives: one for each process group, started at the first future.
 *
 * Callbacks of futures run in the thread that completes the operation, one after the other. One
 * that waits for another future must not keep that from completing: while all threads of the group
 * run callbacks, there is one more. It drives as soon as the callback has asked for the future of
 * an operation, or has taken `patience`: what it may wait for then is not known.
 *
 * Operations are kept, with all their tensors, until they have ended, also if their Work is
 * dropped.
 *
 * Locks. Engine::mutex_ is not held while libinc waits, nor while an operation completes or is
 * freed: that may run callbacks of the program, and wait for Python's lock, which a caller of
 * getFuture() or isCompleted() holds.
 *
 * fork(). The child has neither the threads nor the membership, and no copy of the socket
 * (inc_close_on_fork()): it takes no lock, calls nothing of libinc, and its calls raise an error.
 */
#ifndef INCTORCH_ENGINE_HPP
#define INCTORCH_ENGINE_HPP

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include <inc.h>

#include "count.hpp"
#include "signals.hpp"
#include "staging.hpp"
#include "torch_version.hpp"

namespace inctorch {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::hours a_year(365 * 24);	/* no limit is longer */

/*
 * Does what waits for other threads, which may need Python's lock: to free a tensor, for instance.
 * Not every destructor is called without it.
 */
extern std::function<void(const std::function<void()> &)> without_gil;

class Engine;

/* A thread that runs callbacks of an operation. Under Engine::mutex_. */
struct Inside {
	const Engine *engine;
	unsigned int asked;	/* operations under way of which it has asked for the future */
};

/* One operation. Filled by who makes it, before Engine::start(). */
class IncWork : public c10d::Work {
public:
	IncWork(Fn fn, OpType type, int rank, std::shared_ptr<Engine> engine);

	bool isCompleted() override;
	bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
	void synchronize() override {}
	void abort() override;
	std::vector<at::Tensor> result() override { return outputs; }
	c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

	/* It has ended, with @error if that is one. Runs callbacks. */
	void complete(std::exception_ptr error);

	const Fn fn;
	inc_args args{};
	std::vector<uint64_t> send_counts, recv_counts;
	uint64_t bytes = 0;		/* of the largest buffer */
	int64_t saved_ns = 0;		/* by INC, as the tuning table has it */
	Staging staging;
	Tensors outputs;		/* result(), and the value of the future */
	std::function<void()> then;	/* after the results are where they belong; may be empty */
	std::chrono::milliseconds limit{ 0 };
	Clock::time_point deadline;	/* when @limit is over */

private:
	friend class Engine;

	bool ended();			/* without driving */

	std::shared_ptr<Engine> engine_;
	c10::intrusive_ptr<c10::ivalue::Future> future_;
	inc_request request_{};
	bool queued_ = false, wanted_ = false;	/* engine's, under its lock, as all of these */
	std::weak_ptr<Inside> asked_by_;
};

using IncWorkPtr = c10::intrusive_ptr<IncWork>;

class Engine : public std::enable_shared_from_this<Engine> {
public:
	/* @group, joined, is the engine's from now on. */
	Engine(inc_group *group, std::shared_ptr<Counts> counts);
	~Engine();

	/* Throws what libinc says if it cannot start; the group is over then. */
	void start(const IncWorkPtr &work);

	/* False: not within the limit; it goes on. */
	bool wait(IncWork &work, Clock::time_point until);

	/* As far as it goes without waiting: has it ended? */
	bool test(IncWork &work);

	/* Somebody wants to be told when it ends. */
	void want(IncWork &work);

	/* Ends the group for all ranks: all operations under way fail. */
	void cancel();

	/*
	 * Waits until all operations have ended, some seconds at most, and leaves the group. After
	 * that nothing can be started.
	 */
	void close();

	/* That an operation has not ended within @limit, and which rank is waited for. */
	std::string late(std::chrono::milliseconds limit);

private:
	using Lock = std::unique_lock<std::mutex>;

	bool use_own_memory(IncWork &work);
	void look_for_signals(Lock &lock, SignalWatch *signals);
	void submit(Lock &lock, IncWork &work);
	void drive(Lock &lock, Clock::time_point until);
	void expire(IncWork &work);
	void end_first(Lock &lock, int result);
	void resume(const IncWork &work);
	std::string late_text(std::chrono::milliseconds limit);
	void look_at_missing();
	void run_callbacks(Lock &lock, IncWorkPtr work, std::exception_ptr error, bool wanted);
	void add_thread();
	bool is_child() const;
	void refuse_child() const;
	void forget();
	void drain(Lock &lock, std::chrono::milliseconds limit);
	void fail_all(Lock &lock);
	void run_thread();
	std::exception_ptr error_of(const IncWork &work, int result);

	inc_group *group_;
	std::shared_ptr<Counts> counts_;
	std::mutex mutex_;
	std::condition_variable changed_;
	std::deque<IncWorkPtr> pending_;
	std::vector<std::thread> threads_;
	unsigned int free_ = 0;		/* those of @threads_ that run no callbacks */
	unsigned int busy_ = 0;		/* threads in callbacks that have asked for no future */
	Clock::time_point busy_since_;	/* of the last of them */
	std::string late_;		/* what was waited for when an operation's time was over */
	uint32_t missing_ = ~0U;	/* the rank that was waited for at the last look, ~0: none */
	unsigned int wanted_ = 0;	/* operations under way whose future somebody has */
	bool driving_ = false;		/* some thread does */
	bool cancelled_ = false, closed_ = false, stop_ = false;
	const pid_t pid_;
};

} // namespace inctorch

#endif
