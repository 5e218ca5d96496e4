# SPDX-License-Identifier: GPL-2.0-only
"""
A file system with one file, of which nobody ever gets a byte: what maps it has page faults that are
never answered.
"""
import ctypes
import os
import struct
import subprocess

from inc_abi import Skip, wait_until
from inc_proc import beside, libc

IN, OUT = struct.Struct("=IIQQIIII"), struct.Struct("=IiQ")
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, OPENDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = \
    1, 2, 3, 14, 15, 18, 25, 26, 27, 29, 36, 42
ENOSYS, ASYNC_READ, SIZE = 38, 1, 1 << 20


def attributes(node):
    mode = 0o40755 if node == 1 else 0o100666
    return struct.pack("=6Q10I", node, SIZE, SIZE >> 9, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node):
    """What follows the header; or an errno, or None: nothing at all is said."""
    if opcode == INIT:
        return struct.pack("=4I2H2I2HI28x", 7, 31, 1 << 17, ASYNC_READ, 0, 0, 1 << 17, 1, 0, 0, 0)
    if opcode == LOOKUP:
        return struct.pack("=4Q2I", 2, 0, 3600, 3600, 0, 0) + attributes(2)
    if opcode == GETATTR:
        return struct.pack("=Q2I", 3600, 0, 0) + attributes(node)
    if opcode in (OPEN, OPENDIR):
        return struct.pack("=Q2I", 0, 0, 0)
    if opcode in (RELEASE, RELEASEDIR, FLUSH):
        return b""
    return None if opcode in (READ, FORGET, BATCH_FORGET, INTERRUPT) else ENOSYS


class MuteFile:
    """
    Mounted at @directory; its file is @path. Its server is a process of its own, with whom all
    faults end.
    """

    def __init__(self, directory):
        self.directory, self.path = directory, directory + "/mute"
        subprocess.run(["modprobe", "-q", "fuse"], check=False)
        try:
            fd = os.open("/dev/fuse", os.O_RDWR)
        except OSError as e:
            raise Skip(f"this kernel has no FUSE: {e}") from e
        os.makedirs(directory, exist_ok=True)
        options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        if libc.mount(b"mute", directory.encode(), b"fuse", 0, options):
            raise OSError(ctypes.get_errno(), "mount")
        self.asked, said = os.pipe()
        self.server = beside(lambda: self.serve(fd, said))
        os.close(fd)
        os.close(said)

    @staticmethod
    def serve(fd, said):
        while True:
            try:
                _, opcode, unique, node, *_ = IN.unpack_from(os.read(fd, 1 << 18))
            except OSError:
                return                                          # unmounted
            if opcode == READ:
                os.write(said, b"r")
            body = answer(opcode, node)
            if body is None:
                continue
            error, body = (-body, b"") if isinstance(body, int) else (0, body)
            os.write(fd, OUT.pack(OUT.size + len(body), error, unique) + body)

    def wait_asked(self):
        """Until somebody wants what he will not get."""
        os.set_blocking(self.asked, False)

        def read():
            try:
                return os.read(self.asked, 1)
            except BlockingIOError:
                return b""
        wait_until(read, "a page of the file is asked for")

    def end(self):
        """The server dies: all who wait get an error."""
        os.kill(self.server, 9)
        os.waitpid(self.server, 0)
        os.close(self.asked)
        libc.umount2(self.directory.encode(), 2)
