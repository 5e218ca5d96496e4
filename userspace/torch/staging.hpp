/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tensors as memory that libinc can read and write: one piece on the host, elements in order. Where
 * tensors are not so, they are copied: those with gaps, lists that are not one behind the other,
 * and those on another device.
 */
#ifndef INCTORCH_STAGING_HPP
#define INCTORCH_STAGING_HPP

#include <inc.h>

#include "torch_version.hpp"

namespace inctorch {

/* Its elements are in order, without gaps, on the host, and mean what their bits say. */
bool is_plain(const at::Tensor &tensor);

/* Elements of all of them. */
uint64_t numel(const Tensors &tensors);

/* What belongs to one operation; keeps all tensors alive. */
class Staging {
public:
	/* How libinc uses the memory. */
	enum Use { read, write, both };

	/*
	 * The tensors' memory, or a copy, one behind the other. Same types. What is only read is
	 * also copied if it overlaps @written, which libinc does not take. Never nullptr, also if
	 * there are no elements.
	 */
	void *place(const Tensors &tensors, Use use, const Tensors &written = {});
	void *place(const at::Tensor &tensor, Use use, const Tensors &written = {});

	/*
	 * The kernel cannot have some tensor's memory for as long as it takes: those that are not
	 * copies become ones, also in @args. False: all are.
	 */
	bool copy_all(inc_args &args);

	/* Results go where they belong. To be called once, after the operation. */
	void finish();

	/* Something is copied. */
	bool copies() const { return copies_; }

private:
	struct Copy {
		at::Tensor memory;
		Tensors tensors;
	};

	/* Tensors whose own memory is used. */
	struct Direct {
		void *at;
		Tensors tensors;
		bool written;
	};

	at::Tensor copy(const Tensors &tensors, bool load, bool store);

	std::vector<Direct> direct_;
	Tensors kept_;
	std::vector<Copy> results_;
	bool copies_ = false;
};

} // namespace inctorch

#endif
