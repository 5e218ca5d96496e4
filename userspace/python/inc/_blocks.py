# SPDX-License-Identifier: LGPL-2.1-or-later
"""Block floats of the OCP Microscaling Formats (MX) Specification v1.0, from and to f32."""
from typing import Optional

from . import _abi, _calls
from ._abi import MX_VALUES, TYPE_SIZE, Type
from ._calls import Buffer, TypeLike
from ._errors import Error, text_of

_TYPES = (Type.MXF8E4M3, Type.MXF8E5M2, Type.MXF4E2M1, Type.MXI8)


def _block_type(type: TypeLike) -> Type:
    found = _calls._member("type", Type, type)
    if found not in _TYPES:
        raise ValueError(f"type {found.name.lower()}: expected one of "
                         f"{', '.join(entry.name.lower() for entry in _TYPES)}")
    return found


def mx_bytes(values: int, type: TypeLike) -> int:
    """Bytes that so many values take: of every 32 of them, or what is left of that, a block."""
    return -(-_calls.whole("values", values, 0, MX_VALUES * _abi.MAX_COUNT) // MX_VALUES) * TYPE_SIZE[_block_type(type)]


def _values(obj: Buffer, writable: bool) -> memoryview:
    view = _calls.whole_buffer("values", obj)
    if _calls._type_of(view.format, view.itemsize) != Type.F32:
        raise TypeError(f"values has elements of format '{view.format}' ({view.itemsize} bytes): expected f32")
    if writable and view.readonly:
        raise ValueError("values is read-only: expected a writable buffer, the result goes there")
    return view


def _blocks(obj: Buffer, size: int, writable: bool) -> memoryview:
    view = _calls.whole_buffer("blocks", obj)
    if view.nbytes != size:
        raise ValueError(f"blocks has {view.nbytes} bytes: expected {size}, those of all values")
    if writable and view.readonly:
        raise ValueError("blocks is read-only: expected a writable buffer, the result goes there")
    return view


def _expect_apart(blocks: memoryview, values: memoryview) -> None:
    first, other = _calls.address_of(blocks), _calls.address_of(values)
    if first < other + values.nbytes and other < first + blocks.nbytes:
        raise ValueError("blocks and values share memory: expected two buffers")


def mx_pack(values: Buffer, type: TypeLike, blocks: Optional[Buffer] = None) -> Buffer:
    """
    Makes blocks of f32, in @blocks, which has mx_bytes() of room, or in a new bytearray, and returns that: for
    operations with the same `type`. What the last one has no values for is 0. inc_mx_pack() in inc.h has the rules.
    """
    kind, view = _block_type(type), _values(values, False)
    count = view.nbytes // 4
    out = bytearray(mx_bytes(count, kind)) if blocks is None else blocks
    with view, _blocks(out, mx_bytes(count, kind), True) as room:
        _expect_apart(room, view)
        ret = _abi.lib.inc_mx_pack(kind, _calls.address_of(room), _calls.address_of(view), count)
    if ret:
        raise Error(-ret, text_of(None))
    return out


def mx_unpack(blocks: Buffer, type: TypeLike, values: Buffer) -> None:
    """Fills @values, f32, from the blocks of as many."""
    kind, view = _block_type(type), _values(values, True)
    count = view.nbytes // 4
    with view, _blocks(blocks, mx_bytes(count, kind), False) as packed:
        _expect_apart(packed, view)
        ret = _abi.lib.inc_mx_unpack(kind, _calls.address_of(view), _calls.address_of(packed), count)
    if ret:
        raise Error(-ret, text_of(None))
