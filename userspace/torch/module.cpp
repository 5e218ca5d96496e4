// SPDX-License-Identifier: LGPL-2.1-or-later
/* The Python module inc_torch._c10d: makes process groups, and says what they have counted. */
#include <torch/csrc/utils/pybind.h>

#include <pybind11/chrono.h>
#include <pybind11/stl.h>

#include "group.hpp"

namespace {

using namespace inctorch;

/* torch.distributed.ProcessGroupGloo is Python's to know; it outlives all process groups. */
GlooMaker gloo_maker(py::object make)
{
	std::shared_ptr<py::object> kept(new py::object(std::move(make)), [](py::object *object) {
		py::gil_scoped_acquire gil;

		delete object;
	});

	return [kept](StorePtr store, int rank, int size, milliseconds timeout) {
		py::gil_scoped_acquire gil;

		try {
			return (*kept)(store, rank, size, timeout).cast<BasePtr>();
		} catch (py::error_already_set &error) {
			/* it belongs to this thread of Python, others may throw it again */
			throw std::runtime_error(std::string("Gloo: ") + error.what());
		}
	};
}

BasePtr create_backend(const StorePtr &store, int rank, int size, milliseconds timeout,
		       const Overrides &options, py::object make_gloo)
{
	GlooMaker maker = gloo_maker(std::move(make_gloo));
	py::gil_scoped_release no_gil;

	return c10::make_intrusive<IncGroup>(store, rank, size, timeout, options, std::move(maker));
}

IncGroup &as_ours(const BasePtr &base)
{
	auto *group = dynamic_cast<IncGroup *>(base.get());

	if (!group)
		throw std::invalid_argument("this is no process group of the backend \"inc\"");
	return *group;
}

/* Only Python's main thread handles signals; a process that is ending has none. */
void look_at_signals()
{
	if (!Py_IsInitialized())
		return;
	py::gil_scoped_acquire gil;

	if (PyErr_CheckSignals())
		throw py::error_already_set();
}

void release_gil(const std::function<void()> &what)
{
	if (!Py_IsInitialized() || !PyGILState_Check()) {
		what();
		return;
	}
	py::gil_scoped_release no_gil;

	what();
}

} // namespace

PYBIND11_MODULE(_c10d, module)
{
	module.doc() = "The backend \"inc\" of torch.distributed: see inc_torch";
	check_signals = look_at_signals;
	without_gil = release_gil;
	module.def("create", &create_backend);
	module.def("abort", [](const BasePtr &base) { as_ours(base).abort(); },
		   py::call_guard<py::gil_scoped_release>());
	module.def("end_all", &end_all, py::call_guard<py::gil_scoped_release>());
	module.def("counters", [](const BasePtr &base) { return as_ours(base).counts().all(); });
	module.def("process_counters", [] { return Counts::process().all(); });
	module.def("number", [](const BasePtr &base) -> py::object {
		IncGroup &group = as_ours(base);

		return group.by_inc() ? py::object(py::int_(group.number())) : py::none();
	});
	/* for tests where PyTorch itself does not call them */
	module.def("allgather_into_tensor_coalesced",
		   [](const BasePtr &base, Tensors outputs, Tensors inputs) {
			return as_ours(base).allgather_into_tensor_coalesced(outputs, inputs, {});
		   }, py::call_guard<py::gil_scoped_release>());
	module.def("reduce_scatter_tensor_coalesced",
		   [](const BasePtr &base, Tensors outputs, Tensors inputs,
		      const c10d::ReduceScatterOptions &opts) {
			return as_ours(base).reduce_scatter_tensor_coalesced(outputs, inputs, opts);
		   }, py::call_guard<py::gil_scoped_release>());
	module.attr("base_has_coalesced") = base_has_coalesced;
	module.attr("factories_without_gil") = factories_without_gil;
	module.def("torch_version", [] { return TORCH_VERSION; });
}
