/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PyTorch's types and operations as INC's. */
#ifndef INCTORCH_TYPES_HPP
#define INCTORCH_TYPES_HPP

#include <cstdint>

#include <inc.h>

#include "torch_version.hpp"

namespace inctorch {

/* Of elements that are reduced; 0: INC has no such type. */
uint32_t reduced_type(at::ScalarType type);

/* Of @op with elements of @type; 0: INC has no such operation. */
uint32_t reduced_op(const c10d::ReduceOp &op, at::ScalarType type);

/* As which elements travel, of which @wire was asked for; 0: as they are. */
uint32_t wire_type(uint32_t wire, uint32_t type, uint32_t op);

/* What is only moved is moved as integers of its size: @per of them are one element. */
uint32_t moved_type(const at::Tensor &tensor, uint64_t *per);

} // namespace inctorch

#endif
