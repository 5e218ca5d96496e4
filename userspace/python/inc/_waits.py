# SPDX-License-Identifier: LGPL-2.1-or-later
"""Waiting for several operations."""
import errno as _errno
import select
from typing import Optional, Sequence, Tuple

from ._errors import Error, Timeout
from ._request import Limit, Request


def _checked(requests: Sequence[Optional[Request]]) -> Tuple[Optional[Request], ...]:
    try:
        checked = tuple(requests)
    except TypeError:
        raise TypeError(f"requests is {type(requests).__name__}: expected a sequence of inc.Request and None") from None
    for index, request in enumerate(checked):
        if request is not None and not isinstance(request, Request):
            raise TypeError(f"requests[{index}] is {type(request).__name__}: expected inc.Request or None")
    return checked


def wait_any(requests: Sequence[Optional[Request]], timeout: Optional[float] = None) -> int:
    """
    The index of the first of these operations, of one group or several, that has ended, well or not: its wait() tells.
    None among them is passed over. timeout: seconds; Timeout is raised after that. ValueError: all are None.
    """
    limit = Limit(timeout)
    requests = _checked(requests)
    if all(request is None for request in requests):
        raise ValueError("requests: expected at least one that is not None")
    while True:
        for index, request in enumerate(requests):
            if request is not None and request.done:
                return index
        if limit.over():
            raise Timeout(_errno.ETIMEDOUT, f"none of {len(requests)} operations has ended in time")
        poll = select.poll()
        for request in requests:
            try:
                if request is not None:
                    poll.register(request._group.fileno(), select.POLLIN)
            except Error:  # closed in this moment, which ends the operation
                pass
        poll.poll(limit.slice())


def wait_all(requests: Sequence[Optional[Request]], timeout: Optional[float] = None) -> None:
    """
    Returns when all have ended, and raises what the first of them raises that has failed. None among them is passed
    over. timeout: seconds for all together; Timeout is raised after that.
    """
    limit = Limit(timeout)
    requests = _checked(requests)
    for request in requests:
        if request is not None:
            request._group._wait(request._operation, limit)
    for request in requests:
        if request is not None:
            request._operation.result()
