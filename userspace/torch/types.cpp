// SPDX-License-Identifier: LGPL-2.1-or-later
/* PyTorch's types and operations as INC's. */
#include "types.hpp"

namespace inctorch {
namespace {

using Op = c10d::ReduceOp;

/* As other backends have it: bool is reduced as a logical value, and a sum is an or. */
uint32_t logical_op(Op::RedOpType op)
{
	switch (op) {
	case Op::SUM:
	case Op::MAX:
	case Op::BOR:
		return INC_OP_LOR;
	case Op::PRODUCT:
	case Op::MIN:
	case Op::BAND:
		return INC_OP_LAND;
	case Op::BXOR:
		return INC_OP_LXOR;
	default:
		return 0;
	}
}

uint32_t arithmetic_op(Op::RedOpType op)
{
	switch (op) {
	case Op::SUM:
		return INC_OP_SUM;
	case Op::AVG:
		return INC_OP_AVG;
	case Op::PRODUCT:
		return INC_OP_PROD;
	default:
		return 0;
	}
}

uint32_t order_op(Op::RedOpType op)
{
	switch (op) {
	case Op::MIN:
		return INC_OP_MIN;
	case Op::MAX:
		return INC_OP_MAX;
	default:
		return arithmetic_op(op);
	}
}

uint32_t bitwise_op(Op::RedOpType op)
{
	switch (op) {
	case Op::BAND:
		return INC_OP_BAND;
	case Op::BOR:
		return INC_OP_BOR;
	case Op::BXOR:
		return INC_OP_BXOR;
	default:
		return order_op(op);
	}
}

bool is_float(uint32_t type)
{
	switch (type) {
	case INC_TYPE_F16:
	case INC_TYPE_BF16:
	case INC_TYPE_F32:
	case INC_TYPE_F64:
		return true;
	default:
		return false;
	}
}

} // namespace

uint32_t reduced_type(at::ScalarType type)
{
	/* Elements are little-endian. */
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ && c10::elementSize(type) > 1)
		return 0;
	switch (type) {
	case at::kByte: return INC_TYPE_U8;
	case at::kChar: return INC_TYPE_I8;
	case at::kShort: return INC_TYPE_I16;
	case at::kInt: return INC_TYPE_I32;
	case at::kLong: return INC_TYPE_I64;
	case at::kHalf: return INC_TYPE_F16;
	case at::kBFloat16: return INC_TYPE_BF16;
	case at::kFloat: return INC_TYPE_F32;
	case at::kDouble: return INC_TYPE_F64;
	case at::kComplexFloat: return INC_TYPE_C32;
	case at::kComplexDouble: return INC_TYPE_C64;
	case at::kBool: return INC_TYPE_BOOL;
	default: return 0;
	}
}

uint32_t reduced_op(const Op &op, at::ScalarType type)
{
	auto which = static_cast<Op::RedOpType>(op);

	if (type == at::kBool)
		return logical_op(which);
	if (at::isIntegralType(type, false))
		return bitwise_op(which);
	return at::isComplexType(type) ? arithmetic_op(which) : order_op(which);
}

uint32_t wire_type(uint32_t wire, uint32_t type, uint32_t op)
{
	if (!wire || !is_float(type) || (op != INC_OP_SUM && op != INC_OP_AVG))
		return 0;
	/* f64 travels as f32 or as it is */
	if (type == INC_TYPE_F64 && wire != INC_TYPE_F32)
		return 0;
	if (inc_type_size(static_cast<inc_type>(wire)) >=
	    inc_type_size(static_cast<inc_type>(type)))
		return 0;
	return wire;
}

uint32_t moved_type(const at::Tensor &tensor, uint64_t *per)
{
	uint64_t size = tensor.element_size();

	*per = 1;
	switch (size) {
	case 8: return INC_TYPE_U64;
	case 4: return INC_TYPE_U32;
	case 2: return INC_TYPE_U16;
	case 1: return INC_TYPE_U8;
	}
	*per = size % 8 ? size : size / 8;
	return size % 8 ? INC_TYPE_U8 : INC_TYPE_U64;
}

} // namespace inctorch
