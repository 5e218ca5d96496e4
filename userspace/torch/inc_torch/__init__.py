# SPDX-License-Identifier: LGPL-2.1-or-later
"""
The backend "inc" of torch.distributed: collectives that the network does.

    import inc_torch
    torch.distributed.init_process_group("inc")

Everything else stays as it is. What INC does not have, or where there is none, Gloo does; the environment INC_TORCH=verbose
says who did what and why, see Documentation/howto-torch.rst.
"""
import atexit
import datetime
import inspect
import os
from typing import Any, Dict, Optional

import torch
import torch.distributed as dist

from . import _c10d

__all__ = ["Options", "abort", "counters", "group_number", "process_counters"]

# What Options takes.
_SETTINGS = ("mode", "wire", "min", "max", "colls", "timeout", "one_host", "report", "gloo", "tune")


class Options(Dict[str, str]):
    """
    Settings of one process group, which stand before those of the environment:

        init_process_group("inc", pg_options=inc_torch.Options(wire="bf16"))

    Names are those of the environment without INC_TORCH_: wire, min, max, colls, timeout, one_host, report, gloo, tune; and
    mode for INC_TORCH itself. Another name is a TypeError. All ranks give the same.
    """

    def __init__(self, **settings: Any):
        super().__init__()
        for name, value in settings.items():
            if name not in _SETTINGS:
                raise TypeError(f"inc_torch.Options has no {name!r}: known are {', '.join(_SETTINGS)}")
            text = str(int(value)) if isinstance(value, bool) else str(value)
            self["INC_TORCH" if name == "mode" else "INC_TORCH_" + name.upper()] = text


def _make_gloo(store: Any, rank: int, size: int, timeout: datetime.timedelta) -> Any:
    """
    Called by a thread of the backend's, with Python's lock. Where the constructor of a timeout enters the new object among
    those of pybind11 without that lock, it is made by the other one, which does not: of options, as PyTorch fills them in.
    """
    gloo = getattr(dist, "ProcessGroupGloo", None)
    if gloo is None:
        raise RuntimeError("this PyTorch has no Gloo, and INC does not do everything")
    if not _c10d.factories_without_gil:
        return gloo(store, rank, size, timeout=timeout)
    names = os.environ.get("GLOO_SOCKET_IFNAME", "")
    options = gloo._Options()
    options._devices = ([gloo.create_device(interface=name) for name in names.split(",")] if len(names) > 1
                        else [gloo.create_default_device()])
    options._threads = 2 * len(options._devices)
    options._timeout = timeout
    return gloo(store, rank, size, options)


def _create(options: Any, pg_options: Optional[Any] = None) -> Any:
    timeout = options.timeout
    if not isinstance(timeout, datetime.timedelta):
        timeout = datetime.timedelta(seconds=timeout)
    overrides = pg_options if isinstance(pg_options, Options) else {}
    return _c10d.create(options.store, options.group_rank, options.group_size, timeout, overrides, _make_gloo)


def _register() -> None:
    more: Dict[str, Any] = {"extended_api": True}
    if "devices" in inspect.signature(dist.Backend.register_backend).parameters:
        more["devices"] = ["cpu", "cuda"]
    dist.Backend.register_backend("inc", _create, **more)


def _backend_of(group: Optional[Any]) -> Any:
    """What does a group's collectives: since PyTorch 2 it is not the group itself."""
    if group is None:
        group = dist.distributed_c10d._get_default_group()
    if hasattr(group, "_get_backend"):
        return group._get_backend(torch.device("cpu"))
    return group


def counters(group: Optional[Any] = None) -> Dict[str, int]:
    """
    What a process group has counted: "allreduce" and "allreduce.bytes" by INC, "gloo.allreduce" by Gloo, "why.type" for
    which reason; also "staged", "staged.memory", "empty", "errors", "threads".
    """
    return dict(_c10d.counters(_backend_of(group)))


def process_counters() -> Dict[str, int]:
    """The same of all process groups that this process has had."""
    return dict(_c10d.process_counters())


def group_number(group: Optional[Any] = None) -> Optional[int]:
    """The number of its INC group (`inc group show`); None: Gloo does everything."""
    number: Optional[int] = _c10d.number(_backend_of(group))
    return number


def abort(group: Optional[Any] = None) -> None:
    """Ends the group at all ranks, from any thread: what is under way, and all later calls, raise an error."""
    _c10d.abort(_backend_of(group))


_register()
# Threads that come back to Python when that has ended end the process by SIGABRT.
atexit.register(_c10d.end_all)
