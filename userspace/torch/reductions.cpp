// SPDX-License-Identifier: LGPL-2.1-or-later
/* Collectives that reduce. */
#include "group.hpp"

namespace inctorch {
namespace {

bool one_type(const Tensors &tensors)
{
	for (const at::Tensor &tensor : tensors)
		if (tensor.scalar_type() != tensors[0].scalar_type() ||
		    tensor.layout() != tensors[0].layout())
			return false;
	return true;
}

} // namespace

/* Tensors of one rank are one vector, one behind the other. */
WorkPtr IncGroup::allreduce_by(Fn fn, OpType type, Tensors &tensors, const c10d::ReduceOp &op,
			       milliseconds timeout)
{
	IncWorkPtr work = new_work(fn, type, INC_COLL_ALLREDUCE, timeout);

	set_reduction(*work, tensors[0], op, numel(tensors));
	work->outputs = tensors;
	work->args.send = INC_IN_PLACE;
	work->args.recv = work->staging.place(tensors, Staging::both);
	return start(work);
}

WorkPtr IncGroup::allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts)
{
	Why why = tensors.size() == 1 ? Why::none : Why::several;

	if (!tensors.empty() && !numel(tensors))
		return nothing_to_do(Fn::allreduce, OpType::ALLREDUCE, tensors);
	if (why == Why::none)
		why = for_reduction(Fn::allreduce, tensors[0], opts.reduceOp, numel(tensors));
	if (why != Why::none)
		return gloo_allreduce(gloo(Fn::allreduce, why), tensors, opts.reduceOp,
				      opts.timeout);
	return allreduce_by(Fn::allreduce, OpType::ALLREDUCE, tensors, opts.reduceOp,
			    opts.timeout);
}

WorkPtr IncGroup::allreduce_coalesced(Tensors &tensors, const c10d::AllreduceCoalescedOptions &opts)
{
	Why why = !tensors.empty() && one_type(tensors) ? Why::none : Why::args;

	if (!tensors.empty() && !numel(tensors))
		return nothing_to_do(Fn::allreduce_coalesced, OpType::ALLREDUCE_COALESCED, tensors);
	if (why == Why::none)
		why = for_reduction(Fn::allreduce_coalesced, tensors[0], opts.reduceOp,
				    numel(tensors));
	if (why != Why::none) {
		Base &by = gloo(Fn::allreduce_coalesced, why);

		/* Gloo has no such thing, and says so. */
		if (tensors.empty() || !one_type(tensors) || tensors[0].layout() != at::kStrided)
			return by.allreduce_coalesced(tensors, opts);
		return gloo_allreduce_coalesced(by, tensors, opts);
	}
	return allreduce_by(Fn::allreduce_coalesced, OpType::ALLREDUCE_COALESCED, tensors,
			    opts.reduceOp, opts.timeout);
}

WorkPtr IncGroup::reduce(Tensors &tensors, const c10d::ReduceOptions &opts)
{
	Why why = tensors.size() == 1 ? Why::none : Why::several;
	bool root = opts.rootRank == getRank();

	if (opts.rootRank < 0 || opts.rootRank >= getSize())
		why = Why::args;
	if (why == Why::none && !numel(tensors))
		return nothing_to_do(Fn::reduce, OpType::REDUCE, tensors);
	if (why == Why::none)
		why = for_reduction(Fn::reduce, tensors[0], opts.reduceOp, numel(tensors));
	if (why != Why::none)
		return gloo_reduce(gloo(Fn::reduce, why), tensors, opts);
	IncWorkPtr work = new_work(Fn::reduce, OpType::REDUCE, INC_COLL_REDUCE, opts.timeout);

	set_reduction(*work, tensors[0], opts.reduceOp, numel(tensors));
	work->outputs = tensors;
	work->args.root = static_cast<uint32_t>(opts.rootRank);
	if (root) {
		work->args.send = INC_IN_PLACE;
		work->args.recv = work->staging.place(tensors, Staging::both);
	} else {
		work->args.send = work->staging.place(tensors, Staging::read);
	}
	return start(work);
}

/* @inputs: one share for each rank, or all of them in one tensor. */
WorkPtr IncGroup::scatter_sums(Fn fn, OpType type, at::Tensor &output, const Tensors &inputs,
			       const c10d::ReduceScatterOptions &opts)
{
	uint64_t count = static_cast<uint64_t>(output.numel());
	uint64_t all = count * ranks();
	Why why = for_reduction(fn, output, opts.reduceOp, all);

	if (numel(inputs) != all || !one_type(inputs) ||
	    inputs[0].scalar_type() != output.scalar_type())
		throw std::invalid_argument(std::string("inc: ") + fn_name(fn) +
					    ": the input has to be of the output's type and " +
					    std::to_string(getSize()) + " times its size");
	if (!count)
		return nothing_to_do(fn, type, { output });
	if (why != Why::none)
		return gloo_scatter_sums(gloo(fn, why), output, inputs, opts);
	IncWorkPtr work = new_work(fn, type, INC_COLL_REDUCE_SCATTER, opts.timeout);

	set_reduction(*work, output, opts.reduceOp, count);
	work->bytes *= ranks();
	work->outputs = { output };
	work->args.send = work->staging.place(inputs, Staging::read, { output });
	work->args.recv = work->staging.place(output, Staging::write);
	return start(work);
}

WorkPtr IncGroup::reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
				 const c10d::ReduceScatterOptions &opts)
{
	if (outputs.size() != 1 || inputs.size() != 1 ||
	    inputs[0].size() != static_cast<size_t>(getSize()))
		throw std::invalid_argument("inc: reduce_scatter: expected an input for each rank");
	for (const at::Tensor &input : inputs[0])
		if (input.numel() != outputs[0].numel())
			throw std::invalid_argument(
				"inc: reduce_scatter: an input is not of the output's size");
	return scatter_sums(Fn::reduce_scatter, OpType::REDUCE_SCATTER, outputs[0], inputs[0],
			    opts);
}

WorkPtr IncGroup::_reduce_scatter_base(at::Tensor &output, at::Tensor &input,
				       const c10d::ReduceScatterOptions &opts)
{
	return scatter_sums(Fn::reduce_scatter_base, OpType::_REDUCE_SCATTER_BASE, output,
			    { input }, opts);
}

} // namespace inctorch
