// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tensors as memory that libinc can read and write. */
#include "staging.hpp"

#include <ATen/ATen.h>

namespace inctorch {
namespace {

char *begin_of(const at::Tensor &tensor)
{
	return static_cast<char *>(tensor.data_ptr());
}

/* Plain, and one behind the other. */
bool is_one_piece(const Tensors &tensors)
{
	const char *next = nullptr;

	for (const at::Tensor &tensor : tensors) {
		if (!is_plain(tensor))
			return false;
		if (!tensor.nbytes())
			continue;
		if (next && begin_of(tensor) != next)
			return false;
		next = begin_of(tensor) + tensor.nbytes();
	}
	return true;
}

/* Tensors that are not plain are copied, whatever they share. */
bool do_overlap(const at::Tensor &a, const at::Tensor &b)
{
	return is_plain(a) && is_plain(b) && begin_of(a) < begin_of(b) + b.nbytes() &&
	       begin_of(b) < begin_of(a) + a.nbytes();
}

bool do_overlap(const Tensors &tensors, const Tensors &written)
{
	for (const at::Tensor &a : tensors)
		for (const at::Tensor &b : written)
			if (do_overlap(a, b))
				return true;
	return false;
}

/* What has no bytes is here: for libinc no address is that of an operation in place. */
char nothing;

char *first_byte(const Tensors &tensors)
{
	for (const at::Tensor &tensor : tensors)
		if (tensor.nbytes())
			return begin_of(tensor);
	return &nothing;
}

void *address_of(const at::Tensor &memory)
{
	return first_byte({ memory });
}

/* The memory at *@at as a tensor like @like; *@at is moved behind it. */
at::Tensor part_of(const at::Tensor &like, char **at)
{
	at::Tensor part = at::from_blob(*at, like.sizes(), like.options().device(at::kCPU)
					.layout(at::kStrided).requires_grad(false));

	*at += part.nbytes();
	return part;
}

at::Tensor new_memory(const Tensors &tensors)
{
	int64_t bytes = 0;

	for (const at::Tensor &tensor : tensors)
		bytes += static_cast<int64_t>(tensor.numel() * tensor.element_size());
	return at::empty({ bytes }, at::TensorOptions().dtype(at::kByte).device(at::kCPU));
}

} // namespace

bool is_plain(const at::Tensor &tensor)
{
	return tensor.layout() == at::kStrided && tensor.device().is_cpu() &&
	       tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

uint64_t numel(const Tensors &tensors)
{
	uint64_t n = 0;

	for (const at::Tensor &tensor : tensors)
		n += static_cast<uint64_t>(tensor.numel());
	return n;
}

at::Tensor Staging::copy(const Tensors &tensors, bool load, bool store)
{
	at::NoGradGuard no_grad;
	at::Tensor memory = new_memory(tensors);
	char *at = begin_of(memory);

	for (const at::Tensor &tensor : tensors) {
		at::Tensor part = part_of(tensor, &at);

		if (load)
			part.copy_(tensor);
	}
	kept_.push_back(memory);
	if (store)
		results_.push_back({ memory, tensors });
	return memory;
}

void *Staging::place(const Tensors &tensors, Use use, const Tensors &written)
{
	if (is_one_piece(tensors) && !do_overlap(tensors, written)) {
		direct_.push_back({ first_byte(tensors), tensors, use != read });
		return direct_.back().at;
	}
	copies_ = true;
	return address_of(copy(tensors, use != write, use != read));
}

/* What is written to is copied, too: the own share of an operation in place is there. */
bool Staging::copy_all(inc_args &args)
{
	bool any = false;

	for (const Direct &direct : direct_) {
		void *memory;

		if (direct.at == &nothing)
			continue;
		memory = address_of(copy(direct.tensors, true, direct.written));
		if (args.send == direct.at)
			args.send = memory;
		if (args.recv == direct.at)
			args.recv = memory;
		any = true;
	}
	direct_.clear();
	return any;
}

void *Staging::place(const at::Tensor &tensor, Use use, const Tensors &written)
{
	return place(Tensors{ tensor }, use, written);
}

void Staging::finish()
{
	at::NoGradGuard no_grad;

	for (Copy &copy : results_) {
		char *at = begin_of(copy.memory);

		for (at::Tensor &tensor : copy.tensors)
			tensor.copy_(part_of(tensor, &at));
	}
	results_.clear();
}

} // namespace inctorch
