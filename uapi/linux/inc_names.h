/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The names of element types, operations and collectives, and what errors mean, as tools and
 * messages print them.
 *
 * Lists to be included where INC_TYPE(number, name, bytes of an element), INC_OP(number, name),
 * INC_COLL(number, name) or INC_ERROR(number, text) is defined: no guard. What is 0 in an enum has
 * no entry here. The texts of errors that concern one rank continue "rank 3 ...".
 */
#ifdef INC_TYPE
INC_TYPE(INC_TYPE_I8, "i8", 1)
INC_TYPE(INC_TYPE_I16, "i16", 2)
INC_TYPE(INC_TYPE_I32, "i32", 4)
INC_TYPE(INC_TYPE_I64, "i64", 8)
INC_TYPE(INC_TYPE_U8, "u8", 1)
INC_TYPE(INC_TYPE_U16, "u16", 2)
INC_TYPE(INC_TYPE_U32, "u32", 4)
INC_TYPE(INC_TYPE_U64, "u64", 8)
INC_TYPE(INC_TYPE_F16, "f16", 2)
INC_TYPE(INC_TYPE_BF16, "bf16", 2)
INC_TYPE(INC_TYPE_F32, "f32", 4)
INC_TYPE(INC_TYPE_F64, "f64", 8)
INC_TYPE(INC_TYPE_F8E4M3, "f8e4m3", 1)
INC_TYPE(INC_TYPE_F8E5M2, "f8e5m2", 1)
INC_TYPE(INC_TYPE_BOOL, "bool", 1)
INC_TYPE(INC_TYPE_C32, "c32", 8)
INC_TYPE(INC_TYPE_C64, "c64", 16)
INC_TYPE(INC_TYPE_I32_I32, "i32_i32", 8)
INC_TYPE(INC_TYPE_F32_I32, "f32_i32", 8)
INC_TYPE(INC_TYPE_I64_I64, "i64_i64", 16)
INC_TYPE(INC_TYPE_F64_I64, "f64_i64", 16)
INC_TYPE(INC_TYPE_MXF8E4M3, "mxf8e4m3", 33)
INC_TYPE(INC_TYPE_MXF8E5M2, "mxf8e5m2", 33)
INC_TYPE(INC_TYPE_MXF4E2M1, "mxf4e2m1", 17)
INC_TYPE(INC_TYPE_MXI8, "mxi8", 33)
#endif

#ifdef INC_OP
INC_OP(INC_OP_SUM, "sum")
INC_OP(INC_OP_PROD, "prod")
INC_OP(INC_OP_MIN, "min")
INC_OP(INC_OP_MAX, "max")
INC_OP(INC_OP_BAND, "band")
INC_OP(INC_OP_BOR, "bor")
INC_OP(INC_OP_BXOR, "bxor")
INC_OP(INC_OP_LAND, "land")
INC_OP(INC_OP_LOR, "lor")
INC_OP(INC_OP_LXOR, "lxor")
INC_OP(INC_OP_MINLOC, "minloc")
INC_OP(INC_OP_MAXLOC, "maxloc")
INC_OP(INC_OP_AVG, "avg")
INC_OP(INC_OP_WSUM, "wsum")
#endif

#ifdef INC_COLL
INC_COLL(INC_COLL_BARRIER, "barrier")
INC_COLL(INC_COLL_ALLREDUCE, "allreduce")
INC_COLL(INC_COLL_REDUCE, "reduce")
INC_COLL(INC_COLL_REDUCE_SCATTER, "reduce-scatter")
INC_COLL(INC_COLL_BROADCAST, "broadcast")
INC_COLL(INC_COLL_ALLGATHER, "allgather")
INC_COLL(INC_COLL_GATHER, "gather")
INC_COLL(INC_COLL_SCATTER, "scatter")
INC_COLL(INC_COLL_ALLTOALL, "alltoall")
INC_COLL(INC_COLL_SCAN, "scan")
INC_COLL(INC_COLL_EXSCAN, "exscan")
INC_COLL(INC_COLL_LEAVE, "leave")
#endif

#ifdef INC_ERROR
INC_ERROR(INC_ERR_MISMATCH, "ranks disagree about the operation")
INC_ERROR(INC_ERR_CANCELED, "an operation before this one failed")
INC_ERROR(INC_ERR_RANK_DEAD, "does not answer within the dead limit")
INC_ERROR(INC_ERR_RANK_ABORT,
	  "has ended the group: it was killed, has closed its socket, or has called inc_cancel()")
INC_ERROR(INC_ERR_RANK_LATE, "did not contribute within the late limit")
INC_ERROR(INC_ERR_RANK_FAULT, "lost its buffer during the operation")
INC_ERROR(INC_ERR_NODE_DEAD, "the node does not answer within the dead limit")
INC_ERROR(INC_ERR_NODE_GONE, "the node was removed by its administrator")
INC_ERROR(INC_ERR_LEFT, "has left the group, or was killed, between two operations")
INC_ERROR(INC_ERR_UNSUPPORTED, "the node cannot reduce this type with this operation")
INC_ERROR(INC_ERR_COUNTS, "sends another count than is expected of it")
INC_ERROR(INC_ERR_RANK_PATH, "exchanges short packets with the node, but no blocks get through: is an MTU too small?")
#endif
