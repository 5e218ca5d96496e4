/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What differs between versions of PyTorch. In 1.13 who does collectives is a ProcessGroup; since
 * 2.0 it is a Backend, to which a ProcessGroup of PyTorch's own hands calls on.
 */
#ifndef INCTORCH_TORCH_VERSION_HPP
#define INCTORCH_TORCH_VERSION_HPP

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <torch/csrc/api/include/torch/version.h>

#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

namespace inctorch {

#if TORCH_VERSION_MAJOR >= 2
using Base = c10d::Backend;
#else
using Base = c10d::ProcessGroup;
#endif

using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using StorePtr = c10::intrusive_ptr<c10d::Store>;
using Tensors = std::vector<at::Tensor>;
using OpType = c10d::OpType;

/* Has the base both calls for lists of single tensors, of these types? Newer versions of 2.x have. */
template <typename T, typename = void> struct HasCoalesced : std::false_type {};
template <typename T>
struct HasCoalesced<T, std::void_t<
	decltype(std::declval<T &>().allgather_into_tensor_coalesced(
		std::declval<Tensors &>(), std::declval<Tensors &>(), c10d::AllgatherOptions())),
	decltype(std::declval<T &>().reduce_scatter_tensor_coalesced(
		std::declval<Tensors &>(), std::declval<Tensors &>(),
		c10d::ReduceScatterOptions()))>> : std::true_type {};

constexpr bool base_has_coalesced = HasCoalesced<Base>::value;

/*
 * Before 2.7 a class of Python whose constructor is a function of PyTorch's, and releases Python's
 * lock, enters its new object in the table of all objects of pybind11 without that lock. Another
 * thread that does something with the table at that time corrupts it, and the process ends later,
 * by "Tried to deallocate unregistered instance" (pybind11's issue 5473).
 */
constexpr bool factories_without_gil =
	TORCH_VERSION_MAJOR < 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 7);

/* What a failed operation throws: torch.distributed.DistBackendError, in 1.13 RuntimeError. */
[[noreturn]] inline void throw_error(const std::string &text)
{
#if TORCH_VERSION_MAJOR >= 2
	C10_THROW_ERROR(DistBackendError, text);
#else
	throw std::runtime_error(text);
#endif
}

} // namespace inctorch

#endif
