# SPDX-License-Identifier: LGPL-2.1-or-later
"""
From buffers to struct inc_args. Everything that can be wrong with an argument is found here, before libinc is called:
TypeError for what an object is, ValueError for what is in it; both say what was expected.
"""
import ctypes as c
import operator
import re
import sys
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union

from ._abi import IN_PLACE, MAX_COUNT, MODE_COUNTS, MODE_SATURATE, TYPE_SIZE, Args, Coll, Op, Type

#: Anything with the buffer protocol (PEP 3118): a NumPy array, bytearray, array.array, memoryview.
Buffer = Any
TypeLike = Union[Type, str]
OpLike = Union[Op, str]
Counts = Sequence[int]

_E = TypeVar("_E", Type, Op)

# Formats of single elements; "l" and "L" have the size that the buffer says.
_SIGNED = {1: Type.I8, 2: Type.I16, 4: Type.I32, 8: Type.I64}
_UNSIGNED = {1: Type.U8, 2: Type.U16, 4: Type.U32, 8: Type.U64}
_SINGLE = {"e": Type.F16, "f": Type.F32, "d": Type.F64, "?": Type.BOOL, "Zf": Type.C32, "Zd": Type.C64}
_PAIRS = {(Type.I32, Type.I32): Type.I32_I32, (Type.F32, Type.I32): Type.F32_I32,
          (Type.I64, Type.I64): Type.I64_I64, (Type.F64, Type.I64): Type.F64_I64}
#: Bytes of a field of these formats as the machine has it: a pair's are 4 or 8.
_FIELD_SIZES = {"i": 4, "f": 4, "q": 8, "d": 8, "l": c.sizeof(c.c_long), "n": c.sizeof(c.c_ssize_t)}
_FIELDS = re.compile(r"T\{([@=<]?[a-zA-Z]):[^:]*:([@=<]?[a-zA-Z]):[^:]*:\}")
_BUFFERS = "expected a NumPy array, bytearray, array.array, memoryview or another object with a buffer"


class Member(NamedTuple):
    """Who calls."""

    rank: int
    size: int


class Call:
    """What libinc is told, and the objects that must live as long as the operation."""

    __slots__ = ("args", "keep")

    def __init__(self, coll: Coll, root: int = 0) -> None:
        self.args = Args(coll=coll, root=root)
        self.keep: List[Any] = []

    @property
    def name(self) -> str:
        return Coll(self.args.coll).name.lower().replace("_", "-")

    def release(self) -> None:
        """The buffers are their owners' again."""
        for item in self.keep:
            if isinstance(item, memoryview):
                item.release()
        self.keep = []


class _PyBuffer(c.Structure):
    """Py_buffer, of which the address is needed: ctypes tells it of writable objects only."""

    _fields_ = [("buf", c.c_void_p), ("obj", c.c_void_p), ("len", c.c_ssize_t), ("itemsize", c.c_ssize_t),
                ("readonly", c.c_int), ("ndim", c.c_int), ("format", c.c_char_p), ("shape", c.c_void_p),
                ("strides", c.c_void_p), ("suboffsets", c.c_void_p), ("internal", c.c_void_p)]


_get_buffer = c.pythonapi.PyObject_GetBuffer
_get_buffer.restype, _get_buffer.argtypes = c.c_int, [c.py_object, c.POINTER(_PyBuffer), c.c_int]
_release_buffer = c.pythonapi.PyBuffer_Release
_release_buffer.restype, _release_buffer.argtypes = None, [c.POINTER(_PyBuffer)]


def address_of(view: memoryview) -> int:
    """Valid as long as @view is not released."""
    raw = _PyBuffer()
    _get_buffer(view, c.byref(raw), 0)
    address = raw.buf or 0
    _release_buffer(c.byref(raw))
    return address


def whole_buffer(what: str, obj: Buffer) -> memoryview:
    """The memory of @obj, in one piece."""
    if obj is None:
        raise TypeError(f"{what} is None: {_BUFFERS}")
    try:
        view = memoryview(obj)
    except (TypeError, ValueError, BufferError) as error:
        raise TypeError(f"{what} is {type(obj).__name__}: {_BUFFERS} ({error})") from None
    if not view.c_contiguous:
        raise ValueError(f"{what} has shape {view.shape} and strides {view.strides}: "
                         "expected a C-contiguous buffer")
    return view


def _single(fmt: str, size: int) -> Optional[Type]:
    order, kind = (fmt[0], fmt[1:]) if fmt[:1] in "@=<>!" else ("@", fmt)
    if order in ">!" and size > 1 or order in "@=" and sys.byteorder != "little":
        return None
    if len(kind) == 1 and kind in "bhilqn":
        return _SIGNED.get(size)
    if len(kind) == 1 and kind in "BHILQN":
        return _UNSIGNED.get(size)
    return _SINGLE.get(kind)


def _type_of(fmt: str, size: int) -> Optional[Type]:
    """The type of elements with this format and size; None: libinc has none."""
    fields = _FIELDS.fullmatch(fmt)
    return _pair(fields[1], fields[2], size) if fields else _single(fmt, size)


def _pair(value: str, index: str, size: int) -> Optional[Type]:
    """Two fields, which are all of the element: NumPy does not name the bytes that follow the last one."""
    if index[0] not in "@=<":
        # the order of bytes, and with it the sizes, are those of the field before
        index = (value[0] if value[0] in "@=<" else "@") + index
    sizes = _field_size(value), _field_size(index)
    types = _single(value, sizes[0]), _single(index, sizes[1])
    pair = _PAIRS.get((types[0], types[1])) if types[0] and types[1] else None
    return pair if pair and size == sum(sizes) == TYPE_SIZE[pair] else None


def _field_size(fmt: str) -> int:
    """Bytes of one field; 0: of a kind that is in no pair."""
    if fmt[-1] == "l" and fmt[0] in "=<":
        return 4
    return _FIELD_SIZES.get(fmt[-1], 0)


def _member(what: str, kind: "type[_E]", value: Union[_E, str, int]) -> _E:
    """A member of an enum, by its name or itself."""
    names = ", ".join(entry.name.lower() for entry in kind)
    if isinstance(value, str):
        if value == value.lower() and value.upper() in kind.__members__:
            return kind[value.upper()]
        raise ValueError(f'{what} "{value}": expected one of {names}')
    if isinstance(value, int) and not isinstance(value, bool) and value in list(kind):
        return kind(value)
    raise TypeError(f"{what} {value!r}: expected inc.{kind.__name__} or one of {names}")


def whole(what: str, value: Any, low: int, high: int) -> int:
    """An integer in low..high."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {type(value).__name__} {value!r}: expected an integer") from None
    if not low <= number <= high:
        raise ValueError(f"{what} is {number}: expected {low}..{high}")
    return number


class _Buf:
    """One buffer of a call, checked."""

    __slots__ = ("what", "view", "type", "count", "address")

    def __init__(self, what: str, obj: Buffer, asked: Optional[TypeLike], writable: bool) -> None:
        self.what, self.view = what, whole_buffer(what, obj)
        view = self.view
        if writable and view.readonly:
            raise ValueError(f"{what} is read-only: expected a writable buffer, the result goes there")
        self.type = self._choose(asked)
        self.count, rest = divmod(view.nbytes, TYPE_SIZE[self.type])
        if rest:
            raise ValueError(f"{what} has {view.nbytes} bytes: expected a multiple of {TYPE_SIZE[self.type]}, "
                             f"the size of {self.type.name.lower()}")
        if self.count > MAX_COUNT:
            raise ValueError(f"{what} has {self.count} elements: expected at most {MAX_COUNT}")
        self.address = address_of(view)

    def _choose(self, asked: Optional[TypeLike]) -> Type:
        fmt, size = self.view.format, self.view.itemsize
        own = _type_of(fmt, size)
        if asked is None:
            if own is None:
                raise TypeError(f"{self.what} has elements of format '{fmt}' ({size} bytes): expected a type of "
                                f"libinc ({', '.join(entry.name.lower() for entry in Type)})")
            return own
        wanted = _member("type", Type, asked)
        # Bytes may be anything, unsigned integers any element of their size.
        if own in (wanted, Type.U8) or (own in _UNSIGNED.values() and size == TYPE_SIZE[wanted]):
            return wanted
        is_now = own.name.lower() if own else f"format '{fmt}'"
        if TYPE_SIZE[wanted] > 16:
            raise TypeError(f"{self.what} has elements of {is_now}: expected bytes, the blocks that inc.mx_pack() "
                            "makes")
        raise TypeError(f"{self.what} has elements of {is_now}: expected {wanted.name.lower()}, unsigned integers of "
                        f"{TYPE_SIZE[wanted]} bytes, or bytes")

    def expect(self, count: int, why: str) -> None:
        if self.count != count:
            raise ValueError(f"{self.what} has {self.count} elements: expected {count}, {why}")

    def overlaps(self, other: "_Buf") -> bool:
        return (self.address < other.address + other.view.nbytes and
                other.address < self.address + self.view.nbytes)


class _Builder:
    """Puts a Call together; the first buffer determines the type."""

    def __init__(self, me: Member, coll: Coll, root: Any = 0, type: Optional[TypeLike] = None,
                 wire: Optional[TypeLike] = None) -> None:
        self.me = me
        self.call = Call(coll, whole("root", root, 0, me.size - 1))
        self.is_root = self.call.args.root == me.rank
        self._asked = None if type is None else _member("type", Type, type)
        self._first: Optional[_Buf] = None
        if wire is not None:
            self.call.args.wire = _member("wire", Type, wire)

    def _buffer(self, what: str, obj: Buffer, writable: bool) -> _Buf:
        buf = _Buf(what, obj, self._asked, writable)
        first = self._first
        if first is None:
            self._first = buf
            self.call.args.type = buf.type
        else:
            if buf.type != first.type:
                raise TypeError(f"{what} has elements of {buf.type.name.lower()}: expected "
                                f"{first.type.name.lower()}, as {first.what} has")
            if buf.overlaps(first):
                raise ValueError(f"{what} and {first.what} share memory: expected two buffers, or one of them left "
                                 "out, where that is in place")
        self.call.keep.append(buf.view)
        return buf

    def send(self, obj: Buffer) -> _Buf:
        buf = self._buffer("send", obj, False)
        self.call.args.send = buf.address
        return buf

    def recv(self, obj: Buffer, what: str = "recv") -> _Buf:
        buf = self._buffer(what, obj, True)
        self.call.args.recv = buf.address
        return buf

    def in_place(self) -> None:
        self.call.args.send = IN_PLACE

    def _array(self, what: str, values: Optional[Counts]) -> Tuple[List[int], int]:
        """N numbers as C has them; their address."""
        if values is None:
            raise TypeError(f"{what} is None: expected {self.me.size} integers")
        try:
            given = list(values)
        except TypeError:
            raise TypeError(f"{what} is {type(values).__name__}: expected {self.me.size} integers") from None
        if len(given) != self.me.size:
            raise ValueError(f"{what} has {len(given)} numbers: expected {self.me.size}, one for each rank")
        numbers = [whole(f"{what}[{i}]", value, 0, MAX_COUNT) for i, value in enumerate(given)]
        array = (c.c_uint64 * len(numbers))(*numbers)
        self.call.keep.append(array)
        return numbers, c.addressof(array)

    def shares(self, side: str, buf: _Buf, counts: Optional[Counts], displs: Optional[Counts],
               prefix: str = "") -> List[int]:
        """Counts and displacements of the shares in @buf."""
        numbers, address = self._array(prefix + "counts", counts)
        setattr(self.call.args, side + "_counts", address)
        if displs is None:
            buf.expect(sum(numbers), f"the sum of {prefix}counts")
            return numbers
        begins, address = self._array(prefix + "displs", displs)
        setattr(self.call.args, side + "_displs", address)
        spans = sorted((begin, begin + number, i) for i, (begin, number) in enumerate(zip(begins, numbers)) if number)
        for begin, end, i in spans:
            if end > buf.count:
                raise ValueError(f"{buf.what} has {buf.count} elements: rank {i}'s share is {begin}..{end - 1}")
        for (_, end, i), (begin, _, k) in zip(spans, spans[1:]):
            if begin < end and side == "recv":
                raise ValueError(f"{prefix}displs: the shares of ranks {i} and {k} overlap in {buf.what}: "
                                 "expected them apart")
        return numbers

    def varying(self) -> None:
        self.call.args.mode |= MODE_COUNTS

    def reduces(self, op: OpLike, saturate: bool, weight: Optional[float]) -> None:
        self.call.args.op = _member("op", Op, op)
        if saturate:
            self.call.args.mode |= MODE_SATURATE
        if self.call.args.op == Op.WSUM:
            if weight is None:
                raise TypeError("weight is None: expected a number, op is wsum")
            self.call.args.weight = float(weight)
        elif weight is not None:
            raise ValueError(f"weight is {weight!r}: expected none, only op wsum has one")

    def done(self, count: int) -> Call:
        self.call.args.count = count
        return self.call

    def part(self, buf: _Buf) -> int:
        """The N-th part of a buffer that has one share for each rank."""
        count, rest = divmod(buf.count, self.me.size)
        if rest:
            raise ValueError(f"{buf.what} has {buf.count} elements: expected a multiple of {self.me.size}, a share "
                             "for each rank")
        return count


def barrier(me: Member) -> Call:
    return Call(Coll.BARRIER)


def whole_vector(coll: Coll, me: Member, send: Buffer, recv: Optional[Buffer], op: OpLike, type: Optional[TypeLike],
                 wire: Optional[TypeLike], saturate: bool, weight: Optional[float], root: int = 0) -> Call:
    """allreduce, scan, exscan; reduce, where the root alone has a result."""
    build = _Builder(me, coll, root, type, wire)
    build.reduces(op, saturate, weight)
    gets = coll != Coll.REDUCE or build.is_root
    if gets and recv is None:
        build.in_place()
        return build.done(build.recv(send, "send (in place)").count)
    buf = build.send(send)
    if gets:
        build.recv(recv).expect(buf.count, "as send has")
    return build.done(buf.count)


def reduce_scatter(me: Member, send: Buffer, recv: Optional[Buffer], op: OpLike, type: Optional[TypeLike],
                   wire: Optional[TypeLike], saturate: bool, weight: Optional[float],
                   counts: Optional[Counts] = None, varying: bool = False) -> Call:
    build = _Builder(me, Coll.REDUCE_SCATTER, 0, type, wire)
    build.reduces(op, saturate, weight)
    if recv is None:
        build.in_place()
        buf = build.recv(send, "send (in place)")
    else:
        buf = build.send(send)
    if varying:
        build.varying()
        count = build.shares("recv", buf, counts, None)[me.rank]
    else:
        count = build.part(buf)
    if recv is not None:
        build.recv(recv).expect(count, "this rank's share")
    return build.done(0 if varying else count)


def broadcast(me: Member, buf: Buffer, root: int, type: Optional[TypeLike], wire: Optional[TypeLike]) -> Call:
    build = _Builder(me, Coll.BROADCAST, root, type, wire)
    if not build.is_root:
        return build.done(build.recv(buf, "buf").count)
    sent = build._buffer("buf", buf, False)
    if build.call.args.wire in (0, sent.type):
        build.call.args.send = sent.address
    elif sent.view.readonly:
        raise ValueError("buf is read-only: expected a writable buffer, the root gets what has travelled, too")
    else:
        build.call.args.recv = sent.address
    return build.done(sent.count)


def allgather(me: Member, send: Optional[Buffer], recv: Buffer, type: Optional[TypeLike], wire: Optional[TypeLike],
              counts: Optional[Counts] = None, displs: Optional[Counts] = None, varying: bool = False) -> Call:
    build = _Builder(me, Coll.ALLGATHER, 0, type, wire)
    buf = build.recv(recv)
    if varying:
        build.varying()
        count = build.shares("recv", buf, counts, displs)[me.rank]
    else:
        count = build.part(buf)
    if send is None:
        build.in_place()
    else:
        build.send(send).expect(count, "this rank's share of recv")
    return build.done(0 if varying and send is None else count)


def gather(me: Member, send: Optional[Buffer], recv: Optional[Buffer], root: int, type: Optional[TypeLike],
           wire: Optional[TypeLike], counts: Optional[Counts] = None, displs: Optional[Counts] = None,
           varying: bool = False) -> Call:
    build = _Builder(me, Coll.GATHER, root, type, wire)
    if varying:
        build.varying()
    if not build.is_root:
        return build.done(build.send(send).count)
    buf = build.recv(recv)
    count = build.shares("recv", buf, counts, displs)[me.rank] if varying else build.part(buf)
    if send is None:
        build.in_place()
    else:
        build.send(send).expect(count, "this rank's share of recv")
    return build.done(0 if varying and send is None else count)


def scatter(me: Member, send: Optional[Buffer], recv: Optional[Buffer], root: int, type: Optional[TypeLike],
            wire: Optional[TypeLike], counts: Optional[Counts] = None, displs: Optional[Counts] = None,
            varying: bool = False) -> Call:
    build = _Builder(me, Coll.SCATTER, root, type, wire)
    if varying:
        build.varying()
    if not build.is_root:
        return build.done(build.recv(recv).count)
    buf = build.send(send)
    count = build.shares("send", buf, counts, displs)[me.rank] if varying else build.part(buf)
    if recv is None:
        build.call.args.recv = IN_PLACE
    else:
        build.recv(recv).expect(count, "this rank's share of send")
    return build.done(0 if varying and recv is None else count)


def alltoall(me: Member, send: Buffer, recv: Optional[Buffer], type: Optional[TypeLike],
             wire: Optional[TypeLike]) -> Call:
    build = _Builder(me, Coll.ALLTOALL, 0, type, wire)
    if recv is not None:
        buf = build.send(send)
        count = build.part(buf)
        build.recv(recv).expect(buf.count, "as send has")
        return build.done(count)
    buf = build.recv(send, "send (in place)")
    _send_copy(build, buf)
    return build.done(build.part(buf))


def alltoallv(me: Member, send: Optional[Buffer], recv: Buffer, send_counts: Optional[Counts],
              recv_counts: Optional[Counts], send_displs: Optional[Counts], recv_displs: Optional[Counts],
              type: Optional[TypeLike], wire: Optional[TypeLike]) -> Call:
    build = _Builder(me, Coll.ALLTOALL, 0, type, wire)
    build.varying()
    args = build.call.args
    if send is not None:
        build.shares("send", build.send(send), send_counts, send_displs, "send_")
    elif send_counts is not None or send_displs is not None:
        raise TypeError("send_counts, send_displs: expected none in place, those of recv are for both")
    buf = build.recv(recv)
    build.shares("recv", buf, recv_counts, recv_displs, "recv_")
    if send is None:
        _send_copy(build, buf)
        args.send_counts, args.send_displs = args.recv_counts, args.recv_displs
    return build.done(0)


def _send_copy(build: _Builder, buf: _Buf) -> None:
    """What libinc would copy, and lose when a group is aborted."""
    copy = memoryview(bytes(buf.view) or b"\0")
    build.call.keep.append(copy)
    build.call.args.send = address_of(copy)
