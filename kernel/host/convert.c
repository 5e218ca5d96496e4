// SPDX-License-Identifier: GPL-2.0-only
/*
 * Elements on their way between buffers and packets: copied, or converted where the wire has
 * another type, and multiplied where the operation has weights. Small floats are weighted in f32.
 */
#include <linux/local_lock.h>
#include <linux/percpu.h>
#include "host/convert.h"
#include "reduce/reduce.h"

/*
 * Softirqs on one CPU do not nest, and ranks are served in softirq or with it off. That another
 * task has the CPU then is possible on PREEMPT_RT alone, and only there the lock is one.
 */
struct scratch {
	local_lock_t lock;
	u8 in[NETINC_SCRATCH];
	u8 hub[NETINC_SCRATCH];
	u8 chunk[2][NETINC_SCRATCH];
};

static struct scratch __percpu *scratch;

int netinc_convert_init(void)
{
	int cpu;

	scratch = alloc_percpu(struct scratch);
	if (!scratch)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		local_lock_init(&per_cpu_ptr(scratch, cpu)->lock);
	return 0;
}

void netinc_convert_fini(void)
{
	free_percpu(scratch);
}

bool netinc_convert_enter(struct netinc_fpu_section *section)
{
	local_lock_nested_bh(&scratch->lock);
	return netinc_fpu_section_enter(section);
}

void netinc_convert_leave(struct netinc_fpu_section *section)
{
	netinc_fpu_section_leave(section);
	local_unlock_nested_bh(&scratch->lock);
}

void *netinc_convert_scratch(u32 i)
{
	return this_cpu_ptr(scratch)->chunk[i];
}

static bool is_weighted(const struct netinc_op *op)
{
	return op->op == INC_OP_WSUM;
}

bool netinc_convert_plain(const struct netinc_op_request *req)
{
	return req->op.type == req->op.wire && !is_weighted(&req->op);
}

static void convert_elems(void *to, u8 to_type, const void *from, u8 from_type, u32 n, bool fpu)
{
	const struct netinc_convert *c;

	if (to_type == from_type) {
		memcpy(to, from, n * netinc_reduce_elem_size(to_type));
		return;
	}
	c = netinc_convert_find(from_type, to_type, fpu);
	if (!netinc_assert(c))
		c->convert(to, from, n);
}

/* The type in which elements are weighted, or that conversion passes through. */
static u8 hub_type(const struct netinc_op *op)
{
	if (is_weighted(op))
		return netinc_scale_find(op->type, false) ? op->type : INC_TYPE_F32;
	return netinc_convert_find(op->type, op->wire, false) ? op->wire : INC_TYPE_F32;
}

static bool get_chunk(const struct netinc_op_request *req, u64 at, void *to, u32 n, bool fpu)
{
	struct scratch *s = this_cpu_ptr(scratch);
	const struct netinc_op *op = &req->op;
	u32 size = netinc_reduce_elem_size(op->type);
	u8 hub = hub_type(op);

	if (!netinc_buf_read(&req->send, at * size, s->in, n * size, fpu))
		return false;
	convert_elems(s->hub, hub, s->in, op->type, n, fpu);
	if (is_weighted(op))
		netinc_scale_find(hub, fpu)->scale(s->hub, n, req->weight);
	convert_elems(to, op->wire, s->hub, hub, n, fpu);
	return true;
}

bool netinc_convert_get(const struct netinc_op_request *req, u64 at, void *to, u32 n, bool fpu)
{
	u32 size = netinc_reduce_elem_size(req->op.wire), some;

	if (netinc_convert_plain(req))
		return netinc_buf_read(&req->send, at * size, to, n * size, fpu);
	for (; n; n -= some, at += some, to += some * size) {
		some = min(n, NETINC_ELEMS_CHUNK);
		if (!get_chunk(req, at, to, some, fpu))
			return false;
	}
	return true;
}

static bool put_chunk(const struct netinc_op_request *req, u64 at, const void *from, u32 n,
		      bool fpu)
{
	const struct netinc_op *op = &req->op;
	u8 hub = netinc_convert_find(op->wire, op->type, fpu) ? op->type : INC_TYPE_F32;
	struct scratch *s = this_cpu_ptr(scratch);
	u32 size = netinc_reduce_elem_size(op->type);

	convert_elems(s->hub, hub, from, op->wire, n, fpu);
	convert_elems(s->in, op->type, s->hub, hub, n, fpu);
	return netinc_buf_store(netinc_op_request_recv_buf(req), at * size, s->in, n * size, fpu);
}

bool netinc_convert_put(const struct netinc_op_request *req, u64 at, const void *from, u32 n,
			bool fpu)
{
	u32 size = netinc_reduce_elem_size(req->op.wire), some;

	if (req->op.type == req->op.wire)
		return netinc_buf_store(netinc_op_request_recv_buf(req), at * size, from, n * size,
					fpu);
	for (; n; n -= some, at += some, from += some * size) {
		some = min(n, NETINC_ELEMS_CHUNK);
		if (!put_chunk(req, at, from, some, fpu))
			return false;
	}
	return true;
}
