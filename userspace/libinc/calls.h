/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The short forms of operations: to be included where CALL(name, (parameters), what goes into
 * struct inc_args) is defined, once for each way of calling them: no guard.
 */
CALL(barrier, P(struct inc_group *group), .coll = INC_COLL_BARRIER)
CALL(allreduce, P(struct inc_group *group, const void *send, void *recv, uint64_t count,
		  enum inc_type type, enum inc_op op),
	.coll = INC_COLL_ALLREDUCE, .type = type, .op = op, .count = count, .send = send,
	.recv = recv)
CALL(allreduce_weighted, P(struct inc_group *group, const void *send, void *recv, uint64_t count,
			   enum inc_type type, double weight),
	.coll = INC_COLL_ALLREDUCE, .type = type, .op = INC_OP_WSUM, .count = count, .send = send,
	.recv = recv, .weight = weight)
CALL(reduce, P(struct inc_group *group, const void *send, void *recv, uint64_t count,
	       enum inc_type type, enum inc_op op, uint32_t root),
	.coll = INC_COLL_REDUCE, .type = type, .op = op, .root = root, .count = count, .send = send,
	.recv = recv)
CALL(reduce_scatter, P(struct inc_group *group, const void *send, void *recv, uint64_t count,
		       enum inc_type type, enum inc_op op),
	.coll = INC_COLL_REDUCE_SCATTER, .type = type, .op = op, .count = count, .send = send,
	.recv = recv)
CALL(reduce_scatterv, P(struct inc_group *group, const void *send, void *recv,
			const uint64_t *counts, enum inc_type type, enum inc_op op),
	.coll = INC_COLL_REDUCE_SCATTER, .type = type, .op = op, .mode = INC_MODE_COUNTS,
	.send = send, .recv = recv, .recv_counts = counts)
CALL(scan, P(struct inc_group *group, const void *send, void *recv, uint64_t count,
	     enum inc_type type, enum inc_op op),
	.coll = INC_COLL_SCAN, .type = type, .op = op, .count = count, .send = send, .recv = recv)
CALL(exscan, P(struct inc_group *group, const void *send, void *recv, uint64_t count,
	       enum inc_type type, enum inc_op op),
	.coll = INC_COLL_EXSCAN, .type = type, .op = op, .count = count, .send = send, .recv = recv)
CALL(broadcast, P(struct inc_group *group, void *buf, uint64_t count, enum inc_type type,
		  uint32_t root),
	.coll = INC_COLL_BROADCAST, .type = type, .root = root, .count = count, .recv = buf)
CALL(allgather, P(struct inc_group *group, const void *send, void *recv, uint64_t count,
		  enum inc_type type),
	.coll = INC_COLL_ALLGATHER, .type = type, .count = count, .send = send, .recv = recv)
CALL(allgatherv, P(struct inc_group *group, const void *send, void *recv, const uint64_t *counts,
		   const uint64_t *displs, enum inc_type type),
	.coll = INC_COLL_ALLGATHER, .type = type, .mode = INC_MODE_COUNTS, .send = send,
	.recv = recv, .recv_counts = counts, .recv_displs = displs)
CALL(gather, P(struct inc_group *group, const void *send, void *recv, uint64_t count,
	       enum inc_type type, uint32_t root),
	.coll = INC_COLL_GATHER, .type = type, .root = root, .count = count, .send = send,
	.recv = recv)
CALL(gatherv, P(struct inc_group *group, const void *send, uint64_t count, void *recv,
		const uint64_t *counts, const uint64_t *displs, enum inc_type type, uint32_t root),
	.coll = INC_COLL_GATHER, .type = type, .mode = INC_MODE_COUNTS, .root = root,
	.count = count, .send = send, .recv = recv, .recv_counts = counts, .recv_displs = displs)
CALL(scatter, P(struct inc_group *group, const void *send, void *recv, uint64_t count,
		enum inc_type type, uint32_t root),
	.coll = INC_COLL_SCATTER, .type = type, .root = root, .count = count, .send = send,
	.recv = recv)
CALL(scatterv, P(struct inc_group *group, const void *send, const uint64_t *counts,
		 const uint64_t *displs, void *recv, uint64_t count, enum inc_type type,
		 uint32_t root),
	.coll = INC_COLL_SCATTER, .type = type, .mode = INC_MODE_COUNTS, .root = root,
	.count = count, .send = send, .recv = recv, .send_counts = counts, .send_displs = displs)
CALL(alltoall, P(struct inc_group *group, const void *send, void *recv, uint64_t count,
		 enum inc_type type),
	.coll = INC_COLL_ALLTOALL, .type = type, .count = count, .send = send, .recv = recv)
CALL(alltoallv, P(struct inc_group *group, const void *send, const uint64_t *send_counts,
		  const uint64_t *send_displs, void *recv, const uint64_t *recv_counts,
		  const uint64_t *recv_displs, enum inc_type type),
	.coll = INC_COLL_ALLTOALL, .type = type, .mode = INC_MODE_COUNTS, .send = send,
	.recv = recv, .send_counts = send_counts, .send_displs = send_displs,
	.recv_counts = recv_counts, .recv_displs = recv_displs)
