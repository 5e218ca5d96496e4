// SPDX-License-Identifier: LGPL-2.1-or-later
/* Collectives that move elements and reduce nothing, and what is Gloo's always. */
#include "group.hpp"

#include <numeric>

#include "types.hpp"

namespace inctorch {
namespace {

/* One for each rank, all of the type and size of @one. */
bool are_shares(const Tensors &shares, const at::Tensor &one, int ranks)
{
	for (const at::Tensor &share : shares)
		if (share.numel() != one.numel() || share.scalar_type() != one.scalar_type())
			return false;
	return shares.size() == static_cast<size_t>(ranks);
}

/* One for each of @inputs, in their order, of its type and size. */
bool are_alike(const Tensors &outputs, const Tensors &inputs)
{
	if (outputs.size() != inputs.size())
		return false;
	for (size_t i = 0; i < inputs.size(); i++)
		if (outputs[i].numel() != inputs[i].numel() ||
		    outputs[i].scalar_type() != inputs[i].scalar_type())
			return false;
	return true;
}

[[noreturn]] void refuse(Fn fn, const std::string &expected)
{
	throw std::invalid_argument(std::string("inc: ") + fn_name(fn) + ": expected " + expected);
}

/* How many of INC's elements each share has. */
std::vector<uint64_t> counts_of(const Tensors &shares)
{
	std::vector<uint64_t> counts;
	uint64_t per;

	for (const at::Tensor &share : shares) {
		moved_type(share, &per);
		counts.push_back(static_cast<uint64_t>(share.numel()) * per);
	}
	return counts;
}

/* Splits of a tensor's first dimension in INC's elements; none: equal ones. */
std::vector<uint64_t> counts_of(Fn fn, const at::Tensor &tensor, const std::vector<int64_t> &splits,
				int size)
{
	std::vector<uint64_t> counts(static_cast<size_t>(size));
	int64_t rows;
	uint64_t per, row;

	if (!tensor.dim())
		refuse(fn, "tensors of one dimension or more, which is split");
	rows = tensor.size(0);
	for (int64_t split : splits)
		if (split < 0)
			refuse(fn, "splits of 0 or more");
	moved_type(tensor, &per);
	row = rows ? static_cast<uint64_t>(tensor.numel() / rows) * per : 0;
	if (splits.empty() && rows % size)
		refuse(fn, "a first dimension that the number of ranks divides");
	if (!splits.empty() && (splits.size() != counts.size() ||
				std::accumulate(splits.begin(), splits.end(), int64_t(0)) != rows))
		refuse(fn, "a split for each rank, which together are the first dimension");
	for (size_t i = 0; i < counts.size(); i++)
		counts[i] = static_cast<uint64_t>(splits.empty() ? rows / size : splits[i]) * row;
	return counts;
}

} // namespace

WorkPtr IncGroup::broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts)
{
	Why why = tensors.size() == 1 && opts.rootTensor == 0 ? Why::none : Why::several;

	if (opts.rootRank < 0 || opts.rootRank >= getSize())
		why = Why::args;
	if (why == Why::none && !numel(tensors))
		return nothing_to_do(Fn::broadcast, OpType::BROADCAST, tensors);
	if (why == Why::none)
		why = for_move(Fn::broadcast, tensors, numel(tensors));
	if (why != Why::none) {
		ForGloo use;
		Base &by = gloo(Fn::broadcast, why);
		Tensors all = use.out(tensors);

		return use.finish(by.broadcast(all, opts), tensors);
	}
	IncWorkPtr work = new_work(Fn::broadcast, OpType::BROADCAST, INC_COLL_BROADCAST,
				   opts.timeout);

	set_move(*work, tensors[0], numel(tensors));
	work->outputs = tensors;
	work->args.root = static_cast<uint32_t>(opts.rootRank);
	work->args.recv = work->staging.place(tensors, opts.rootRank == getRank() ? Staging::read :
						       Staging::write);
	if (opts.rootRank == getRank())
		work->args.send = INC_IN_PLACE;
	return start(work);
}

/* @outputs, in their order, are the shares of all ranks. */
WorkPtr IncGroup::gather_all(Fn fn, OpType type, const Tensors &outputs, const Tensors &inputs,
			     const Tensors &result, milliseconds timeout)
{
	IncWorkPtr work = new_work(fn, type, INC_COLL_ALLGATHER, timeout);
	char *recv, *own;

	set_move(*work, inputs[0], numel(inputs));
	work->bytes = numel(outputs) * outputs[0].element_size();
	work->outputs = result;
	recv = static_cast<char *>(work->staging.place(outputs, Staging::write));
	own = recv + work->bytes / ranks() * static_cast<uint64_t>(getRank());
	work->args.recv = recv;
	if (inputs.size() == 1 && is_plain(inputs[0]) && inputs[0].data_ptr() == own)
		work->args.send = INC_IN_PLACE;
	else
		work->args.send = work->staging.place(inputs, Staging::read, outputs);
	return start(work);
}

WorkPtr IncGroup::allgather(std::vector<Tensors> &outputs, Tensors &inputs,
			    const c10d::AllgatherOptions &opts)
{
	bool one = outputs.size() == 1 && inputs.size() == 1;
	Why why = one ? for_move(Fn::allgather, outputs[0], numel(outputs[0])) : Why::several;

	if (one && !are_shares(outputs[0], inputs[0], getSize()))
		refuse(Fn::allgather, "an output of the input's type and size for each rank");
	if (one && !inputs[0].numel())
		return nothing_to_do(Fn::allgather, OpType::ALLGATHER, outputs[0]);
	if (why != Why::none) {
		ForGloo use;
		Base &by = gloo(Fn::allgather, why);
		std::vector<Tensors> all = use.out(outputs);
		Tensors own = use.in(inputs);
		WorkPtr work = by.allgather(all, own, opts);	/* throws if there is no output */

		return use.finish(std::move(work), outputs[0]);
	}
	return gather_all(Fn::allgather, OpType::ALLGATHER, outputs[0], inputs, outputs[0],
			  opts.timeout);
}

WorkPtr IncGroup::_allgather_base(at::Tensor &output, at::Tensor &input,
				  const c10d::AllgatherOptions &opts)
{
	uint64_t all = static_cast<uint64_t>(input.numel()) * ranks();
	Why why = for_move(Fn::allgather_base, { output }, all);

	if (static_cast<uint64_t>(output.numel()) != all ||
	    output.scalar_type() != input.scalar_type())
		refuse(Fn::allgather_base, "an output of the input's type, and its size per rank");
	if (!all)
		return nothing_to_do(Fn::allgather_base, OpType::_ALLGATHER_BASE, { output });
	if (why != Why::none) {
		ForGloo use;
		Base &by = gloo(Fn::allgather_base, why);
		at::Tensor memory = use.out(output);
		Tensors own{ use.in(input).reshape({ -1 }) };

		memory = memory.view({ getSize(), own[0].numel() });
		std::vector<Tensors> shares{ memory.unbind(0) };
		return use.finish(by.allgather(shares, own, opts), { output });
	}
	return gather_all(Fn::allgather_base, OpType::_ALLGATHER_BASE, { output }, { input },
			  { output }, opts.timeout);
}

/* One list of outputs for each rank, in which there is one tensor for each input. */
WorkPtr IncGroup::allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
				      const c10d::AllgatherOptions &opts)
{
	Why why = for_move(Fn::allgather_coalesced, inputs,
			   numel(inputs) * ranks());
	Tensors all;

	if (outputs.size() != static_cast<size_t>(getSize()))
		refuse(Fn::allgather_coalesced, "a list of outputs for each rank");
	for (const Tensors &list : outputs) {
		if (!are_alike(list, inputs))
			refuse(Fn::allgather_coalesced, "lists of the inputs' types and sizes");
		all.insert(all.end(), list.begin(), list.end());
	}
	if (!inputs.empty() && !numel(inputs))
		return nothing_to_do(Fn::allgather_coalesced, OpType::ALLGATHER_COALESCED, all);
	if (why != Why::none) {
		ForGloo use;
		Base &by = gloo(Fn::allgather_coalesced, why);
		std::vector<Tensors> lists = use.out(outputs);
		Tensors own = use.in(inputs);

		return use.finish(by.allgather_coalesced(lists, own, opts), all);
	}
	return gather_all(Fn::allgather_coalesced, OpType::ALLGATHER_COALESCED, all, inputs, all,
			  opts.timeout);
}

WorkPtr IncGroup::gather(std::vector<Tensors> &outputs, Tensors &inputs,
			 const c10d::GatherOptions &opts)
{
	bool root = opts.rootRank == getRank();
	Why why = inputs.size() == 1 ? Why::none : Why::several;

	if (opts.rootRank < 0 || opts.rootRank >= getSize())
		why = Why::args;
	if (why == Why::none)
		why = for_move(Fn::gather, inputs, numel(inputs) * ranks());
	if (root && inputs.size() == 1 &&
	    (outputs.size() != 1 || !are_shares(outputs[0], inputs[0], getSize())))
		refuse(Fn::gather, "an output of the input's type and size for each rank");
	if (why != Why::args && inputs.size() == 1 && !numel(inputs))
		return nothing_to_do(Fn::gather, OpType::GATHER, root ? outputs[0] : Tensors());
	if (why != Why::none) {
		ForGloo use;
		Base &by = gloo(Fn::gather, why);
		std::vector<Tensors> all = use.out(outputs);
		Tensors own = use.in(inputs);
		WorkPtr work = by.gather(all, own, opts);	/* throws if there is no output */

		return use.finish(std::move(work), root ? outputs[0] : Tensors());
	}
	IncWorkPtr work = new_work(Fn::gather, OpType::GATHER, INC_COLL_GATHER, opts.timeout);

	set_move(*work, inputs[0], numel(inputs));
	work->bytes *= ranks();
	if (root)
		work->outputs = outputs[0];
	work->args.root = static_cast<uint32_t>(opts.rootRank);
	work->args.send = work->staging.place(inputs, Staging::read, work->outputs);
	if (root)
		work->args.recv = work->staging.place(work->outputs, Staging::write);
	return start(work);
}

WorkPtr IncGroup::scatter(Tensors &outputs, std::vector<Tensors> &inputs,
			  const c10d::ScatterOptions &opts)
{
	bool root = opts.rootRank == getRank();
	Why why = outputs.size() == 1 ? Why::none : Why::several;

	if (opts.rootRank < 0 || opts.rootRank >= getSize())
		why = Why::args;
	if (root && outputs.size() == 1 &&
	    (inputs.size() != 1 || !are_shares(inputs[0], outputs[0], getSize())))
		refuse(Fn::scatter, "an input of the output's type and size for each rank");
	if (why == Why::none && !numel(outputs))
		return nothing_to_do(Fn::scatter, OpType::SCATTER, outputs);
	if (why == Why::none)
		why = for_move(Fn::scatter, outputs, numel(outputs) * ranks());
	if (why != Why::none) {
		ForGloo use;
		Base &by = gloo(Fn::scatter, why);
		Tensors own = use.out(outputs);
		std::vector<Tensors> all = use.in(inputs);

		return use.finish(by.scatter(own, all, opts), outputs);
	}
	IncWorkPtr work = new_work(Fn::scatter, OpType::SCATTER, INC_COLL_SCATTER, opts.timeout);

	set_move(*work, outputs[0], numel(outputs));
	work->bytes *= ranks();
	work->outputs = outputs;
	work->args.root = static_cast<uint32_t>(opts.rootRank);
	if (root)
		work->args.send = work->staging.place(inputs[0], Staging::read, outputs);
	work->args.recv = work->staging.place(outputs, Staging::write);
	return start(work);
}

/* Shares may differ in size; no rank knows those of all others. */
WorkPtr IncGroup::alltoall(Tensors &outputs, Tensors &inputs, const c10d::AllToAllOptions &opts)
{
	Tensors all = inputs;
	size_t size = static_cast<size_t>(getSize());
	Why why;

	if (outputs.size() != size || inputs.size() != size)
		refuse(Fn::alltoall, "an input and an output for each rank");
	all.insert(all.end(), outputs.begin(), outputs.end());
	why = for_move(Fn::alltoall, all, 0);
	if (why != Why::none)
		return gloo_alltoall(gloo(Fn::alltoall, why), outputs, inputs, opts);
	IncWorkPtr work = new_work(Fn::alltoall, OpType::ALLTOALL, INC_COLL_ALLTOALL, opts.timeout);

	set_move(*work, inputs[0], numel(inputs));
	work->outputs = outputs;
	work->send_counts = counts_of(inputs);
	work->recv_counts = counts_of(outputs);
	work->args.mode = INC_MODE_COUNTS;
	work->args.count = 0;
	work->args.send = work->staging.place(inputs, Staging::read, outputs);
	work->args.recv = work->staging.place(outputs, Staging::write);
	work->args.send_counts = work->send_counts.data();
	work->args.recv_counts = work->recv_counts.data();
	return start(work);
}

WorkPtr IncGroup::alltoall_base(at::Tensor &output, at::Tensor &input,
				std::vector<int64_t> &output_splits,
				std::vector<int64_t> &input_splits,
				const c10d::AllToAllOptions &opts)
{
	constexpr Fn fn = Fn::alltoall_base;
	Why why = for_move(fn, { input, output }, 0);

	if (why != Why::none) {
		ForGloo use;
		Base &by = gloo(fn, why);
		at::Tensor to = use.out(output), from = use.in(input);

		return use.finish(by.alltoall_base(to, from, output_splits, input_splits, opts),
				  { output });
	}
	IncWorkPtr work = new_work(fn, OpType::ALLTOALL_BASE, INC_COLL_ALLTOALL, opts.timeout);

	set_move(*work, input, static_cast<uint64_t>(input.numel()));
	work->outputs = { output };
	work->send_counts = counts_of(fn, input, input_splits, getSize());
	work->recv_counts = counts_of(fn, output, output_splits, getSize());
	work->args.mode = INC_MODE_COUNTS;
	work->args.count = 0;
	work->args.send = work->staging.place(input, Staging::read, { output });
	work->args.recv = work->staging.place(output, Staging::write);
	work->args.send_counts = work->send_counts.data();
	work->args.recv_counts = work->recv_counts.data();
	return start(work);
}

WorkPtr IncGroup::barrier(const c10d::BarrierOptions &opts)
{
	Why why = by_group(Fn::barrier);

	if (why == Why::none)
		why = by_table(Fn::barrier, 0, 0);
	if (why != Why::none)
		return gloo(Fn::barrier, why).barrier(opts);
	return start(new_work(Fn::barrier, OpType::BARRIER, INC_COLL_BARRIER, opts.timeout));
}

/* ---- What is Gloo's always ------------------------------------------------ */

WorkPtr IncGroup::send(Tensors &tensors, int to, int tag)
{
	return gloo(Fn::send, why_set() ? agreed_.why : Why::not_inc).send(tensors, to, tag);
}

WorkPtr IncGroup::recv(Tensors &tensors, int from, int tag)
{
	return gloo(Fn::recv, why_set() ? agreed_.why : Why::not_inc).recv(tensors, from, tag);
}

WorkPtr IncGroup::recvAnysource(Tensors &tensors, int tag)
{
	return gloo(Fn::recv_anysource, why_set() ? agreed_.why : Why::not_inc)
		.recvAnysource(tensors, tag);
}

void IncGroup::monitoredBarrier(const c10d::BarrierOptions &opts, bool wait_all)
{
	gloo(Fn::monitored_barrier, why_set() ? agreed_.why : Why::not_inc)
		.monitoredBarrier(opts, wait_all);
}

} // namespace inctorch
