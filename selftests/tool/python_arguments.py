# SPDX-License-Identifier: GPL-2.0-only
"""What the Python package makes of arguments: buffers, sizes, options, and what libinc is told."""
import array
import ctypes as c
import sys

import numpy as np

import inc
from inc import _abi, _calls
from python_expect import expect, raises, test


class Asked(inc._collectives.Collectives):
    """A member that keeps what libinc would be told."""

    def __init__(self, rank, size):
        self.me = _calls.Member(rank, size)

    def _me(self):
        return self.me

    def _run(self, call):
        self.call, self.args = call, call.args


def address(obj):
    return np.asarray(obj).__array_interface__["data"][0]


def sixteen(array_of_address, n):
    return list((c.c_uint64 * n).from_address(array_of_address))


@test
def types_of_buffers():
    me = Asked(0, 1)
    pair = {"f32_i32": [("v", "f4"), ("i", "i4")], "i32_i32": [("v", "i4"), ("i", "i4")],
            "i64_i64": [("v", "i8"), ("i", "i8")], "f64_i64": [("v", "f8"), ("i", "i8")]}
    natural = {"i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2",
               "u32": "u4", "u64": "u8", "f16": "f2", "f32": "f4", "f64": "f8", "bool": "?",
               "c32": "c8", "c64": "c16", **pair}
    for name, dtype in natural.items():
        me.broadcast(np.zeros(6, dtype))
        expect(name, (inc.Type(me.args.type).name.lower(), me.args.count), (name, 6))
    for code in "bhilqBHILQfd":
        one = array.array(code, [1, 2, 3])
        me.allreduce(one)
        expect(f"array('{code}')", (_abi.TYPE_SIZE[me.args.type], me.args.count), (one.itemsize, 3))
    me.allreduce((c.c_int32 * 5)())
    expect("ctypes", (me.args.type, me.args.count), (inc.Type.I32, 5))
    me.allreduce(bytearray(12), type="f32")
    expect("bytes as f32", (me.args.type, me.args.count), (inc.Type.F32, 3))
    for name, dtype in (("bf16", "u2"), ("f8e4m3", "u1"), ("f8e5m2", "u1"), ("f32", "u4"),
                        ("f16", "u2")):
        me.allreduce(np.zeros((2, 3), dtype), type=inc.Type[name.upper()], wire=name)
        expect(name, (me.args.type, me.args.count, me.args.wire),
               (inc.Type[name.upper()], 6, inc.Type[name.upper()]))
    if sys.byteorder == "little":
        raises(TypeError,
               r"^send \(in place\) has elements of format '>i' \(4 bytes\): expected a type of libinc",
               me.allreduce, np.zeros(3, ">i4"))
    raises(TypeError, "has elements of format 'g'.*expected a type of libinc", me.allreduce,
           np.zeros(3, "g"))
    raises(TypeError, "has elements of f32: expected bf16, unsigned integers of 2 bytes, or bytes",
           me.allreduce, np.zeros(3, "f4"), type="bf16")
    raises(TypeError, "has elements of i32: expected f32", me.allreduce, np.zeros(3, "i4"),
           type="f32")
    raises(ValueError, "has 11 bytes: expected a multiple of 4, the size of f32", me.allreduce,
           bytearray(11),
           type="f32")
    raises(TypeError, "^recv has elements of f64: expected f32, as send has", me.allreduce,
           np.zeros(3, "f4"), np.zeros(3))


@test
def records_with_padding():
    """Fields that leave bytes between elements: no pair of libinc has those."""
    me = Asked(0, 1)
    for kinds in (("f8", "i4"), ("i8", "i4"), ("f4", "i8"), ("f4", "i2")):
        record = np.dtype(list(zip("vi", kinds)), align=True)
        raises(TypeError,
               r"^send .* has elements of format 'T\{.*\}' \(\d+ bytes\): expected a type of",
               me.allreduce, np.zeros(3, record), op="minloc")
    wide = np.dtype({"names": ["v", "i"], "formats": ["f4", "i4"], "itemsize": 16})
    raises(TypeError, r"'T\{.*\}' \(16 bytes\)", me.allreduce, np.zeros(3, wide), op="minloc")
    for name, size, fmt in (("F64_I64", 16, "T{d:v:l:i:}"), ("F64_I64", 16, "T{<d:v:<q:i:}"),
                            ("F32_I32", 8, "T{=f:v:i:i:}"), ("I32_I32", 8, "T{=l:v:l:i:}")):
        expect(fmt, _calls._type_of(fmt, size), inc.Type[name])
    for size, fmt in ((16, "T{d:v:i:i:}"), (16, "T{q:v:i:i:}"), (16, "T{<l:v:<l:i:}"),
                      (16, "T{=d:v:l:i:}"), (12, "T{d:v:i:i:}")):
        expect(fmt, _calls._type_of(fmt, size), None)


@test
def what_is_no_buffer():
    me = Asked(0, 2)
    raises(TypeError, r"^send \(in place\) is list: expected a NumPy array, bytearray",
           me.allreduce, [1, 2])
    raises(TypeError, r"^send \(in place\) is None: expected a NumPy array", me.allreduce, None)
    raises(TypeError, "^recv is int: expected a NumPy array", me.allreduce, np.zeros(2), 7)
    raises(TypeError, "^recv is None", me.allgather, np.zeros(2), None)
    raises(TypeError, "is ndarray: .*cannot include dtype", me.allreduce, np.zeros(2, "M8[s]"))
    raises(ValueError, r"^send \(in place\) is read-only: expected a writable buffer",
           me.allreduce, bytes(4))
    frozen = np.zeros(4)
    frozen.flags.writeable = False
    raises(ValueError, "^recv is read-only: expected a writable buffer", me.allreduce, np.ones(4),
           frozen)
    me.allreduce(frozen, np.ones(4))
    expect("read-only send", me.args.send, address(frozen))
    for strided in (np.zeros(8)[::2], np.zeros((3, 4)).T, np.zeros((4, 4))[:, :2]):
        raises(ValueError, "^send has shape .* and strides .*: expected a C-contiguous buffer",
               me.allreduce, strided, np.zeros(strided.shape))
    both = np.zeros(8)
    raises(ValueError, "^recv and send share memory: expected two buffers", me.allreduce, both[:4],
           both[3:7])
    raises(ValueError, "^recv and send share memory", me.allreduce, both, both)
    me.allreduce(both[:4], both[4:])


@test
def sizes_that_do_not_fit():
    me = Asked(1, 3)
    raises(ValueError, "^recv has 5 elements: expected 4, as send has", me.allreduce, np.zeros(4),
           np.zeros(5))
    raises(ValueError, "^send has 4 elements: expected a multiple of 3, a share for each rank",
           me.reduce_scatter, np.zeros(4), np.zeros(1))
    raises(ValueError, "^recv has 1 elements: expected 2, this rank's share", me.reduce_scatter,
           np.zeros(6), np.zeros(1))
    raises(ValueError, "^recv has 7 elements: expected a multiple of 3", me.allgather, np.zeros(2),
           np.zeros(7))
    raises(ValueError, "^send has 3 elements: expected 2, this rank's share of recv", me.allgather,
           np.zeros(3), np.zeros(6))
    raises(ValueError, "^recv has 9 elements: expected 6, as send has", me.alltoall, np.zeros(6),
           np.zeros(9))
    raises(ValueError, "^recv has 5 elements: expected 2, this rank's share of send", me.scatter,
           np.zeros(6), np.zeros(5), root=1)
    raises(ValueError, "^send has 6 elements: expected 7, the sum of counts", me.reduce_scatterv,
           np.zeros(6), np.zeros(2), [1, 2, 4])
    raises(ValueError, "^counts has 2 numbers: expected 3, one for each rank", me.allgatherv,
           np.zeros(2), np.zeros(6),
           [1, 2])
    raises(ValueError, r"^counts\[2\] is -1: expected 0..4294967295", me.allgatherv, np.zeros(2),
           np.zeros(6),
           [1, 2, -1])
    raises(TypeError, r"^counts\[0\] is float 1.5: expected an integer", me.allgatherv,
           np.zeros(2), np.zeros(6),
           [1.5, 2, 3])
    raises(TypeError, "^counts is None: expected 3 integers", me.gatherv, np.zeros(2), np.zeros(6),
           root=1)
    raises(TypeError, "^counts is int: expected 3 integers", me.gatherv, np.zeros(2), np.zeros(6),
           4, root=1)
    raises(ValueError, "^recv has 6 elements: rank 2's share is 4..6", me.allgatherv, np.zeros(2),
           np.zeros(6),
           [1, 2, 3], [0, 1, 4])
    raises(ValueError, "^displs: the shares of ranks 0 and 1 overlap in recv", me.allgatherv,
           np.zeros(2), np.zeros(6), [2, 2, 1], [0, 1, 4])
    raises(TypeError, "^send_counts, send_displs: expected none in place", me.alltoallv, None,
           np.zeros(6), [2, 2, 2],
           [2, 2, 2])


@test
def options_that_make_no_sense():
    me = Asked(1, 3)
    x = np.zeros(3, "f4")
    raises(ValueError, '^op "summ": expected one of sum, prod', me.allreduce, x, op="summ")
    raises(ValueError, '^op "SUM": expected one of sum, prod', me.allreduce, x, op="SUM")
    raises(TypeError, "^op 99: expected inc.Op or one of sum", me.allreduce, x, op=99)
    raises(TypeError, "^op None: expected inc.Op", me.allreduce, x, op=None)
    raises(ValueError, '^type "f33": expected one of i8, i16', me.allreduce, x, type="f33")
    raises(ValueError, '^wire "f33": expected one of i8, i16', me.broadcast, x, wire="f33")
    raises(ValueError, "^root is 3: expected 0..2", me.broadcast, x, 3)
    raises(ValueError, "^root is -1: expected 0..2", me.reduce, x, root=-1)
    raises(TypeError, "^root is str '1': expected an integer", me.gather, x, root="1")
    raises(TypeError, "^weight is None: expected a number, op is wsum", me.allreduce, x, op="wsum")
    raises(ValueError, "^weight is 0.5: expected none, only op wsum has one", me.allreduce, x,
           weight=0.5)
    raises(TypeError, "^rank is given, size is not", inc.Group, 1, rank=0)
    raises(TypeError, "^size is given, rank is not", inc.Group, 1, size=2)
    raises(ValueError, "^rank is 2: expected 0..1", inc.Group, 1, 2, 2)
    raises(ValueError, "^size is 4097: expected 1..4096", inc.Group, 1, 2, 4097)
    raises(ValueError, "^group is -1: expected 0..4294967295", inc.Group, -1, 0, 1)
    raises(TypeError, "^parent is int", inc.Group, 1, 0, 1, parent=5)
    raises(ValueError, r"^parent is '10\.0\.0\.1\\x00x': expected no NUL", inc.Group, 1, 0, 1, parent="10.0.0.1\0x")
    raises(ValueError, "^key: expected one that is not all zeros", inc.Group, 1, 0, 1, key=bytes(16))
    raises(ValueError, "^key has 3 bytes: expected 16", inc.Group, 1, 0, 1, key=b"abc")
    raises(ValueError, "^key: expected 32 hexadecimal digits", inc.Group, 1, 0, 1, key="xy")
    raises(ValueError, "^timeout is -1: expected 0..1e9 seconds", inc.Group, 1, 0, 1, timeout=-1)
    raises(TypeError, "^timeout is str: expected seconds", inc.Group, 1, 0, 1, timeout="1")
    for wait in inc.wait_any, inc.wait_all:
        raises(TypeError, r"^requests\[1\] is int: expected inc.Request or None", wait, [None, 1])
        raises(TypeError, "^requests is int: expected a sequence of inc.Request", wait, 5)


@test
def what_libinc_is_told():
    me, root = Asked(1, 3), Asked(0, 3)
    send, recv = np.arange(6, dtype="i2"), np.zeros(6, "i2")
    in_place = _abi.IN_PLACE

    def told(who, *want):
        args = who.args
        expect("coll, count, send, recv",
               (inc.Coll(args.coll).name, args.count, args.send, args.recv), want)

    me.allreduce(send, recv, op="max", saturate=True, wire=inc.Type.I16)
    told(me, "ALLREDUCE", 6, address(send), address(recv))
    expect("op, wire, mode", (me.args.op, me.args.wire, me.args.mode),
           (inc.Op.MAX, inc.Type.I16, 1))
    me.scan(recv)
    told(me, "SCAN", 6, in_place, address(recv))
    me.exscan(send, recv)
    told(me, "EXSCAN", 6, address(send), address(recv))
    me.reduce(send, root=0)
    told(me, "REDUCE", 6, address(send), None)
    root.reduce(send, root=0)
    told(root, "REDUCE", 6, in_place, address(send))
    me.allreduce(np.zeros(2), op="wsum", weight=0.25)
    expect("weight", (me.args.op, me.args.weight), (inc.Op.WSUM, 0.25))
    me.reduce_scatter(send, recv[:2])
    told(me, "REDUCE_SCATTER", 2, address(send), address(recv))
    me.reduce_scatter(send)
    told(me, "REDUCE_SCATTER", 2, in_place, address(send))
    me.reduce_scatterv(send, recv[:2], (1, 2, 3))
    told(me, "REDUCE_SCATTER", 0, address(send), address(recv))
    expect("counts, mode", (sixteen(me.args.recv_counts, 3), me.args.mode), ([1, 2, 3], 2))
    me.broadcast(recv, 2)
    told(me, "BROADCAST", 6, None, address(recv))
    expect("root", me.args.root, 2)
    root.broadcast(bytes(5))
    expect("a root's read-only buffer", (root.args.count, root.args.recv), (5, None))
    root.broadcast(np.zeros(3, "f4"), wire="bf16")
    expect("a root that gets what has travelled", (root.args.count, root.args.send), (3, None))
    raises(ValueError, "^buf is read-only", root.broadcast, memoryview(bytes(8)), type="f32",
           wire="bf16")
    me.allgather(send[:2], recv)
    told(me, "ALLGATHER", 2, address(send), address(recv))
    me.allgather(None, recv)
    told(me, "ALLGATHER", 2, in_place, address(recv))
    me.allgatherv(send[:2], recv, [1, 2, 1], [5, 1, 0])
    told(me, "ALLGATHER", 2, address(send), address(recv))
    expect("displs", sixteen(me.args.recv_displs, 3), [5, 1, 0])
    me.gather(send)
    told(me, "GATHER", 6, address(send), None)
    root.gather(send[:2], recv)
    told(root, "GATHER", 2, address(send), address(recv))
    root.gather(None, recv)
    told(root, "GATHER", 2, in_place, address(recv))
    me.gatherv(send[:3])
    told(me, "GATHER", 3, address(send), None)
    expect("mode", (me.args.mode, me.args.recv_counts), (2, None))
    root.gatherv(send[:1], recv, [1, 2, 3])
    told(root, "GATHER", 1, address(send), address(recv))
    me.scatter(None, recv[:2])
    told(me, "SCATTER", 2, None, address(recv))
    root.scatter(send, recv[:2])
    told(root, "SCATTER", 2, address(send), address(recv))
    root.scatter(send)
    told(root, "SCATTER", 2, address(send), in_place)
    root.scatterv(send, recv[:4], [4, 1, 1], [0, 0, 0])
    told(root, "SCATTER", 4, address(send), address(recv))
    me.alltoall(send, recv)
    told(me, "ALLTOALL", 2, address(send), address(recv))
    me.alltoall(send)
    copy = me.args.send
    told(me, "ALLTOALL", 2, copy, address(send))
    expect("the copy", (copy != address(send), bytes((c.c_char * 12).from_address(copy))),
           (True, send.tobytes()))
    me.alltoallv(send, recv, [1, 2, 3], [3, 2, 1], [0, 0, 0])
    told(me, "ALLTOALL", 0, address(send), address(recv))
    me.alltoallv(None, recv, None, [3, 2, 1], recv_displs=[3, 0, 2])
    expect("in place", sixteen(me.args.send_displs, 3), [3, 0, 2])
    me.barrier()
    expect("barrier", (me.args.coll, me.args.type, me.args.count), (1, 0, 0))
    for nothing in (np.zeros(0), bytearray()):
        me.allreduce(nothing)
        expect("no elements", me.args.count, 0)


@test
def blocks_of_values():
    """Worked out by hand from the tables of OCP MX v1.0."""
    values = np.zeros(33, "f4")
    values[:3], values[32] = (448, -256, 17), 6
    blocks = inc.mx_pack(values, "mxf8e4m3")
    expect("blocks", bytes(blocks), bytes([127, 0x7e, 0xf8, 0x58] + [0] * 29 + [121, 0x7c] + [0] * 31))
    values[2] = 16
    back = np.full(33, 9, "f4")
    inc.mx_unpack(blocks, "mxf8e4m3", back)
    expect("values", back.tolist(), values.tolist())
    room = np.zeros(34, "u1")
    expect("where they are to be", inc.mx_pack(values, inc.Type.MXF4E2M1, room) is room, True)
    expect("halves of bytes", room[:3].tolist(), [127 + 6, 0xe7, 0])
    expect("bytes", [inc.mx_bytes(n, "mxf4e2m1") for n in (0, 1, 32, 33)], [0, 17, 17, 34])
    me = Asked(0, 2)
    me.allreduce(blocks, op="avg", type="mxf8e4m3")
    expect("count, type", (me.args.count, me.args.type, me.args.send, me.args.recv),
           (2, inc.Type.MXF8E4M3, _abi.IN_PLACE, address(np.frombuffer(blocks, "u1"))))
    raises(ValueError, "^type f8e4m3: expected one of mxf8e4m3, mxf8e5m2", inc.mx_pack, values, "f8e4m3")
    raises(ValueError, '^type "mxf8": expected one of', inc.mx_bytes, 3, "mxf8")
    raises(ValueError, "^values is -1: expected 0..", inc.mx_bytes, -1, "mxi8")
    raises(TypeError, "^values has elements of format 'd' .8 bytes.: expected f32", inc.mx_pack,
           np.zeros(3), "mxi8")
    raises(ValueError, "^blocks has 34 bytes: expected 66, those of all values", inc.mx_pack, values,
           "mxi8", room)
    raises(ValueError, "^blocks is read-only", inc.mx_pack, values, "mxf4e2m1", bytes(34))
    raises(ValueError, "^blocks has 33 bytes: expected 66", inc.mx_unpack, bytes(33), "mxi8", back)
    # in C that is a promise of the caller
    both = bytearray(4 * 33 + 66)
    for begin in 0, 4, 66, 4 * 33 - 4:
        shared = np.frombuffer(both, "u1", 66, begin)
        for call, args in ((inc.mx_pack, (np.frombuffer(both, "f4", 33), "mxi8", shared)),
                           (inc.mx_unpack, (shared, "mxi8", np.frombuffer(both, "f4", 33)))):
            raises(ValueError, "^blocks and values share memory: expected two buffers$", call, *args)
    inc.mx_pack(np.frombuffer(both, "f4", 33), "mxi8", np.frombuffer(both, "u1", 66, 4 * 33))
    raises(TypeError, r"^send \(in place\) has elements of f32: expected bytes, the blocks that "
           r"inc.mx_pack\(\) makes", me.allreduce, values, type="mxi8")
    raises(ValueError, "has 34 bytes: expected a multiple of 33, the size of mxi8", me.allreduce, room,
           type="mxi8")


@test
def why_asks_for_the_sum_of_f32():
    class Lib:
        """Keeps what it is asked."""

        def inc_why(self, handle, *what):
            self.what = (handle, *what[:4])
            return 0

    fake = _abi.lib = Lib()
    expect("the answer", inc.why("allreduce")[0], True)
    expect("asked", fake.what, (None, inc.Coll.ALLREDUCE, inc.Type.F32, inc.Op.SUM, 1))
    inc.why("reduce-scatter", type="i8", op="max", count=3)
    expect("asked", fake.what, (None, inc.Coll.REDUCE_SCATTER, inc.Type.I8, inc.Op.MAX, 3))
