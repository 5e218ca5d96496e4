/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The Gloo group of the same ranks, which does what INC does not.
 *
 * It is made by a thread that begins when the process group is made, and that nobody waits for
 * until Gloo is needed. So two ranks that send to each other need none of the others, who may not
 * know of it; and where Gloo cannot be made, a program that does not need it does not notice.
 * With When::lazy it is begun by the first call that needs it, which all ranks have to make then.
 */
#ifndef INCTORCH_GLOO_HPP
#define INCTORCH_GLOO_HPP

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>

#include <sys/types.h>

#include "torch_version.hpp"

namespace inctorch {

using BasePtr = c10::intrusive_ptr<Base>;

/* Makes a Gloo group: torch.distributed.ProcessGroupGloo. Called by any thread. */
using GlooMaker = std::function<BasePtr(StorePtr, int rank, int size, std::chrono::milliseconds)>;

class Gloo {
public:
	/* @generation: how many process groups had this store before. */
	Gloo(GlooMaker maker, const StorePtr &store, int64_t generation, int rank, int size,
	     std::chrono::milliseconds timeout);
	~Gloo();

	void begin();			/* does not wait */
	Base &get();			/* waits until it is made; throws why it could not be */

	/*
	 * It is not needed any more: making it ends, if that is under way, and does not begin. A
	 * thread that is connecting cannot be stopped, it ends by itself.
	 */
	void stop();
	void await(std::chrono::steady_clock::time_point until);

private:
	struct Making;

	std::shared_ptr<Making> making_;
	std::mutex mutex_;
	std::shared_future<BasePtr> made_;
	const pid_t pid_;
};

/*
 * Tensors as Gloo takes them: in order, on the host, of a type that it has. Others are copied and
 * converted (bool to u8, bf16 to f32, i16 to i32, complex to real), results back at the end.
 */
class ForGloo {
public:
	at::Tensor in(const at::Tensor &tensor);
	at::Tensor out(const at::Tensor &tensor);	/* what it held is read, too */
	Tensors in(const Tensors &tensors);
	Tensors out(const Tensors &tensors);
	std::vector<Tensors> in(const std::vector<Tensors> &lists);
	std::vector<Tensors> out(const std::vector<Tensors> &lists);

	/* To be done when Gloo has ended, before the results are copied back. */
	void then(std::function<void()> what) { then_.push_back(std::move(what)); }

	/* Gloo's own work, or one that ends when all of that is done. @outputs: its results. */
	WorkPtr finish(WorkPtr work, Tensors outputs);

private:
	std::vector<std::function<void()>> then_;
	std::vector<std::function<void()>> back_;
};

} // namespace inctorch

#endif
