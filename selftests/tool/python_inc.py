#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
The Python package `inc` without the module: its structs against the headers, what it makes of
arguments, and what it does with requests, signals, threads and asyncio, over a libinc made here.

    python_inc.py ABI       ABI: what python_abi.c prints, as a file

Prints "ok - NAME" or "not ok - NAME" for every test, and "end". The package and libinc are on the
usual paths.
"""
import array
import asyncio
import ctypes as c
import errno
import gc
import os
import re
import signal
import sys
import threading
import time
import traceback
import warnings

import numpy as np

import inc
from inc import _abi, _calls, _request

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def expect(what, got, want):
    if got != want:
        raise AssertionError(f"{what} is {got!r}, expected {want!r}")


def raises(kind, text, function, *args, **options):
    """Exactly this exception, with this pattern in its text."""
    try:
        function(*args, **options)
    except Exception as error:
        if type(error) is not kind or not re.search(text, str(error)):
            raise AssertionError(
                f"{type(error).__name__}: {error}; expected {kind.__name__}: {text}") from None
        return error
    raise AssertionError(f"nothing was raised, expected {kind.__name__}: {text}")


# ---- The headers ---------------------------------------------------------------------------------

STRUCTS = {"inc_join_opts": _abi.JoinOpts, "inc_launch": _abi.Launch, "inc_args": _abi.Args,
           "inc_request": _abi.RequestStruct, "inc_submit": _abi.Submit,
           "inc_error_info": _abi.ErrorInfo,
           "inc_info": _abi.InfoStruct, "inc_split_offer": _abi.SplitOffer}
VALUES = {"INC_MAX_RANKS": _abi.MAX_RANKS, "INC_MAX_COUNT": _abi.MAX_COUNT,
          "INC_KEY_LEN": _abi.KEY_LEN, "INC_MODE_SATURATE": _abi.MODE_SATURATE,
          "INC_MODE_COUNTS": _abi.MODE_COUNTS,
          "INC_ERR_MISMATCH": _abi.ERR_MISMATCH, "INC_ERR_COUNTS": _abi.ERR_COUNTS,
          "INC_NO_COLOUR": _abi.NO_COLOUR,
          **{"INC_STATE_" + entry.name: int(entry) for entry in inc.State}}


@test
def structs_and_enums_are_those_of_the_headers():
    lines = [line.split() for line in open(sys.argv[1], encoding="utf-8")]
    fields, types, ops, colls, seen = {}, {}, {}, {}, set()
    for words in lines:
        if words[0] == "type":
            types[words[1]] = (int(words[2]), int(words[3]))
        elif words[0] in ("op", "coll"):
            (ops if words[0] == "op" else colls)[words[1].replace("-", "_")] = int(words[2])
        elif "." in words[0]:
            struct, field = words[0].split(".")
            expect(words[0], getattr(STRUCTS[struct], field).offset, int(words[1]))
            fields.setdefault(struct, []).append(field)
        elif words[0] in STRUCTS:
            expect(f"sizeof {words[0]}", c.sizeof(STRUCTS[words[0]]), int(words[1]))
            seen.add(words[0])
        elif words[0] in VALUES:
            expect(words[0], VALUES[words[0]], int(words[1]))
            seen.add(words[0])
    expect("structs and numbers", seen, set(STRUCTS) | set(VALUES))
    for struct, kind in STRUCTS.items():
        expect(f"fields of {struct}", [name for name, _ in kind._fields_], fields[struct])
    expect("types",
           {entry.name.lower(): (int(entry), _abi.TYPE_SIZE[entry]) for entry in inc.Type}, types)
    expect("ops", {entry.name.lower(): int(entry) for entry in inc.Op}, ops)
    del colls["leave"]
    expect("colls", {entry.name.lower(): int(entry) for entry in inc.Coll}, colls)


@test
def the_version_is_that_of_libinc():
    expect("version", inc.__version__, _abi.lib.inc_version().decode())


@test
def launcher_resolution():
    names = [name
             for name in os.environ
             if name.startswith(("INC_", "OMPI_", "PMI", "SLURM_", "MASTER_"))]
    for name in names + ["RANK", "WORLD_SIZE", "LOCAL_RANK"]:
        if name != "INC_LIBRARY":
            os.environ.pop(name, None)
    error = raises(inc.Error, "no launcher has set them: INC_RANK, RANK", inc.launcher)
    expect("errno", error.errno, errno.ENOENT)
    os.environ.update(RANK="1", WORLD_SIZE="4", MASTER_ADDR="10.0.0.1", MASTER_PORT="29500",
                      LOCAL_RANK="0")
    expect("torchrun", inc.launcher(),
           inc.Launched("torchrun", 0x19a6bf7357ce40a6, 0, 1, 4, 0, None, True))
    del os.environ["WORLD_SIZE"]
    error = raises(inc.Error, "^RANK is set, WORLD_SIZE is not", inc.launcher)
    expect("errno", error.errno, errno.EINVAL)
    raises(inc.Error, "^RANK is set, WORLD_SIZE is not", inc.Group, 5)
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK"):
        del os.environ[name]


# ---- Arguments -----------------------------------------------------------------------------------

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
    raises(ValueError, "^size is 1025: expected 1..1024", inc.Group, 1, 2, 1025)
    raises(ValueError, "^group is -1: expected 0..4294967295", inc.Group, -1, 0, 1)
    raises(TypeError, "^parent is int", inc.Group, 1, 0, 1, parent=5)
    raises(ValueError, "^key has 3 bytes: expected 16", inc.Group, 1, 0, 1, key=b"abc")
    raises(ValueError, "^key: expected 32 hexadecimal digits", inc.Group, 1, 0, 1, key="xy")
    raises(ValueError, "^timeout is -1: expected 0..1e9 seconds", inc.Group, 1, 0, 1, timeout=-1)
    raises(TypeError, "^timeout is str: expected seconds", inc.Group, 1, 0, 1, timeout="1")


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


# ---- Requests ------------------------------------------------------------------------------------

class Fake:
    """A libinc whose operations end when told."""

    def __init__(self, size=2):
        self.size, self.handles, self.results, self.calls = size, 0, {}, []
        self.inside, self.closed, self.code = 0, None, 3
        self.fd, self.writer = os.pipe()

    def end(self, handle, result=0):
        self.results[handle] = result
        os.write(self.writer, b"x")

    def until_waited(self):
        """Until a thread waits in libinc for something to end."""
        deadline = time.monotonic() + 30
        while not self.inside and time.monotonic() < deadline:
            time.sleep(0.005)

    def end_later(self, seconds, handle, result=0):
        thread = threading.Timer(seconds, self.end, (handle, result))
        thread.start()
        return thread

    def inc_join_start(self, handle, opts):
        handle._obj.value = 4711
        self.rank = opts._obj.rank
        return 0

    def inc_join_poll(self, handle, ms):
        return 0

    def inc_fd(self, handle):
        return self.fd

    def inc_rank(self, handle):
        return self.rank

    def inc_size(self, handle):
        return self.size

    def inc_group_id(self, handle):
        return 9

    def inc_errmsg(self, handle):
        return b"libinc's text"

    def inc_info(self, handle, info):
        self.open()
        info._obj.missing = 1
        info._obj.error.code = self.code
        info._obj.error.rank[:] = [1, 0]
        return 0

    def inc_icollective(self, handle, args, req):
        self.open()
        self.handles += 1
        req._obj.handle = self.handles
        return 0

    def open(self):
        if self.closed:
            raise AssertionError(f"it was used after {self.closed}")

    def collect(self, req):
        self.open()
        if req._obj.handle not in self.results:
            return False
        req._obj.result = self.results.pop(req._obj.handle)
        req._obj.handle = 0
        os.read(self.fd, 1)
        return True

    def inc_wait(self, req, ms):
        deadline = time.monotonic() + ms / 1000
        self.inside += 1
        try:
            while not self.collect(req):
                if time.monotonic() >= deadline:
                    return -errno.ETIMEDOUT
                time.sleep(0.005)
        finally:
            self.inside -= 1
        return req._obj.result

    def inc_test(self, req):
        self.calls.append("test")
        return req._obj.result if self.collect(req) else -errno.EAGAIN

    def inc_leave(self, handle):
        self.open()
        self.closed = "leave"
        return 0

    def inc_abort(self, handle):
        self.open()
        expect("threads in libinc", self.inside, 0)
        self.closed = "abort"


def group(size=2):
    fake = Fake(size)
    _abi.lib = fake
    return fake, inc.Group(9, 0, size)


def is_locked(buf):
    """A bytearray with exports cannot change its size."""
    try:
        buf.append(0)
    except BufferError:
        return True
    buf.pop()
    return False


def interrupt_when_waited(fake, number=signal.SIGINT):
    def interrupt():
        fake.until_waited()
        os.kill(os.getpid(), number)

    threading.Thread(target=interrupt).start()


@test
def blocking_calls_lock_buffers_until_they_end():
    fake, g = group()
    buf = bytearray(8)
    seen = []

    def watch():
        fake.until_waited()
        seen.append(is_locked(buf))
        fake.end(1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    g.allreduce(buf)
    watcher.join()
    expect("locked meanwhile, and afterwards", (seen, is_locked(buf)), ([True], False))
    fake.results[2] = -errno.ECONNRESET
    os.write(fake.writer, b"x")
    error = raises(inc.Error, "^libinc's text$", g.allreduce, buf)
    expect("errno, ranks", (error.errno, error.ranks, is_locked(buf)),
           (errno.ECONNRESET, (1,), False))
    fake.code = _abi.ERR_MISMATCH
    fake.results[3] = -errno.EPROTO
    os.write(fake.writer, b"x")
    expect("both sides", raises(inc.Error, "^libinc's text$", g.allreduce, buf).ranks, (1, 0))
    g.leave()
    g.leave()
    expect("closed", (fake.closed, g.closed), ("leave", True))
    error = raises(inc.Error, "it was left or aborted", g.barrier)
    expect("errno", error.errno, errno.ENOTCONN)
    raises(inc.Error, "it was left or aborted", g.fileno)


@test
def an_interrupted_blocking_call_aborts_the_group():
    fake, g = group()
    buf = bytearray(8)
    interrupt_when_waited(fake)
    begin = time.monotonic()
    try:
        g.allreduce(buf)
        raise AssertionError("it was not interrupted")
    except KeyboardInterrupt:
        took = time.monotonic() - begin
    expect(f"soon after it ({took:.1f} s)", took < 5, True)
    expect("aborted, closed, locked", (fake.closed, g.closed, is_locked(buf)),
           ("abort", True, False))
    raises(inc.Error, "it was left or aborted", g.barrier)


@test
def an_interrupted_wait_leaves_the_request():
    fake, g = group()
    request = g.iallreduce(bytearray(8))
    interrupt_when_waited(fake)
    try:
        request.wait()
        raise AssertionError("it was not interrupted")
    except KeyboardInterrupt:
        pass
    expect("closed", (fake.closed, g.closed, request.done), (None, False, False))
    fake.end(1)
    request.wait()
    expect("test", request.test(), True)
    g.leave()


@test
def waits_with_limits():
    fake, g = group()
    request = g.iallreduce(bytearray(8))
    expect("test", (request.test(), request.done), (False, False))
    for limit in (0, 0.25):
        begin = time.monotonic()
        error = raises(inc.Timeout,
                       "^group 9 rank 0: allreduce has not ended in time, waiting for rank 1$",
                       request.wait, limit)
        took = time.monotonic() - begin
        expect("it has waited", limit <= took < limit + 5, True)
    expect("a TimeoutError", (isinstance(error, TimeoutError), error.errno, error.ranks),
           (True, errno.ETIMEDOUT, (1,)))
    raises(ValueError, "^timeout is -1", request.wait, -1)
    fake.end(1, -errno.EPROTO)
    for _ in range(2):
        raises(inc.Error, "^libinc's text$", request.wait)
    raises(inc.Error, "^libinc's text$", request.test)
    expect("done", request.done, True)
    g.leave()


@test
def a_dropped_request_keeps_its_buffers():
    fake, g = group()
    buf, other = bytearray(8), bytearray(8)
    g.iallreduce(buf)
    g.ibroadcast(other)
    gc.collect()
    expect("locked", (is_locked(buf), is_locked(other)), (True, True))
    fake.end(1)
    request = g.ibarrier()
    expect("test", request.test(), False)
    expect("locked after one has ended", (is_locked(buf), is_locked(other)), (False, True))
    fake.end(2, -errno.EPROTO)
    fake.end_later(0.2, 3)
    error = raises(inc.Error, "^libinc's text$", g.leave)
    expect("what nobody was told", (error.errno, fake.closed, is_locked(other)),
           (errno.EPROTO, "leave", False))
    expect("the one that leave() has waited for", request.test(), True)


@test
def a_request_outlives_its_group():
    fake, g = group()
    buf = bytearray(8)
    request = g.iallreduce(buf)
    g.abort()
    error = raises(inc.Error, "allreduce: this rank has left or aborted the group", request.wait)
    expect("errno, locked", (error.errno, is_locked(buf), fake.closed),
           (errno.ECANCELED, False, "abort"))
    g.abort()


@test
def with_leaves_or_aborts():
    fake, g = group()
    with g as same:
        expect("the group", same is g, True)
    expect("at its end", fake.closed, "leave")
    fake, g = group()
    try:
        with g:
            raise KeyError("x")
    except KeyError:
        pass
    expect("after an exception", fake.closed, "abort")


@test
def a_dropped_group_is_aborted():
    fake, g = group()
    buf = bytearray(8)
    g.iallreduce(buf)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        del g
        gc.collect()
    expect("warnings", [entry.category for entry in seen], [ResourceWarning])
    expect("closed, locked", (fake.closed, is_locked(buf)), ("abort", False))


@test
def abort_in_another_thread():
    fake, g = group()
    threading.Timer(0.25, g.abort).start()
    error = raises(inc.Error, "allreduce: this rank has left or aborted the group", g.allreduce,
                   bytearray(8))
    expect("errno, closed", (error.errno, fake.closed), (errno.ECANCELED, "abort"))


@test
def abort_in_a_signal_handler():
    fake, g = group()
    said = []

    def handler(*_):
        said.append(g._inside())
        g.abort()

    old = signal.signal(signal.SIGALRM, handler)
    try:
        interrupt_when_waited(fake, signal.SIGALRM)
        raises(inc.Error, "this rank has left or aborted the group", g.allreduce, bytearray(8))
    finally:
        signal.signal(signal.SIGALRM, old)
    expect("handler ran, closed", (len(said), fake.closed), (1, "abort"))


@test
def after_a_fork_aborted_buffers_are_kept():
    fake, g = group()
    buf, before = bytearray(8), len(_request.leaked)
    g.iallreduce(buf)
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    g.abort()
    expect("locked, kept", (is_locked(buf), len(_request.leaked)), (True, before + 1))


@test
def two_threads_wait_for_one_request():
    fake, g = group()
    request = g.iallreduce(bytearray(8))
    ended = []
    threads = [threading.Thread(target=lambda: (request.wait(), ended.append(1))) for _ in range(3)]
    for thread in threads:
        thread.start()
    fake.end_later(0.3, 1)
    for thread in threads:
        thread.join(10)
    expect("ended", ended, [1, 1, 1])
    g.leave()


# ---- asyncio -------------------------------------------------------------------------------------

@test
def awaited_out_of_order():
    async def main():
        fake, g = group()
        first, second, third = g.iallreduce(bytearray(8)), g.ibarrier(), g.ibarrier()
        tasks = [asyncio.ensure_future(wait(request)) for request in (first, second)]
        await asyncio.sleep(0.2)
        looked = len(fake.calls)
        await asyncio.sleep(0.3)
        expect("looks at what has not ended", len(fake.calls), looked)
        fake.end(2)
        fake.end(3)
        await asyncio.wait_for(tasks[1], 30)
        expect("first", (tasks[0].done(), first.done), (False, False))
        looked = len(fake.calls)
        await asyncio.sleep(0.3)
        expect("looks after all that has ended was collected", len(fake.calls), looked)
        fake.end(1, -errno.ECONNRESET)
        try:
            await asyncio.wait_for(tasks[0], 30)
            raise AssertionError("nothing was raised")
        except inc.Error as error:
            expect("errno", error.errno, errno.ECONNRESET)
        await third
        expect("readers", g._readers, {})
        g.leave()

    async def wait(request):
        await request

    asyncio.run(main())


@test
def cancelled_tasks_leave_the_operation():
    async def main():
        fake, g = group()
        request = g.iallreduce(bytearray(8))
        try:
            await asyncio.wait_for(wait(request), 0.2)
            raise AssertionError("nothing was raised")
        except asyncio.TimeoutError:
            pass
        expect("readers, closed", (g._readers, fake.closed), ({}, None))
        fake.end(1)
        await request
        g.leave()

    async def wait(request):
        await request

    asyncio.run(main())


@test
def an_abort_wakes_who_awaits():
    async def main():
        fake, g = group()
        request = g.iallreduce(bytearray(8))
        asyncio.get_running_loop().call_later(0.2, g.abort)
        try:
            await asyncio.wait_for(wait(request), 30)
            raise AssertionError("nothing was raised")
        except inc.Error as error:
            expect("errno", error.errno, errno.ECANCELED)
        expect("closed", (fake.closed, g._readers), ("abort", {}))

    async def wait(request):
        await request

    asyncio.run(main())


@test
def a_thread_that_waits_wakes_who_awaits():
    async def main():
        fake, g = group()
        request = g.iallreduce(bytearray(8))
        thread = threading.Thread(target=request.wait)
        thread.start()
        await asyncio.sleep(0.2)
        fake.end_later(0.1, 1)
        await asyncio.wait_for(wait(request), 30)
        thread.join()
        g.leave()

    async def wait(request):
        await request

    asyncio.run(main())


def main():
    real = _abi.lib
    for run in TESTS:
        name = run.__name__.replace("_", " ")
        _abi.lib = real
        try:
            run()
            print(f"ok - {name}", flush=True)
        except BaseException:
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            print(f"not ok - {name}", flush=True)
    print("end")


if __name__ == "__main__":
    main()
