// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What Gloo does not have, by something that it has, so that a program that runs with INC also runs
 * where there is none: averages, sums of bool, reduce-scatter, alltoall and allreduce of lists.
 */
#include "group.hpp"

#include <ATen/ATen.h>

namespace inctorch {
namespace {

using Op = c10d::ReduceOp;

/* Complex numbers are two real ones for Gloo, which is right for sums alone. */
void check_complex(const Op &op)
{
	switch (static_cast<Op::RedOpType>(op)) {
	case Op::PRODUCT:
	case Op::MIN:
	case Op::MAX:
	case Op::BAND:
	case Op::BOR:
	case Op::BXOR:
		throw std::invalid_argument("inc: Gloo, which does this call, has only SUM and AVG "
					    "of complex tensors");
	default:
		break;
	}
}

/* What Gloo is to do for @op; sums of bool, converted to u8, would wrap. */
Op gloo_op(const Op &op, at::ScalarType type)
{
	if (at::isComplexType(type))
		check_complex(op);
	switch (static_cast<Op::RedOpType>(op)) {
	case Op::AVG:
		return Op::SUM;
	case Op::SUM:
	case Op::BOR:
		return type == at::kBool ? Op(Op::MAX) : op;
	case Op::PRODUCT:
	case Op::BAND:
		return type == at::kBool ? Op(Op::MIN) : op;
	default:
		return op;
	}
}

bool is_average(const Op &op)
{
	return static_cast<Op::RedOpType>(op) == Op::AVG;
}

void divide_by(at::Tensor tensor, int by)
{
	at::NoGradGuard no_grad;

	if (at::isIntegralType(tensor.scalar_type(), true))
		tensor.div_(by, "trunc");
	else
		tensor.div_(by);
}

/* How many elements it has in flat_tensor(). */
int64_t flat_count(const at::Tensor &tensor)
{
	return tensor.is_complex() ? 2 * tensor.numel() : tensor.numel();
}

/* One flat tensor of all elements, of a type that Gloo has; a complex one is two of them. */
at::Tensor flat_tensor(ForGloo &use, const Tensors &tensors)
{
	at::NoGradGuard no_grad;
	Tensors parts;

	for (const at::Tensor &tensor : tensors)
		parts.push_back(use.in(tensor).reshape({ -1 }));
	return at::cat(parts);
}

/* Shares of @memory, which is as flat_tensor() makes it, go to @tensors, in their order. */
void share_out(const at::Tensor &memory, const Tensors &tensors)
{
	at::NoGradGuard no_grad;
	int64_t at = 0;

	for (const at::Tensor &tensor : tensors) {
		at::Tensor part = memory.narrow(0, at, flat_count(tensor));

		if (tensor.is_complex())
			part = at::view_as_complex(part.view({ -1, 2 }));
		tensor.copy_(part.view(tensor.sizes()));
		at += flat_count(tensor);
	}
}

} // namespace

WorkPtr IncGroup::gloo_allreduce(Base &gloo, Tensors &tensors, const Op &op, milliseconds timeout)
{
	c10d::AllreduceOptions opts;
	ForGloo use;
	int size = getSize();
	Tensors all = use.out(tensors);

	opts.timeout = timeout;
	opts.reduceOp = tensors.empty() ? op : gloo_op(op, tensors[0].scalar_type());
	if (is_average(op)) {
		use.then([all, size] {
			for (const at::Tensor &tensor : all)
				divide_by(tensor, size);
		});
	}
	return use.finish(gloo.allreduce(all, opts), tensors);
}

/* @tensors: of one type; all of them are one vector, as Gloo's own coalesced call has it. */
WorkPtr IncGroup::gloo_allreduce_coalesced(Base &gloo, const Tensors &tensors,
					   const c10d::AllreduceCoalescedOptions &opts)
{
	c10d::AllreduceOptions all_opts = opts;
	ForGloo use;
	Tensors all{ flat_tensor(use, tensors) };
	bool average = is_average(opts.reduceOp);
	int size = getSize();
	at::Tensor sums = all[0];

	all_opts.reduceOp = gloo_op(opts.reduceOp, tensors[0].scalar_type());
	use.then([sums, tensors, average, size] {
		if (average)
			divide_by(sums, size);
		share_out(sums, tensors);
	});
	return use.finish(gloo.allreduce(all, all_opts), tensors);
}

WorkPtr IncGroup::gloo_reduce(Base &gloo, Tensors &tensors, const c10d::ReduceOptions &opts)
{
	c10d::ReduceOptions all_opts = opts;
	ForGloo use;
	int size = getSize();
	Tensors all = use.out(tensors);

	if (!tensors.empty())
		all_opts.reduceOp = gloo_op(opts.reduceOp, tensors[0].scalar_type());
	if (is_average(opts.reduceOp) && opts.rootRank == getRank()) {
		use.then([all, size] {
			for (const at::Tensor &tensor : all)
				divide_by(tensor, size);
		});
	}
	return use.finish(gloo.reduce(all, all_opts), tensors);
}

WorkPtr IncGroup::gloo_scatter_sums(Base &gloo, at::Tensor &output, const Tensors &inputs,
				    const c10d::ReduceScatterOptions &opts)
{
	c10d::AllreduceOptions all_opts;
	ForGloo use;
	Tensors all{ flat_tensor(use, inputs) };
	int64_t count = flat_count(output), at = count * getRank();
	bool average = is_average(opts.reduceOp);
	int size = getSize();
	at::Tensor sums = all[0], to = output;

	all_opts.timeout = opts.timeout;
	all_opts.reduceOp = gloo_op(opts.reduceOp, output.scalar_type());
	use.then([sums, to, count, at, average, size] {
		at::Tensor own = sums.narrow(0, at, count);

		if (average)
			divide_by(own, size);
		share_out(own, { to });
	});
	return use.finish(gloo.allreduce(all, all_opts), { output });
}

WorkPtr IncGroup::gloo_alltoall(Base &gloo, Tensors &outputs, Tensors &inputs,
				const c10d::AllToAllOptions &opts)
{
	std::vector<int64_t> from_sizes, to_sizes;
	ForGloo use;
	at::Tensor from = flat_tensor(use, inputs), to = flat_tensor(use, outputs);
	Tensors all = outputs;

	for (const at::Tensor &tensor : inputs)
		from_sizes.push_back(flat_count(tensor));
	for (const at::Tensor &tensor : outputs)
		to_sizes.push_back(flat_count(tensor));
	use.then([to, all] { share_out(to, all); });
	return use.finish(gloo.alltoall_base(to, from, to_sizes, from_sizes, opts), outputs);
}

} // namespace inctorch
