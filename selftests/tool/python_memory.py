# SPDX-License-Identifier: GPL-2.0-only
"""Registered memory of the Python package."""
import ctypes as c
import errno
import os

import inc
from python_expect import expect, raises, test
from python_fake import group, is_locked


def at(buf):
    return c.addressof((c.c_char * len(buf)).from_buffer(buf))


@test
def memory_is_registered_and_locked_until_it_is_released():
    fake, g = group()
    buf = bytearray(4096)
    address = at(buf)
    memory = g.register(buf)
    expect("registered", list(fake.registered.values()), [(address, 4096, 1)])
    expect("locked, bytes, released, repr",
           (is_locked(buf), memory.nbytes, memory.released, repr(memory)),
           (True, 4096, False, "<inc.Memory 4096 bytes>"))
    fake.no_register = errno.EBUSY
    expect("errno", raises(inc.Error, "^libinc's text$", memory.release).errno, errno.EBUSY)
    expect("still locked", (is_locked(buf), memory.released), (True, False))
    fake.no_register = 0
    memory.release()
    memory.release()
    expect("registered, locked, bytes, released, repr",
           (fake.registered, is_locked(buf), memory.nbytes, memory.released, repr(memory)),
           ({}, False, 0, True, "<inc.Memory released>"))
    address = at(buf)                   # is_locked() has tried to change its size
    with g.register(memoryview(buf)[100:200]) as part:
        expect("a part", (list(fake.registered.values()), part.nbytes),
               ([(address + 100, 100, 1)], 100))
    expect("after with", (fake.registered, part.released), ({}, True))
    g.leave()


@test
def memory_that_is_only_read():
    fake, g = group()
    g.register(bytes(8))
    g.register(bytearray(8), writable=False)
    expect("flags", [flags for _, _, flags in fake.registered.values()], [0, 0])
    raises(ValueError, "read-only: expected a writable one, or writable=False", g.register,
           bytes(8), True)
    raises(ValueError, "0 bytes: expected at least one", g.register, b"")
    raises(TypeError, "^buffer is None: expected a NumPy array", g.register, None)
    raises(TypeError, "^buffer is int: expected a NumPy array", g.register, 5)
    raises(ValueError, "expected a C-contiguous buffer", g.register, memoryview(bytes(8))[::2])
    expect("what was refused is not there", len(fake.registered), 2)
    fake.no_register = errno.EDQUOT
    buf = bytearray(8)
    expect("errno", raises(inc.Error, "^libinc's text$", g.register, buf).errno, errno.EDQUOT)
    expect("locked", is_locked(buf), False)
    fake.no_register = 0
    g.leave()


@test
def memory_ends_with_its_group():
    for end in ("leave", "abort"):
        fake, g = group()
        kept, dropped = bytearray(8), bytearray(8)
        memory = g.register(kept)
        g.register(dropped)
        expect("locked, though nobody has it", is_locked(dropped), True)
        getattr(g, end)()
        expect(f"after {end}", (fake.closed, memory.released, is_locked(kept), is_locked(dropped)),
               (end, True, False, False))
        memory.release()
        raises(inc.Error, "it was left or aborted", g.register, kept)


@test
def memory_of_a_parent_is_none_of_its_child():
    fake, g = group()
    buf = bytearray(8)
    memory = g.register(buf)
    pid = os.fork()
    if not pid:
        memory.release()
        os._exit(0 if memory.released and len(fake.registered) == 1 and not is_locked(buf) else 1)
    expect("status of the child", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
    expect("here", (memory.released, is_locked(buf)), (False, True))
    g.leave()
