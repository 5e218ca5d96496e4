# SPDX-License-Identifier: GPL-2.0-only
"""
What the python tests stand on beside packets: ranks through the bare socket ABI of
uapi/linux/inc_socket.h (no libinc), counters as the inc tool shows them, and a runner that prints
one line "ok - NAME" or "not ok - NAME" per test.
"""
import array
import atexit
import ctypes
import errno
import fcntl
import json
import os
import re
import select
import socket
import struct
import subprocess
import sys
import time
import traceback

from inc_wire import I32, SUM, libc, netns

BARRIER, ALLREDUCE, REDUCE, BROADCAST, LEAVE = 1, 2, 3, 5, 12
ANY = None      # of a Monitor's events
NODE4, NODE6 = "10.7.0.254", "fd00:7::fe"
MISMATCH, CANCELED, RANK_DEAD, RANK_ABORT, RANK_LATE, RANK_FAULT, NODE_DEAD, NODE_GONE, LEFT, \
    UNSUPPORTED, COUNTS, RANK_PATH = range(1, 13)
CLOSED, JOINING, WAITING, READY, RESYNC, LEAVING, FAILED = range(7)      # enum inc_member_state
NO_RANK = 0xffffffff
MAX_RANKS = 4096

SOCKADDR = struct.Struct("=HHIIIH2sI16sQ")
SOL_INC, SO_KEY, SO_INFO, SO_REDUCES = 5227, 1, 2, 3
SUBMIT = struct.Struct("=5B3sII11Q")
DESC = "4BIQB3sI"
ERROR_INFO = struct.Struct("=HHI2I" + 2 * DESC)
REGISTER = struct.Struct("=QQIIQ")
COMPLETION = struct.Struct("=QQiI")
WAIT_HEAD = struct.Struct("=Qq")
CONTRIBUTED = struct.Struct("=QQIIII")
SUBMIT_MANY = struct.Struct("=QIIII")
WAIT_MANY = struct.Struct("=QqIIII")
INFO = struct.Struct("=10I4Q")
INFO_TAIL = struct.Struct("=I16s3B5s2I")
SIZES = {"sockaddr": 48, "submit": 104, "completion": 88, "wait": 104, "submit_wait": 208,
         "info": 176, "contributed": 32, "register": 32, "submit_many": 24, "wait_many": 32}


def ioc(direction, number, size):
    return direction << 30 | size << 16 | ord("i") << 8 | number


IOC_SUBMIT = ioc(3, 0xc0, SIZES["submit"])
IOC_WAIT = ioc(3, 0xc1, SIZES["wait"])
IOC_SUBMIT_AND_WAIT = ioc(3, 0xc2, SIZES["submit_wait"])
IOC_CONTRIBUTED = ioc(3, 0xc3, SIZES["contributed"])
IOC_REGISTER = ioc(3, 0xc4, SIZES["register"])
IOC_UNREGISTER = ioc(1, 0xc5, 4)
IOC_SUBMIT_MANY = ioc(3, 0xc6, SIZES["submit_many"])
IOC_WAIT_MANY = ioc(3, 0xc7, SIZES["wait_many"])


def looks_for_bugs():
    """Is this a kernel with KASAN?"""
    with open("/proc/kallsyms", encoding="ascii") as f:
        return any(" kasan_save_stack" in line for line in f)


def tool(*args, check=True):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(args)}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def show(ns, *what):
    """What the inc tool shows as JSON."""
    return json.loads(tool("inc", "-n", ns, "-j", "-s", *what, "show"))


# Netlink by hand: counters are read so often that a process for each would take most of the tests'
# time.

CMD_GROUP_GET, CMD_STATS_GET, A_GROUP, A_STATS = 9, 11, 4, 6
_links = {}


def _counter_names():
    header = os.path.join(os.environ["INC_TOP"], "uapi/linux/inc_counters.h")
    with open(header, encoding="utf-8") as f:
        return [None] + [n.lower() for n in re.findall(r"^INC_COUNTER\((\w+), \"", f.read(), re.M)]


COUNTERS = _counter_names()


def attributes(data):
    at = 0
    while at + 4 <= len(data):
        size, kind = struct.unpack_from("=HH", data, at)
        yield kind & 0x3fff, data[at + 4:at + size]
        at += size + 3 & ~3


def _ask(sock, kind, flags, command, body=b""):
    """The answers' attributes."""
    sock.send(struct.pack("=IHHIIBBH", 20 + len(body), kind, flags, 1, 0, command, 1, 0) + body)
    answers = []
    while True:
        data, at = sock.recv(1 << 17), 0
        while at < len(data):
            size, got = struct.unpack_from("=IH", data, at)
            if got in (2, 3):
                error = -struct.unpack_from("=i", data, at + 16)[0]
                if error:
                    raise OSError(error, os.strerror(error))
                return answers
            answers.append(dict(attributes(data[at + 20:at + size])))
            at += size + 3 & ~3


def ask(ns, command, dump):
    if ns not in _links:
        with netns(ns):
            sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        name = struct.pack("=HH4s", 8, 2, b"inc")
        _links[ns] = sock, struct.unpack("=H", _ask(sock, 16, 5, 3, name)[0][1])[0]
    sock, number = _links[ns]
    return _ask(sock, number, 0x305 if dump else 5, command)


def counters(ns):
    stats = attributes(ask(ns, CMD_STATS_GET, False)[0][A_STATS])
    return {COUNTERS[kind]: struct.unpack("=Q", value)[0] for kind, value in stats if kind}


def drops(ns):
    return {k: v for k, v in counters(ns).items() if k.startswith("drop_") and v}


def groups(ns):
    """Numbers of the groups of this namespace, nodes' and ranks'."""
    found = (dict(attributes(answer[A_GROUP])) for answer in ask(ns, CMD_GROUP_GET, True))
    return sorted(struct.unpack("=I", g[1])[0] for g in found)


def forget(ns):
    """A namespace lives as long as somebody has a socket in it."""
    if ns in _links:
        _links.pop(ns)[0].close()


class Monitor:
    """
    inc monitor, in a namespace without default parent; events are what it has said since it was
    there.
    """

    def __init__(self, ns):
        self.ns, self.events, self.rest = ns, [], b""
        self.process = subprocess.Popen(self.command(), stdout=subprocess.PIPE,
                                        preexec_fn=self.become)
        os.set_blocking(self.process.stdout.fileno(), False)
        atexit.register(self.process.kill)

    def command(self):
        return ["inc", "-n", self.ns, "-j", "monitor"]

    def become(self):
        """Who runs it."""

    def __enter__(self):
        def heard():
            tool("inc", "-n", self.ns, "parent", "set", "192.0.2.1")
            return self.read()
        wait_until(heard, "inc monitor hears events")
        tool("inc", "-n", self.ns, "parent", "del")
        while self.wait("parent")["text"] != "none":
            pass
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def read(self):
        more = self.process.stdout.read() or b""
        *lines, self.rest = (self.rest + more).split(b"\n")
        self.events += [json.loads(line) for line in lines if line]
        return self.events

    def wait(self, name, seconds=60):
        """The next event, which is to be of this name, or ANY."""
        wait_until(self.read, f"event {name or 'of any name'}", seconds)
        event = self.events.pop(0)
        equal(event["event"], name or event["event"], f"event ({event})")
        return event


def family():
    if not family.number:
        caps = json.loads(tool("inc", "-j", "caps", "show"))
        family.number = (caps[0] if isinstance(caps, list) else caps)["family_number"]
    return family.number


family.number = 0


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, expected {want!r}")


def wait_until(condition, what, seconds=60):
    """Asks until it is true; @what may be a function, called when it never is."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.01)


def fails(err, function, *args, **named):
    """@function must raise OSError with this errno."""
    try:
        got = function(*args, **named)
    except OSError as e:
        if e.errno != err:
            raise AssertionError(
                f"{function.__name__}{args}: {e}, expected {errno.errorcode[err]}") from e
        return
    raise AssertionError(
        f"{function.__name__}{args}: returned {got!r}, expected {errno.errorcode[err]}")


class Completion:
    def __init__(self, raw):
        self.handle, self.user_data, self.result, self.missing = COMPLETION.unpack_from(raw)
        error = ERROR_INFO.unpack_from(raw, COMPLETION.size)
        self.code, _, self.opseq, *ranks = error[:5]
        self.ranks = list(ranks)
        self.descs = [error[5:11], error[14:20]]

    def __repr__(self):
        return f"result {self.result} code {self.code} ranks {self.ranks}"


def sockaddr(group, rank, size, parent=None, port=0, flags=0, family_number=None, scope=0, job=0):
    raw = bytes(16)
    parent_family = 0
    if parent:
        parent_family = socket.AF_INET6 if ":" in parent else socket.AF_INET
        raw = socket.inet_pton(parent_family, parent).ljust(16, b"\0")
    return SOCKADDR.pack(family() if family_number is None else family_number, flags, group, rank,
                         size, parent_family, struct.pack("!H", port), scope, raw, job)


def submit(coll=ALLREDUCE, dtype=I32, op=SUM, count=0, send=0, recv=0, **other):
    """struct inc_submit"""
    o = {"wire": 0, "mode": 0, "resv0": bytes(3), "root": 0, "flags": 0, "send_counts": 0,
         "send_displs": 0, "recv_counts": 0, "recv_displs": 0, "weight": 0, "user_data": 0,
         "handle": 0, "send_reg": 0, "recv_reg": 0, **other}
    return SUBMIT.pack(coll, dtype, op, o["wire"], o["mode"], o["resv0"], o["root"], o["flags"],
                       count, send, recv, o["send_counts"], o["send_displs"], o["recv_counts"],
                       o["recv_displs"], o["weight"], o["user_data"], o["handle"],
                       o["send_reg"] | o["recv_reg"] << 32)


class Rank:
    """One AF_INC socket, in the network namespace of its host."""

    def __init__(self, ns=None):
        if ns:
            with netns(ns):
                self.sock = socket.socket(family(), socket.SOCK_SEQPACKET, 0)
        else:
            self.sock = socket.socket(family(), socket.SOCK_SEQPACKET, 0)
        self.fd = self.sock.fileno()
        self.buffers = {}

    def connect(self, raw):
        if libc.connect(self.fd, raw, len(raw)):
            e = ctypes.get_errno()
            raise OSError(e, os.strerror(e))

    def set_key(self, key):
        self.sock.setsockopt(SOL_INC, SO_KEY, key)

    def start(self, group, rank, size, key=None, **options):
        """connect() without blocking"""
        self.group, self.rank, self.size = group, rank, size
        if key:
            self.set_key(key)
        self.sock.setblocking(False)
        fails(errno.EINPROGRESS, self.connect, sockaddr(group, rank, size, **options))
        self.sock.setblocking(True)

    def poll(self, events, ms):
        p = select.poll()
        p.register(self.fd, events)
        got = p.poll(ms)
        return got[0][1] if got else 0

    def joined(self, ms=60000):
        got = self.poll(select.POLLOUT, ms)
        error = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if got != select.POLLOUT or error:
            raise AssertionError(
                f"rank {self.rank} did not join: poll says {got}, SO_ERROR {error}, {self.info()}")

    def ioctl(self, request, raw):
        buf = bytearray(raw)
        fcntl.ioctl(self.fd, request, buf, True)
        return bytes(buf)

    def info(self):
        raw = self.sock.getsockopt(SOL_INC, SO_INFO, SIZES["info"])
        names = ("group", "rank", "size", "state", "epoch", "window", "block", "joined", "missing",
                 "srtt_us", "submitted", "completed", "blocks_sent", "blocks_resent")
        info = dict(zip(names, INFO.unpack_from(raw)))
        tail = INFO_TAIL.unpack_from(raw, len(raw) - INFO_TAIL.size)
        info["moves"], _, info["placement"], info["fallback"], info["order"] = tail[:5]
        info["lacks"] = tail[6:]
        return info

    def submit(self, **what):
        """Returns the handle."""
        return SUBMIT.unpack(self.ioctl(IOC_SUBMIT, submit(**what)))[-2]

    def wait(self, handle=0, ms=60000):
        raw = self.ioctl(IOC_WAIT, WAIT_HEAD.pack(handle, ms) + bytes(SIZES["completion"]))
        return Completion(raw[WAIT_HEAD.size:])

    def told(self, request, layout, *values):
        """What the kernel says, also where it fails: errno or 0, and its last field."""
        head = ctypes.create_string_buffer(layout.pack(*values))
        ret = libc.ioctl(self.fd, ctypes.c_ulong(request), ctypes.byref(head))
        return ctypes.get_errno() if ret < 0 else 0, layout.unpack_from(head.raw)[-1]

    def submit_many(self, ops, n=None, size=None, flags=0):
        """Errno or 0, how many were taken, and the handles as they are then."""
        stride = max(len(op) for op in ops)
        mem = ctypes.create_string_buffer(b"".join(op.ljust(stride, b"\0") for op in ops))
        got = self.told(IOC_SUBMIT_MANY, SUBMIT_MANY, ctypes.addressof(mem),
                        len(ops) if n is None else n, stride if size is None else size, flags, 99)
        return *got, [SUBMIT.unpack_from(mem.raw, i * stride)[-2] for i in range(len(ops))]

    def wait_many(self, handles, ms=60000, n=None, size=SIZES["completion"], flags=0):
        """Errno or 0, and the completions that were collected."""
        stride = max(size, SIZES["completion"])
        mem = ctypes.create_string_buffer(b"".join(struct.pack("=Q", h).ljust(stride, b"\7")
                                                   for h in handles))
        err, n = self.told(IOC_WAIT_MANY, WAIT_MANY, ctypes.addressof(mem), ms,
                           len(handles) if n is None else n, size, flags, 99)
        raw = [mem.raw[i * stride:(i + 1) * stride] for i in range(n)]
        for one in raw:
            equal(one[SIZES["completion"]:], bytes(stride - SIZES["completion"]),
                  "what the kernel does not know")
        return err, [Completion(one) for one in raw]

    def register(self, at, size, flags=1, number=0, resv=0):
        """Returns the id."""
        return REGISTER.unpack(self.ioctl(IOC_REGISTER,
                                          REGISTER.pack(at, size, flags, number, resv)))[3]

    def unregister(self, number):
        self.ioctl(IOC_UNREGISTER, struct.pack("=I", number))

    def contributed(self, handle=0):
        """The ranks that a partial result is of."""
        words = array.array("I", bytes(MAX_RANKS // 8))
        raw = self.ioctl(IOC_CONTRIBUTED,
                         CONTRIBUTED.pack(handle, words.buffer_info()[0], len(words), 0, 0, 0))
        got, _, _, size, missing, _ = CONTRIBUTED.unpack(raw)
        ranks = [i for i in range(MAX_RANKS) if words[i // 32] >> i % 32 & 1]
        equal((handle or got, size, missing), (got, self.size, size - len(ranks)),
              "handle, ranks and missing ones")
        return ranks

    def ints(self, values):
        """A send and a receive buffer of i32."""
        send = array.array("i", values)
        return send, array.array("i", bytes(4 * len(send)))

    def allreduce(self, values):
        """Starts one and returns its handle; the buffers are kept until check()."""
        send, recv = self.ints(values)
        handle = self.submit(count=len(send), send=send.buffer_info()[0],
                             recv=recv.buffer_info()[0])
        self.buffers[handle] = (send, recv)
        return handle

    def check(self, handle, want, ms=60000):
        done = self.wait(handle, ms)
        equal(done.result, 0, f"rank {self.rank}: result of operation {handle} ({done})")
        equal(done.handle, handle, f"rank {self.rank}: handle of the completion")
        got = self.buffers.pop(handle)[1]
        if got != want:
            bad = [i for i in range(len(want)) if got[i] != want[i]]
            raise AssertionError(f"rank {self.rank}: {len(bad)} elements of operation {handle} are wrong, the first is "
                                 f"{bad[0]}: {got[bad[0]]}, expected {want[bad[0]]}")

    def close(self):
        self.sock.close()


class Job:
    """Ranks of one group on hosts h1, h2, ..., all in this process, each driven on its own."""

    def __init__(self, group, hosts, device=None, **options):
        self.group = group
        self.ranks = [Rank(ns) for ns in hosts]
        for rank in self.ranks if device else ():
            rank.sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
        for i, rank in enumerate(self.ranks):
            rank.start(group, i, len(hosts), **options)
        for rank in self.ranks:
            rank.joined()

    def values(self, rank, n, k):
        return range(k * 1000 + rank, k * 1000 + rank + n * (rank + 1), rank + 1)

    def expected(self, n, k):
        total = [sum(v) for v in zip(*(self.values(r, n, k) for r in range(len(self.ranks))))]
        return array.array("i", total)

    def begin(self, ranks, n=1000, k=0):
        """These ranks contribute; returns their handles."""
        return {r: self.ranks[r].allreduce(self.values(r, n, k)) for r in ranks}

    def end(self, handles, n=1000, k=0):
        want = self.expected(n, k)
        for r, handle in handles.items():
            self.ranks[r].check(handle, want)

    def run(self, n=1000, k=0):
        self.end(self.begin(range(len(self.ranks)), n, k), n, k)

    def close(self):
        for rank in self.ranks:
            rank.close()


# Tests

TESTS = []


class Skip(Exception):
    """This kernel lacks what the test needs: it says what."""


def test(name):
    def add(function):
        TESTS.append((name, function))
        return function
    return add


def main(argument):
    """
    Runs all tests, or those whose names begin with one of the program's arguments, each with
    @argument. Every one of the program's arguments must choose a test.
    """
    chosen = tuple(sys.argv[1:])
    for prefix in chosen:
        if not any(name.startswith(prefix) for name, _ in TESTS):
            print(f"not ok - {prefix}: begins the name of a test", flush=True)
    for name, function in TESTS:
        if (chosen and not name.startswith(chosen)
            or not re.search(os.environ.get("ONLY", ""), name)):
            continue
        begin = time.monotonic()
        try:
            function(argument)
            verdict = "ok"
        except Skip as lacks:
            verdict = "skip"
            name = f"{name} # SKIP {lacks}"
        except Exception:               # whatever it is, the other tests go on
            verdict = "not ok"
            print(traceback.format_exc().rstrip(), flush=True)
            getattr(argument, "recover", lambda: None)()
        if time.monotonic() - begin > 1:
            print(f"{time.monotonic() - begin:.1f} s", flush=True)
        print(f"{verdict} - {name}", flush=True)
    print("end", flush=True)
