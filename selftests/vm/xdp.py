# SPDX-License-Identifier: GPL-2.0-only
"""
Generic XDP on a device: programs of a few instructions, put together here, loaded with bpf(2) and
attached by a link, which ends with its file descriptor.
"""
import contextlib
import ctypes
import os
import socket
import struct

from inc_wire import libc, netns

SYS_BPF = 321 if os.uname().machine == "x86_64" else 280
MAP_CREATE, MAP_LOOKUP, PROG_LOAD, LINK_CREATE = 0, 1, 5, 28
MAP_TYPE_ARRAY, PROG_TYPE_XDP, ATTACH_XDP, MODE_SKB = 2, 6, 37, 2
ADJUST_HEAD, ADJUST_TAIL = 44, 65               # helpers
PASS = 2
R0, R1, R2, R6, R7, R8, R10 = 0, 1, 2, 6, 7, 8, 10


def bpf(command, attributes):
    """@attributes: a buffer that the kernel reads; returns what the system call does."""
    buf = ctypes.create_string_buffer(attributes, len(attributes))
    got = libc.syscall(SYS_BPF, command, buf, len(attributes))
    if got < 0:
        e = ctypes.get_errno()
        raise OSError(e, f"bpf({command}): {os.strerror(e)}")
    return got


def instruction(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("=BBhi", code, src << 4 | dst, off, imm)


def count(fd, key):
    """Adds 1 to element @key of the map."""
    return b"".join((
        instruction(0x62, R10, off=-4, imm=key),                # *(u32 *)(r10 - 4) = key
        instruction(0x18, R1, 1, imm=fd), instruction(0),       # r1 = the map
        instruction(0xbf, R2, R10),
        instruction(0x07, R2, imm=-4),
        instruction(0x85, imm=1),                               # r0 = map_lookup_elem(r1, r2)
        instruction(0x15, R0, off=2),                           # none: over the next two
        instruction(0xb7, R1, imm=1),
        instruction(0xdb, R0, R1)))                             # *(u64 *)r0 += r1


def adjust(fd, helper, delta, key, then=b""):
    """Moves head or tail; where that works, element @key counts it, and @then follows."""
    counting = count(fd, key) + then
    return b"".join((
        instruction(0xbf, R1, R6),
        instruction(0xb7, R2, imm=delta),
        instruction(0x85, imm=helper),
        instruction(0x55, R0, off=len(counting) // 8),          # it failed
        counting))


def only_if_long(least, code):
    """@code for frames of so many bytes and more."""
    return b"".join((
        instruction(0x61, R7, R6),                              # r7 = data
        instruction(0x61, R8, R6, off=4),                       # r8 = data_end
        instruction(0x07, R7, imm=least),
        instruction(0x2d, R7, R8, off=len(code) // 8),          # data + least > data_end
        code))


def one_of(fd, n, key, code):
    """@code for one of @n frames (a power of two), by element @key."""
    return b"".join((
        instruction(0xb7, R7),
        count(fd, key),
        instruction(0x15, R0, off=1),
        instruction(0x79, R7, R0),                              # r7 = the count
        instruction(0x57, R7, imm=n - 1),
        instruction(0x55, R7, off=len(code) // 8),
        code))


class Program:
    """@code: a function of the map's file descriptor. Element 0 counts frames that were seen."""

    def __init__(self, code):
        self.map = bpf(MAP_CREATE, struct.pack("=5I", MAP_TYPE_ARRAY, 4, 8, 4, 0).ljust(72, b"\0"))
        text = instruction(0xbf, R6, R1) + count(self.map, 0) + code(self.map) + \
            instruction(0xb7, R0, imm=PASS) + instruction(0x95)
        buffers = [ctypes.create_string_buffer(b, n)
                   for b, n in ((text, len(text)), (b"GPL", 4), (b"", 1 << 16))]
        at, licence, log = (ctypes.addressof(b) for b in buffers)
        load = struct.pack("=IIQQIIQ", PROG_TYPE_XDP, len(text) // 8, at, licence, 1, 1 << 16, log)
        try:
            self.fd = bpf(PROG_LOAD, load.ljust(72, b"\0"))
        except OSError as e:
            raise AssertionError(f"{e}: {buffers[2].value.decode()}") from e

    def __getitem__(self, key):
        """A count."""
        number, value = ctypes.c_uint32(key), ctypes.c_uint64()
        bpf(MAP_LOOKUP, struct.pack("=IxxxxQQQ", self.map, ctypes.addressof(number),
                                    ctypes.addressof(value), 0))
        return value.value

    @contextlib.contextmanager
    def on(self, ns, dev):
        """On that device's way in."""
        with netns(ns):
            index = socket.if_nametoindex(dev)
            link = bpf(LINK_CREATE,
                       struct.pack("=4I", self.fd, index, ATTACH_XDP, MODE_SKB).ljust(48, b"\0"))
        try:
            yield self
        finally:
            os.close(link)

    def close(self):
        os.close(self.fd)
        os.close(self.map)
