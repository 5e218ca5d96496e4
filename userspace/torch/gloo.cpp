// SPDX-License-Identifier: LGPL-2.1-or-later
/* The Gloo group of the same ranks, which does what INC does not. */
#include "gloo.hpp"

#include <atomic>
#include <thread>

#include <cxxabi.h>
#include <unistd.h>

#include <ATen/ATen.h>

#include "agree.hpp"
#include "patient.hpp"
#include "signals.hpp"
#include "staging.hpp"

namespace inctorch {
namespace {

using std::chrono::milliseconds;

/* Gloo's work, and what is to be done after it, once. */
class ThenWork : public c10d::Work {
public:
	ThenWork(WorkPtr work, std::vector<std::function<void()>> then, Tensors outputs)
		: work_(std::move(work)), then_(std::move(then)), outputs_(std::move(outputs))
	{
	}

	/* Who sees that it has ended uses the results without a wait(). */
	bool isCompleted() override
	{
		if (!work_->isCompleted())
			return false;
		if (work_->isSuccess())
			do_then();
		return true;
	}

	bool isSuccess() const override { return work_->isSuccess(); }
	std::exception_ptr exception() const override { return work_->exception(); }
	void abort() override { work_->abort(); }
	void synchronize() override { isCompleted(); }

	bool wait(milliseconds timeout) override
	{
		bool ret = work_->wait(timeout);

		do_then();
		return ret;
	}

	std::vector<at::Tensor> result() override
	{
		isCompleted();
		return outputs_;
	}

	c10::intrusive_ptr<c10::ivalue::Future> getFuture() override
	{
		auto self = c10::intrusive_ptr<ThenWork>::unsafe_reclaim_from_nonowning(this);
		auto type = c10::ListType::create(c10::TensorType::get());

		return work_->getFuture()->then(
			[self](c10::ivalue::Future &before) {
				if (before.hasError())
					std::rethrow_exception(before.exception_ptr());
				self->do_then();
				return c10::IValue(self->outputs_);
			}, type);
	}

private:
	void do_then()
	{
		std::vector<std::function<void()>> done;	/* freed without the lock */
		std::lock_guard<std::mutex> lock(then_lock_);

		for (auto &what : then_)
			what();
		done.swap(then_);
	}

	WorkPtr work_;
	std::mutex then_lock_;
	std::vector<std::function<void()>> then_;
	Tensors outputs_;
};

at::ScalarType gloo_type(at::ScalarType type)
{
	switch (type) {
	case at::kBool: return at::kByte;
	case at::kBFloat16: return at::kFloat;
	case at::kShort: return at::kInt;
	default: return type;
	}
}

} // namespace

/* ---- The group ----------------------------------------------------------- */

struct Gloo::Making {
	GlooMaker maker;
	StorePtr store;
	std::string prefix;
	int rank, size;
	milliseconds timeout;
	std::shared_ptr<std::atomic<bool>> stop = std::make_shared<std::atomic<bool>>(false);
	std::promise<BasePtr> promise;

	void run()
	{
		std::exception_ptr error;
		BasePtr made;

		try {
			made = maker(c10::make_intrusive<PatientStore>(prefix, store, "Gloo", stop),
				     rank, size, timeout);
		} catch (abi::__forced_unwind &) {
			throw;	/* Python ends threads so when it ends */
		} catch (...) {
			error = std::current_exception();
		}
		/* to free it needs Python's lock: before anybody hears that this has ended */
		maker = nullptr;
		if (error)
			promise.set_exception(error);
		else
			promise.set_value(std::move(made));
	}
};

Gloo::Gloo(GlooMaker maker, const StorePtr &store, int64_t generation, int rank, int size,
	   milliseconds timeout)
	: making_(std::make_shared<Making>()), pid_(getpid())
{
	making_->maker = std::move(maker);
	making_->store = store;
	making_->prefix = generation_prefix("gloo", generation);
	making_->rank = rank;
	making_->size = size;
	making_->timeout = timeout;
}

Gloo::~Gloo()
{
	if (pid_ == getpid()) {
		stop();
		await(std::chrono::steady_clock::now() + std::chrono::seconds(5));
	} else {
		/* never freed: its threads are the parent's of this process */
		new std::shared_future<BasePtr>(std::move(made_));
	}
}

void Gloo::stop()
{
	*making_->stop = true;
}

void Gloo::await(std::chrono::steady_clock::time_point until)
{
	std::shared_future<BasePtr> made;

	{
		std::lock_guard<std::mutex> lock(mutex_);

		made = made_;
	}
	if (made.valid() && pid_ == getpid())
		made.wait_until(until);
}

void Gloo::begin()
{
	std::lock_guard<std::mutex> lock(mutex_);
	auto making = making_;

	if (made_.valid())
		return;
	if (*making->stop)
		throw_error("inc: the process group was destroyed");
	made_ = making->promise.get_future().share();
	std::thread([making] { making->run(); }).detach();
}

Base &Gloo::get()
{
	SignalWatch signals;

	begin();
	while (made_.wait_for(signal_slice) != std::future_status::ready)
		signals.look();
	return *made_.get();
}

/* ---- Tensors ------------------------------------------------------------- */

at::Tensor ForGloo::in(const at::Tensor &tensor)
{
	at::NoGradGuard no_grad;

	if (tensor.layout() != at::kStrided)
		return tensor;
	if (tensor.is_complex())
		return at::view_as_real(tensor.to(at::kCPU).contiguous().resolve_conj()
					.resolve_neg());
	if (is_plain(tensor) && gloo_type(tensor.scalar_type()) == tensor.scalar_type())
		return tensor;
	return tensor.to(at::kCPU, gloo_type(tensor.scalar_type())).contiguous().resolve_neg();
}

at::Tensor ForGloo::out(const at::Tensor &tensor)
{
	at::Tensor memory = in(tensor);

	if (memory.is_same(tensor) || (tensor.is_complex() && memory.is_alias_of(tensor)))
		return memory;
	back_.push_back([tensor, memory] {
		at::NoGradGuard no_grad;

		tensor.copy_(tensor.is_complex() ? at::view_as_complex(memory) : memory);
	});
	return memory;
}

Tensors ForGloo::in(const Tensors &tensors)
{
	Tensors all;

	for (const at::Tensor &tensor : tensors)
		all.push_back(in(tensor));
	return all;
}

Tensors ForGloo::out(const Tensors &tensors)
{
	Tensors all;

	for (const at::Tensor &tensor : tensors)
		all.push_back(out(tensor));
	return all;
}

std::vector<Tensors> ForGloo::in(const std::vector<Tensors> &lists)
{
	std::vector<Tensors> all;

	for (const Tensors &list : lists)
		all.push_back(in(list));
	return all;
}

std::vector<Tensors> ForGloo::out(const std::vector<Tensors> &lists)
{
	std::vector<Tensors> all;

	for (const Tensors &list : lists)
		all.push_back(out(list));
	return all;
}

WorkPtr ForGloo::finish(WorkPtr work, Tensors outputs)
{
	then_.insert(then_.end(), back_.begin(), back_.end());
	if (then_.empty())
		return work;
	return c10::make_intrusive<ThenWork>(std::move(work), std::move(then_), std::move(outputs));
}

} // namespace inctorch
