# SPDX-License-Identifier: GPL-2.0-only
"""
Ranks of a PyTorch program for tests: PyTorch is imported once, which takes seconds (in an emulated
machine minutes), and each test's ranks are forked from that.

A test is a function of no arguments, which every rank runs after init_process_group("inc"), or of
its attribute backend; it fails by any exception. With its attribute ends_so the rank ends as a
program does that destroys nothing; before(rank) is called before init_process_group().
"""
import contextlib
import ctypes
import faulthandler
import importlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import torch
import torch.distributed as dist

import inc_torch

# What optimizers of PyTorch 2 import when they are first used: once, and not by each rank.
with contextlib.suppress(ImportError):
    importlib.import_module("torch._dynamo")

CLONE_NEWNET = 0x40000000
SEED = int(os.environ.get("SEED", "1"))
# As PyTorch 2 prefers it, and Debian's has it not.
with contextlib.suppress(RuntimeError, TypeError):
    os.environ["USE_LIBUV"] = "0"
    dist.TCPStore("127.0.0.1", 0, 1, True, use_libuv=True)
    del os.environ["USE_LIBUV"]


class Place:
    """Where ranks run: on hosts h1, h2, ... around a node, or all on this machine."""

    def __init__(self, ranks, hosts):
        self.ranks = ranks
        self.hosts = hosts
        self.port = 20000 + os.getpid() % 10000
        self.device = "eth0" if hosts else "lo"
        self.address = "10.7.0.1" if hosts else "127.0.0.1"

    def enter(self, rank):
        if not self.hosts:
            return
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/run/netns/h{rank % self.hosts + 1}", encoding="ascii") as file:
            if libc.setns(file.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")

    def next_port(self):
        """Of a store that no test before had; outside of namespaces it has to be free."""
        self.port += 1
        while not self.hosts:
            with socket.socket() as sock, contextlib.suppress(OSError):
                sock.bind((self.address, self.port))
                return
            self.port += 1


def expect(what, got, want):
    if got != want:
        raise AssertionError(f"{what} is {got!r}, expected {want!r}")


def raises(function, *args, **options):
    """The text of the error that it raises."""
    try:
        function(*args, **options)
    except RuntimeError as error:
        return str(error)
    raise AssertionError("no error was raised")


def interrupt(function, *args, progress=lambda: 0, **options):
    """Ctrl-C, when a call makes no progress for a second: it ends soon after that."""
    sent = []

    def send():
        seen, since = progress(), time.monotonic()
        while time.monotonic() < since + 1:
            time.sleep(0.01)
            if progress() != seen:
                seen, since = progress(), time.monotonic()
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send).start()
    try:
        function(*args, **options)
    except KeyboardInterrupt:
        expect("it took less than 5 s", time.monotonic() - sent[0] < 5, True)
    else:
        raise AssertionError("no KeyboardInterrupt")
    finally:
        dist.distributed_c10d._get_default_store().set("interrupted", "")


def await_interrupt():
    """At the other ranks: until that has happened."""
    dist.distributed_c10d._get_default_store().wait(["interrupted"])


def counted(name):
    return inc_torch.counters()[name]


def at_node(counter):
    """What the node has counted."""
    stats = subprocess.run(["inc", "-n", "sw", "-j", "-s", "stats", "show"], check=True,
                           stdout=subprocess.PIPE, encoding="ascii").stdout
    at = stats.find(f'"{counter}":')
    return int(stats[at:].split(":", 1)[1].split(",", 1)[0].rstrip("}] \n")) if at >= 0 else 0


def run_rank(place, rank, test, environment, log):
    """The whole life of a rank's process."""
    os.dup2(log, 1)
    os.dup2(log, 2)
    status = 1
    # where it hangs
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    try:
        place.enter(rank)
        torch.set_num_threads(1)
        os.environ.update(MASTER_ADDR=place.address, MASTER_PORT=str(place.port),
                          GLOO_SOCKET_IFNAME=place.device,
                          RANK=str(rank), WORLD_SIZE=str(place.ranks))
        os.environ.update({"INC_TORCH_TIMEOUT": "60000", **environment(rank)})
        getattr(test, "before", lambda rank: None)(rank)
        dist.init_process_group(getattr(test, "backend", "inc"),
                                timeout=getattr(test, "timeout", dist.default_pg_timeout))
        torch.manual_seed(SEED)
        test()
        if getattr(test, "ends_so", False):
            sys.exit(0)
        if dist.is_initialized():
            dist.destroy_process_group()
        status = 0
    except SystemExit:
        raise
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def wait_all(pids, seconds):
    """Exit statuses, None for those that were ended because they took too long."""
    deadline = time.monotonic() + seconds
    statuses = {}
    while len(statuses) < len(pids):
        for rank, pid in enumerate(pids):
            if rank in statuses:
                continue
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                statuses[rank] = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                os.kill(pid, signal.SIGUSR1)
                time.sleep(0.5)
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                statuses[rank] = None
        time.sleep(0.01)
    return [statuses[rank] for rank in range(len(pids))]


def run(place, name, test, environment=lambda rank: {}, want=None, says=None, seconds=None):
    """
    Runs a test by all ranks and prints its result. want: exit statuses; says: what rank 0 has to
    print.
    """
    begin = time.monotonic()
    place.next_port()
    logs = [tempfile.TemporaryFile() for _ in range(place.ranks)]
    pids = []
    for rank in range(place.ranks):
        pid = os.fork()
        if not pid:
            run_rank(place, rank, test, environment, logs[rank].fileno())
        pids.append(pid)
    statuses = wait_all(pids, seconds or float(os.environ.get("RANK_TIMEOUT", "240")))
    texts = []
    for log in logs:
        log.seek(0)
        texts.append(log.read().decode(errors="replace"))
    good = statuses == (want or [0] * place.ranks) and (says is None or says in texts[0])
    print(("ok - " if good else "not ok - ") + name)
    print(f"{name}: {time.monotonic() - begin:.1f} s")
    for rank, text in enumerate(texts):
        for line in text.splitlines():
            if not good or line.startswith("# "):
                print(f"rank {rank} ({statuses[rank]}): {line}")
    if not good and says is not None:
        print(f"expected of rank 0: {says}")
    sys.stdout.flush()
    return good
