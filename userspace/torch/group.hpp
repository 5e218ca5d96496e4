/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backend "inc" of torch.distributed: a process group whose collectives the network does, and
 * Gloo what it cannot do.
 *
 * Whether INC does a call depends only on what c10d makes equal at all ranks (function, type,
 * operation, sizes that all ranks know), and on what was agreed when the group was made.
 */
#ifndef INCTORCH_GROUP_HPP
#define INCTORCH_GROUP_HPP

#include <memory>

#include "agree.hpp"
#include "count.hpp"
#include "engine.hpp"
#include "gloo.hpp"
#include "settings.hpp"
#include "torch_version.hpp"

namespace inctorch {

using std::chrono::milliseconds;

class IncGroup : public Base {
public:
	/* All ranks make one; waits for all of them. Throws what agree() does. */
	IncGroup(const StorePtr &store, int rank, int size, milliseconds timeout,
		 const Overrides &overrides, GlooMaker maker);
	~IncGroup() override;

	const std::string getBackendName() const override { return "inc"; }

	WorkPtr allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts) override;
	WorkPtr allreduce_coalesced(Tensors &tensors,
				    const c10d::AllreduceCoalescedOptions &opts) override;
	WorkPtr reduce(Tensors &tensors, const c10d::ReduceOptions &opts) override;
	WorkPtr reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
			       const c10d::ReduceScatterOptions &opts) override;
	WorkPtr _reduce_scatter_base(at::Tensor &output, at::Tensor &input,
				     const c10d::ReduceScatterOptions &opts) override;

	/*
	 * Calls of PyTorch where its base has them (base_has_coalesced), and so without "override".
	 */
	virtual WorkPtr allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
							const c10d::AllgatherOptions &opts);
	virtual WorkPtr reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
							const c10d::ReduceScatterOptions &opts);

	WorkPtr broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts) override;
	WorkPtr allgather(std::vector<Tensors> &outputs, Tensors &inputs,
			  const c10d::AllgatherOptions &opts) override;
	WorkPtr _allgather_base(at::Tensor &output, at::Tensor &input,
				const c10d::AllgatherOptions &opts) override;
	WorkPtr allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
				    const c10d::AllgatherOptions &opts) override;
	WorkPtr gather(std::vector<Tensors> &outputs, Tensors &inputs,
		       const c10d::GatherOptions &opts) override;
	WorkPtr scatter(Tensors &outputs, std::vector<Tensors> &inputs,
			const c10d::ScatterOptions &opts) override;
	WorkPtr alltoall(Tensors &outputs, Tensors &inputs,
			 const c10d::AllToAllOptions &opts) override;
	WorkPtr alltoall_base(at::Tensor &output, at::Tensor &input,
			      std::vector<int64_t> &output_splits,
			      std::vector<int64_t> &input_splits,
			      const c10d::AllToAllOptions &opts) override;
	WorkPtr barrier(const c10d::BarrierOptions &opts) override;

	/* Gloo's always */
	WorkPtr send(Tensors &tensors, int to, int tag) override;
	WorkPtr recv(Tensors &tensors, int from, int tag) override;
	WorkPtr recvAnysource(Tensors &tensors, int tag) override;
	void monitoredBarrier(const c10d::BarrierOptions &opts, bool wait_all) override;
	void setSequenceNumberForGroup() override {}
	uint64_t getSequenceNumberForGroup() override { return sequence_; }

	/*
	 * Ends the group for all ranks: operations under way, and all later ones, fail. Newer
	 * bases have it, too, and so it is without "override".
	 */
	virtual void abort();

	const Counts &counts() const { return *counts_; }
	bool by_inc() const { return !why_set(); }
	uint32_t number() const { return number_; }

private:
	uint64_t ranks() const { return static_cast<uint64_t>(getSize()); }
	bool why_set() const { return agreed_.why != Why::none; }
	void say_how();

	/* Who does a call; Why::none: INC. */
	Why by_group(Fn fn) const;
	Why by_size(uint64_t bytes) const;
	Why by_table(Fn fn, uint32_t type, uint64_t bytes) const;
	Why for_reduction(Fn fn, const at::Tensor &tensor, const c10d::ReduceOp &op,
			  uint64_t count);
	Why for_move(Fn fn, const Tensors &tensors, uint64_t count);
	Base &gloo(Fn fn, Why why);

	/* One operation, to be filled and started. */
	IncWorkPtr new_work(Fn fn, OpType type, inc_coll coll, milliseconds timeout);
	void set_reduction(IncWork &work, const at::Tensor &tensor, const c10d::ReduceOp &op,
			   uint64_t count);
	void set_move(IncWork &work, const at::Tensor &tensor, uint64_t count);
	WorkPtr start(const IncWorkPtr &work);
	WorkPtr nothing_to_do(Fn fn, OpType type, const Tensors &outputs);

	WorkPtr allreduce_by(Fn fn, OpType type, Tensors &tensors, const c10d::ReduceOp &op,
			     milliseconds timeout);
	WorkPtr scatter_sums(Fn fn, OpType type, at::Tensor &output, const Tensors &inputs,
			     const c10d::ReduceScatterOptions &opts);
	WorkPtr gather_all(Fn fn, OpType type, const Tensors &outputs, const Tensors &inputs,
			   const Tensors &result, milliseconds timeout);

	/* by_gloo.cpp: what Gloo does not have, or not for this type, by something that it has. */
	WorkPtr gloo_allreduce(Base &gloo, Tensors &tensors, const c10d::ReduceOp &op,
			       milliseconds timeout);
	WorkPtr gloo_allreduce_coalesced(Base &gloo, const Tensors &tensors,
					 const c10d::AllreduceCoalescedOptions &opts);
	WorkPtr gloo_reduce(Base &gloo, Tensors &tensors, const c10d::ReduceOptions &opts);
	WorkPtr gloo_scatter_sums(Base &gloo, at::Tensor &output, const Tensors &inputs,
				  const c10d::ReduceScatterOptions &opts);
	WorkPtr gloo_alltoall(Base &gloo, Tensors &outputs, Tensors &inputs,
			      const c10d::AllToAllOptions &opts);

	std::shared_ptr<Counts> counts_;
	milliseconds timeout_;
	Agreed agreed_;
	std::shared_ptr<Engine> engine_;
	std::shared_ptr<Gloo> gloo_;
	uint32_t number_ = 0;			/* of the INC group */
	std::atomic<uint64_t> sequence_{ 0 };
	const pid_t pid_;
};

/*
 * The process ends: all process groups that there still are end as if they had been destroyed,
 * while their threads can still have Python's lock. They may be destroyed after that.
 */
void end_all();

} // namespace inctorch

#endif
