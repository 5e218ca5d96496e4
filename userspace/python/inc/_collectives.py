# SPDX-License-Identifier: LGPL-2.1-or-later
"""The collectives of a group; what each gets from its arguments is in _calls."""
from typing import TYPE_CHECKING, Optional

from . import _calls
from ._abi import Coll
from ._calls import Buffer, Call, Counts, Member, OpLike, TypeLike

if TYPE_CHECKING:
    from ._request import Request


class Collectives:
    """
    What Group does. In all of them:

    op: "sum", "prod", "min", "max", "avg", "wsum", "band", ...: see Op; weight is this rank's, for "wsum" only.
    type: of the elements, where the buffer's format does not say it. wire: the type that they travel as.
    saturate: sums of 8 and 16 bit integers are clamped, not wrapped.

    Buffers have the number of elements that is said here, neither more nor less.
    """

    def _me(self) -> Member:
        raise NotImplementedError

    def _run(self, call: Call) -> None:
        """Starts it, waits, and raises its error."""
        raise NotImplementedError

    def _start(self, call: Call) -> "Request":
        raise NotImplementedError

    def allreduce(self, send: Buffer, recv: Optional[Buffer] = None, op: OpLike = "sum", *,
                  type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None, saturate: bool = False,
                  weight: Optional[float] = None) -> None:
        """The reduction of all ranks' @send goes to everybody's @recv, or @send (in place) without it."""
        self._run(_calls.whole_vector(Coll.ALLREDUCE, self._me(), send, recv, op, type, wire, saturate, weight))

    def reduce(self, send: Buffer, recv: Optional[Buffer] = None, op: OpLike = "sum", *,
               type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None, saturate: bool = False,
               weight: Optional[float] = None, root: int = 0) -> None:
        """
        The reduction of all ranks' @send goes to @recv of @root, or its @send (in place) without it. Others' @recv is
        not looked at.
        """
        self._run(_calls.whole_vector(Coll.REDUCE, self._me(), send, recv, op, type, wire, saturate, weight, root))

    def scan(self, send: Buffer, recv: Optional[Buffer] = None, op: OpLike = "sum", *,
             type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None, saturate: bool = False,
             weight: Optional[float] = None) -> None:
        """Rank r gets the reduction of ranks 0..r, in @recv or in place."""
        self._run(_calls.whole_vector(Coll.SCAN, self._me(), send, recv, op, type, wire, saturate, weight))

    def exscan(self, send: Buffer, recv: Optional[Buffer] = None, op: OpLike = "sum", *,
               type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None, saturate: bool = False,
               weight: Optional[float] = None) -> None:
        """Rank r gets the reduction of ranks 0..r-1, in @recv or in place; rank 0's is left as it is."""
        self._run(_calls.whole_vector(Coll.EXSCAN, self._me(), send, recv, op, type, wire, saturate, weight))

    def reduce_scatter(self, send: Buffer, recv: Optional[Buffer] = None, op: OpLike = "sum", *,
                       type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None, saturate: bool = False,
                       weight: Optional[float] = None) -> None:
        """
        Rank r gets share r of the reduction of all ranks' @send, which has a share for each rank; without @recv at the
        front of @send.
        """
        self._run(_calls.reduce_scatter(self._me(), send, recv, op, type, wire, saturate, weight))

    def reduce_scatterv(self, send: Buffer, recv: Optional[Buffer], counts: Counts, op: OpLike = "sum", *,
                        type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None, saturate: bool = False,
                        weight: Optional[float] = None) -> None:
        """The same with shares of counts[r] elements; @counts is the same at all ranks."""
        self._run(_calls.reduce_scatter(self._me(), send, recv, op, type, wire, saturate, weight, counts, True))

    def broadcast(self, buf: Buffer, root: int = 0, *, type: Optional[TypeLike] = None,
                  wire: Optional[TypeLike] = None) -> None:
        """All get what @root has in @buf."""
        self._run(_calls.broadcast(self._me(), buf, root, type, wire))

    def allgather(self, send: Optional[Buffer], recv: Buffer, *, type: Optional[TypeLike] = None,
                  wire: Optional[TypeLike] = None) -> None:
        """All get all ranks' @send in @recv, in the order of ranks. @send None: the own share is in its place there."""
        self._run(_calls.allgather(self._me(), send, recv, type, wire))

    def allgatherv(self, send: Optional[Buffer], recv: Buffer, counts: Counts, displs: Optional[Counts] = None,
                   *, type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None) -> None:
        """The same with shares of counts[r] elements at element displs[r] of @recv; @counts: the same at all ranks."""
        self._run(_calls.allgather(self._me(), send, recv, type, wire, counts, displs, True))

    def gather(self, send: Optional[Buffer], recv: Optional[Buffer] = None, root: int = 0, *,
               type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None) -> None:
        """
        @root gets all ranks' @send in @recv. Its @send None: its share is in its place there. Others' @recv is not
        looked at.
        """
        self._run(_calls.gather(self._me(), send, recv, root, type, wire))

    def gatherv(self, send: Optional[Buffer], recv: Optional[Buffer] = None, counts: Optional[Counts] = None,
                displs: Optional[Counts] = None, root: int = 0, *, type: Optional[TypeLike] = None,
                wire: Optional[TypeLike] = None) -> None:
        """The same with shares of counts[r] elements at element displs[r] of @recv; @root alone says them."""
        self._run(_calls.gather(self._me(), send, recv, root, type, wire, counts, displs, True))

    def scatter(self, send: Optional[Buffer], recv: Optional[Buffer] = None, root: int = 0, *,
                type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None) -> None:
        """
        Rank r gets share r of @root's @send in @recv. @root's @recv None: its share stays where it is. Others' @send is
        not looked at.
        """
        self._run(_calls.scatter(self._me(), send, recv, root, type, wire))

    def scatterv(self, send: Optional[Buffer], recv: Optional[Buffer] = None, counts: Optional[Counts] = None,
                 displs: Optional[Counts] = None, root: int = 0, *, type: Optional[TypeLike] = None,
                 wire: Optional[TypeLike] = None) -> None:
        """The same with shares of counts[r] elements at element displs[r] of @send; @root alone says them."""
        self._run(_calls.scatter(self._me(), send, recv, root, type, wire, counts, displs, True))

    def alltoall(self, send: Buffer, recv: Optional[Buffer] = None, *, type: Optional[TypeLike] = None,
                 wire: Optional[TypeLike] = None) -> None:
        """Share r of @send goes to rank r, whose share goes to share r of @recv, or of @send (in place) without it."""
        self._run(_calls.alltoall(self._me(), send, recv, type, wire))

    def alltoallv(self, send: Optional[Buffer], recv: Buffer, send_counts: Optional[Counts], recv_counts: Counts,
                  send_displs: Optional[Counts] = None, recv_displs: Optional[Counts] = None, *,
                  type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None) -> None:
        """The same with counts of each share. @send None: in place, and what is said of @recv is for both."""
        self._run(_calls.alltoallv(self._me(), send, recv, send_counts, recv_counts, send_displs, recv_displs,
                                           type, wire))

    def barrier(self) -> None:
        """Returns when all ranks have called it."""
        self._run(_calls.barrier(self._me()))

    # The same without waiting: each returns at once, and its buffers are libinc's until the Request has ended.

    def iallreduce(self, send: Buffer, recv: Optional[Buffer] = None, op: OpLike = "sum", *,
                   type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None, saturate: bool = False,
                   weight: Optional[float] = None) -> "Request":
        """allreduce() without waiting."""
        return self._start(_calls.whole_vector(Coll.ALLREDUCE, self._me(), send, recv, op, type, wire, saturate,
                                               weight))

    def ireduce(self, send: Buffer, recv: Optional[Buffer] = None, op: OpLike = "sum", *,
                type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None, saturate: bool = False,
                weight: Optional[float] = None, root: int = 0) -> "Request":
        """reduce() without waiting."""
        return self._start(_calls.whole_vector(Coll.REDUCE, self._me(), send, recv, op, type, wire, saturate, weight,
                                               root))

    def iscan(self, send: Buffer, recv: Optional[Buffer] = None, op: OpLike = "sum", *,
              type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None, saturate: bool = False,
              weight: Optional[float] = None) -> "Request":
        """scan() without waiting."""
        return self._start(_calls.whole_vector(Coll.SCAN, self._me(), send, recv, op, type, wire, saturate, weight))

    def iexscan(self, send: Buffer, recv: Optional[Buffer] = None, op: OpLike = "sum", *,
                type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None, saturate: bool = False,
                weight: Optional[float] = None) -> "Request":
        """exscan() without waiting."""
        return self._start(_calls.whole_vector(Coll.EXSCAN, self._me(), send, recv, op, type, wire, saturate, weight))

    def ireduce_scatter(self, send: Buffer, recv: Optional[Buffer] = None, op: OpLike = "sum", *,
                        type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None, saturate: bool = False,
                        weight: Optional[float] = None) -> "Request":
        """reduce_scatter() without waiting."""
        return self._start(_calls.reduce_scatter(self._me(), send, recv, op, type, wire, saturate, weight))

    def ireduce_scatterv(self, send: Buffer, recv: Optional[Buffer], counts: Counts, op: OpLike = "sum", *,
                         type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None,
                         saturate: bool = False, weight: Optional[float] = None) -> "Request":
        """reduce_scatterv() without waiting."""
        return self._start(_calls.reduce_scatter(self._me(), send, recv, op, type, wire, saturate, weight, counts,
                                                 True))

    def ibroadcast(self, buf: Buffer, root: int = 0, *, type: Optional[TypeLike] = None,
                   wire: Optional[TypeLike] = None) -> "Request":
        """broadcast() without waiting."""
        return self._start(_calls.broadcast(self._me(), buf, root, type, wire))

    def iallgather(self, send: Optional[Buffer], recv: Buffer, *, type: Optional[TypeLike] = None,
                   wire: Optional[TypeLike] = None) -> "Request":
        """allgather() without waiting."""
        return self._start(_calls.allgather(self._me(), send, recv, type, wire))

    def iallgatherv(self, send: Optional[Buffer], recv: Buffer, counts: Counts, displs: Optional[Counts] = None,
                    *, type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None) -> "Request":
        """allgatherv() without waiting."""
        return self._start(_calls.allgather(self._me(), send, recv, type, wire, counts, displs, True))

    def igather(self, send: Optional[Buffer], recv: Optional[Buffer] = None, root: int = 0, *,
                type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None) -> "Request":
        """gather() without waiting."""
        return self._start(_calls.gather(self._me(), send, recv, root, type, wire))

    def igatherv(self, send: Optional[Buffer], recv: Optional[Buffer] = None, counts: Optional[Counts] = None,
                 displs: Optional[Counts] = None, root: int = 0, *, type: Optional[TypeLike] = None,
                 wire: Optional[TypeLike] = None) -> "Request":
        """gatherv() without waiting."""
        return self._start(_calls.gather(self._me(), send, recv, root, type, wire, counts, displs, True))

    def iscatter(self, send: Optional[Buffer], recv: Optional[Buffer] = None, root: int = 0, *,
                 type: Optional[TypeLike] = None, wire: Optional[TypeLike] = None) -> "Request":
        """scatter() without waiting."""
        return self._start(_calls.scatter(self._me(), send, recv, root, type, wire))

    def iscatterv(self, send: Optional[Buffer], recv: Optional[Buffer] = None, counts: Optional[Counts] = None,
                  displs: Optional[Counts] = None, root: int = 0, *, type: Optional[TypeLike] = None,
                  wire: Optional[TypeLike] = None) -> "Request":
        """scatterv() without waiting."""
        return self._start(_calls.scatter(self._me(), send, recv, root, type, wire, counts, displs, True))

    def ialltoall(self, send: Buffer, recv: Optional[Buffer] = None, *, type: Optional[TypeLike] = None,
                  wire: Optional[TypeLike] = None) -> "Request":
        """alltoall() without waiting."""
        return self._start(_calls.alltoall(self._me(), send, recv, type, wire))

    def ialltoallv(self, send: Optional[Buffer], recv: Buffer, send_counts: Optional[Counts],
                   recv_counts: Counts, send_displs: Optional[Counts] = None,
                   recv_displs: Optional[Counts] = None, *, type: Optional[TypeLike] = None,
                   wire: Optional[TypeLike] = None) -> "Request":
        """alltoallv() without waiting."""
        return self._start(_calls.alltoallv(self._me(), send, recv, send_counts, recv_counts, send_displs, recv_displs,
                                           type, wire))

    def ibarrier(self) -> "Request":
        """barrier() without waiting."""
        return self._start(_calls.barrier(self._me()))
