// SPDX-License-Identifier: LGPL-2.1-or-later
/* A process group: how it begins and ends, who does a call, and operations of INC's. */
#include "group.hpp"

#include <algorithm>

#include <unistd.h>

#include "types.hpp"

namespace inctorch {
namespace {

/* What process groups there are, as far as they have something that has to end. */
class ThereAre {
public:
	void add(const std::shared_ptr<Engine> &engine, const std::shared_ptr<Gloo> &gloo)
	{
		std::lock_guard<std::mutex> lock(mutex_);

		all_.erase(std::remove_if(all_.begin(), all_.end(), [](const One &one) {
			return one.gloo.expired() && one.engine.expired();
		}), all_.end());
		all_.push_back(One{ engine, gloo });
	}

	void end_all()
	{
		auto until = Clock::now() + std::chrono::seconds(5);
		std::vector<std::shared_ptr<Engine>> engines;
		std::vector<std::shared_ptr<Gloo>> gloos;

		{
			std::lock_guard<std::mutex> lock(mutex_);

			for (const One &one : all_) {
				engines.push_back(one.engine.lock());
				gloos.push_back(one.gloo.lock());
			}
		}
		for (const auto &gloo : gloos)
			if (gloo)
				gloo->stop();
		for (const auto &gloo : gloos)
			if (gloo)
				gloo->await(until);
		for (const auto &engine : engines)
			if (engine)
				engine->close();
	}

private:
	struct One {
		std::weak_ptr<Engine> engine;
		std::weak_ptr<Gloo> gloo;
	};

	std::mutex mutex_;
	std::vector<One> all_;
};

ThereAre &there_are()
{
	/* never freed: process groups may be destroyed while the process ends */
	static auto *all = new ThereAre;

	return *all;
}

} // namespace

void end_all()
{
	there_are().end_all();
}

/* ---- Begin and end ------------------------------------------------------- */

IncGroup::IncGroup(const StorePtr &store, int rank, int size, milliseconds timeout,
		   const Overrides &overrides, GlooMaker maker)
	: Base(rank, size), counts_(std::make_shared<Counts>()), timeout_(timeout), pid_(getpid())
{
	Settings own = read_settings(overrides);
	std::string tune;

	if (rank == 0)
		tune = Table::read(tune_path(overrides), static_cast<uint32_t>(size));
	agreed_ = agree(store, rank, size, own, tune);
	gloo_ = std::make_shared<Gloo>(std::move(maker), store, agreed_.generation, rank, size,
				       timeout);
	if (agreed_.group) {
		number_ = inc_group_id(agreed_.group);
		engine_ = std::make_shared<Engine>(agreed_.group, counts_);
	}
	there_are().add(engine_, gloo_);
	counts_->event(why_set() ? Event::refused : Event::groups);
	say_how();
	if (why_set() || agreed_.set.gloo == When::init) {
		counts_->event(Event::gloo);
		gloo_->begin();
	}
	if (why_set())
		gloo_->get();
}

IncGroup::~IncGroup()
{
	without_gil([this] {
		if (engine_)
			engine_->close();
		gloo_.reset();
	});
	if (agreed_.set.report && getRank() == 0 && pid_ == getpid())
		counts_->report(stderr, getSize());
}

/* Rank 0 says it; that there is no INC, once a process. */
void IncGroup::say_how()
{
	static std::atomic<bool> said;
	bool verbose = agreed_.set.mode == Mode::verbose;

	if (getRank() != 0)
		return;
	if (!why_set()) {
		if (verbose && agreed_.table)
			fprintf(stderr, "libinc-torch: group of %d ranks: INC group %u, %u lines "
				"of the tuning table\n", getSize(), number_,
				agreed_.table->lines());
		else if (verbose)
			fprintf(stderr, "libinc-torch: group of %d ranks: INC group %u\n",
				getSize(), number_);
		return;
	}
	if (!verbose && (agreed_.why == Why::off || agreed_.why == Why::alone ||
			 said.exchange(true)))
		return;
	fprintf(stderr, "libinc-torch: group of %d ranks: Gloo does everything: %s\n", getSize(),
		agreed_.reason.c_str());
}

void IncGroup::abort()
{
	if (engine_)
		engine_->cancel();
}

/* ---- Who does a call ------------------------------------------------------ */

Why IncGroup::by_group(Fn fn) const
{
	if (why_set())
		return agreed_.why;
	return agreed_.set.fns >> static_cast<int>(fn) & 1 ? Why::none : Why::chosen;
}

Why IncGroup::by_size(uint64_t bytes) const
{
	if (bytes < agreed_.set.min)
		return Why::min;
	return bytes > agreed_.set.max ? Why::max : Why::none;
}

Why IncGroup::by_table(Fn fn, uint32_t type, uint64_t bytes) const
{
	return agreed_.table ? agreed_.table->who(fn, type, bytes) : Why::none;
}

Why IncGroup::for_reduction(Fn fn, const at::Tensor &tensor, const c10d::ReduceOp &op,
			    uint64_t count)
{
	Why why = by_group(fn);

	if (why != Why::none)
		return why;
	if (tensor.layout() != at::kStrided)
		return Why::layout;
	if (static_cast<c10d::ReduceOp::RedOpType>(op) >= c10d::ReduceOp::PREMUL_SUM)
		return Why::op;
	if (!reduced_type(tensor.scalar_type()) || !reduced_op(op, tensor.scalar_type()))
		return Why::type;
	if (count > INC_MAX_COUNT)
		return Why::count;
	why = by_size(count * tensor.element_size());
	if (why != Why::none)
		return why;
	return by_table(fn, reduced_type(tensor.scalar_type()), count * tensor.element_size());
}

/* @count: elements of the largest buffer; 0: ranks do not know each other's. */
Why IncGroup::for_move(Fn fn, const Tensors &tensors, uint64_t count)
{
	Why why = by_group(fn);
	uint64_t per;

	if (why != Why::none)
		return why;
	if (tensors.empty())
		return Why::args;
	for (const at::Tensor &tensor : tensors) {
		if (tensor.layout() != at::kStrided)
			return Why::layout;
		if (tensor.scalar_type() != tensors[0].scalar_type())
			return Why::args;
	}
	moved_type(tensors[0], &per);
	if (count * per > INC_MAX_COUNT)
		return Why::count;
	if (count)
		why = by_size(count * tensors[0].element_size());
	return why == Why::none ? by_table(fn, 0, count * tensors[0].element_size()) : why;
}

Base &IncGroup::gloo(Fn fn, Why why)
{
	counts_->delegated(fn, why);
	return gloo_->get();
}

/* ---- Operations ----------------------------------------------------------- */

IncWorkPtr IncGroup::new_work(Fn fn, OpType type, inc_coll coll, milliseconds timeout)
{
	auto work = c10::make_intrusive<IncWork>(fn, type, getRank(), engine_);

	work->args.coll = coll;
	/* a limit of days is none, and a sum of times must not overflow */
	if (timeout < milliseconds(0))
		timeout = timeout_;
	work->limit = std::min<milliseconds>(timeout, std::chrono::hours(100000));
	work->deadline = Clock::now() + work->limit;
	return work;
}

void IncGroup::set_reduction(IncWork &work, const at::Tensor &tensor, const c10d::ReduceOp &op,
			     uint64_t count)
{
	uint32_t type = reduced_type(tensor.scalar_type());
	uint32_t inc_op = reduced_op(op, tensor.scalar_type());

	work.args.type = static_cast<inc_type>(type);
	work.args.op = static_cast<enum inc_op>(inc_op);
	work.args.wire = static_cast<inc_type>(wire_type(agreed_.set.wire, type, inc_op));
	work.args.count = count;
	work.bytes = count * tensor.element_size();
}

void IncGroup::set_move(IncWork &work, const at::Tensor &tensor, uint64_t count)
{
	uint64_t per;

	work.args.type = static_cast<inc_type>(moved_type(tensor, &per));
	work.args.count = count * per;
	work.bytes = count * tensor.element_size();
}

WorkPtr IncGroup::start(const IncWorkPtr &work)
{
	if (work->staging.copies())
		counts_->event(Event::staged);
	if (agreed_.table)
		work->saved_ns = agreed_.table->saved_ns(work->fn, work->args.type, work->bytes);
	sequence_++;
	engine_->start(work);
	return work;
}

/* No rank has anything to send: it has ended. Gloo does not take all such calls. */
WorkPtr IncGroup::nothing_to_do(Fn fn, OpType type, const Tensors &outputs)
{
	auto work = c10::make_intrusive<IncWork>(fn, type, getRank(), engine_);

	work->outputs = outputs;
	counts_->event(Event::empty);
	sequence_++;
	work->complete(nullptr);
	return work;
}

} // namespace inctorch
