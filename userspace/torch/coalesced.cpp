// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Lists of single tensors in one call, as functional collectives and DTensor have them: one after
 * the other by the calls for one.
 */
#include "group.hpp"

namespace inctorch {
namespace {

/* All works of a list. They begin in the same order at all ranks. */
class ListWork : public c10d::Work {
public:
	ListWork(std::vector<WorkPtr> works, Tensors outputs)
		: works_(std::move(works)), outputs_(std::move(outputs))
	{
	}

	bool isCompleted() override
	{
		for (const WorkPtr &work : works_)
			if (!work->isCompleted())
				return false;
		return true;
	}

	bool isSuccess() const override
	{
		for (const WorkPtr &work : works_)
			if (!work->isSuccess())
				return false;
		return true;
	}

	std::exception_ptr exception() const override
	{
		for (const WorkPtr &work : works_)
			if (work->exception())
				return work->exception();
		return nullptr;
	}

	bool wait(milliseconds timeout) override
	{
		Clock::time_point until = Clock::now() + std::min<milliseconds>(timeout, a_year);

		for (const WorkPtr &work : works_) {
			auto left = until - Clock::now();

			if (timeout <= kNoTimeout)
				work->wait(kNoTimeout);
			else	/* 0 is no limit */
				work->wait(std::max(std::chrono::ceil<milliseconds>(left),
						    milliseconds(1)));
		}
		return true;
	}

	void abort() override
	{
		for (const WorkPtr &work : works_)
			work->abort();
	}

	void synchronize() override
	{
		for (const WorkPtr &work : works_)
			work->synchronize();
	}

	std::vector<at::Tensor> result() override { return outputs_; }

	c10::intrusive_ptr<c10::ivalue::Future> getFuture() override
	{
		auto type = c10::ListType::create(c10::TensorType::get());
		c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(
			c10::FutureType::create(type));
		Tensors outputs = outputs_;

		for (const WorkPtr &work : works_)
			futures.push_back(work->getFuture());
		return c10::collectAll(futures)->then(
			[outputs](c10::ivalue::Future &before) {
				if (before.hasError())
					std::rethrow_exception(before.exception_ptr());
				return c10::IValue(outputs);
			}, type);
	}

private:
	std::vector<WorkPtr> works_;
	Tensors outputs_;
};

/* Before anything of it has begun. */
void check_lists(const char *name, const Tensors &outputs, const Tensors &inputs)
{
	if (inputs.empty() || outputs.size() != inputs.size())
		throw std::invalid_argument(std::string("inc: ") + name +
					    ": expected an output for each input, one or more");
}

} // namespace

WorkPtr IncGroup::allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
						  const c10d::AllgatherOptions &opts)
{
	std::vector<WorkPtr> works;

	check_lists("allgather_into_tensor_coalesced", outputs, inputs);
	for (size_t i = 0; i < inputs.size(); i++)
		works.push_back(_allgather_base(outputs[i], inputs[i], opts));
	return c10::make_intrusive<ListWork>(std::move(works), outputs);
}

WorkPtr IncGroup::reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
						  const c10d::ReduceScatterOptions &opts)
{
	std::vector<WorkPtr> works;

	check_lists("reduce_scatter_tensor_coalesced", outputs, inputs);
	for (size_t i = 0; i < inputs.size(); i++)
		works.push_back(_reduce_scatter_base(outputs[i], inputs[i], opts));
	return c10::make_intrusive<ListWork>(std::move(works), outputs);
}

} // namespace inctorch
