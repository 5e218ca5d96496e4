# SPDX-License-Identifier: GPL-2.0-only
"""
Events of a node, in the order in which they must come, and the tracepoints; started by
24-events.sh. The monitor runs in netns sw; ranks of h1 and h2 do what is to be reported.
"""
import contextlib
import os
import random
import re
import subprocess
import tempfile
import time

import inc_abi as abi
import inc_wire as w
from inc_abi import NODE4, Job, equal, test, wait_until

RNG = random.Random(int(os.environ.get("SEED", "1")))


class Lab:
    def __init__(self):
        self.monitor = abi.Monitor("sw").__enter__()
        self.last = None

    def job(self, hosts=("h1", "h2")):
        job = self.last = Job(RNG.randrange(1 << 32), hosts)
        self.expect("group-formed", group=job.group, epoch=1, dev="br0")
        return job

    def expect(self, name, **fields):
        event = self.monitor.wait(name)
        equal({k: event.get(k) for k in fields}, fields, f"fields of {event}")
        return event

    def quiet(self):
        equal(self.monitor.read(), [], "events that nobody expected")

    def recover(self):
        if self.last:
            self.last.close()
        wait_until(lambda: not abi.groups("sw"), "the group of a test that failed is gone", 30)
        time.sleep(0.5)
        self.monitor.read()
        self.monitor.events = []


@test("nodes and parents come and go")
def t_nodes(lab):
    abi.tool("ip", "-n", "sw", "link", "add", "br1", "type", "bridge")
    abi.tool("inc", "-n", "sw", "node", "add", "dev", "br1")
    lab.expect("node-add", dev="br1")
    abi.tool("inc", "-n", "sw", "node", "del", "dev", "br1")
    lab.expect("node-del", dev="br1")
    abi.tool("inc", "-n", "sw", "node", "replace", "dev", "br1")
    lab.expect("node-add", dev="br1")
    abi.tool("inc", "-n", "sw", "node", "replace", "dev", "br1", "window", "8")
    lab.expect("node-set", dev="br1")
    abi.tool("inc", "-n", "sw", "node", "set", "dev", "br1", "dead", "3000")
    lab.expect("node-set", dev="br1")
    abi.tool("ip", "-n", "sw", "link", "del", "br1")
    lab.expect("node-del")
    abi.tool("inc", "-n", "sw", "parent", "set", "fd00:7::77")
    lab.expect("parent", text="fd00:7::77 port 5227", parent={"addr": "fd00:7::77", "port": 5227})
    abi.tool("inc", "-n", "sw", "parent", "del")
    lab.expect("parent", text="none", parent=None)
    lab.quiet()


@test("tenants and limits change")
def t_settings(lab):
    def tenant(*words):
        abi.tool("inc", "-n", "sw", "tenant", *words)
    tenant("add", "red", "from", "10.99.0.0/16")
    lab.expect("tenant-add", tenant="red")
    tenant("set", "red", "cpu", "50")
    lab.expect("tenant-set", tenant="red")
    tenant("replace", "red", "from", "10.98.0.0/16")
    lab.expect("tenant-set", tenant="red")
    tenant("replace", "blue", "from", "10.97.0.0/16")
    lab.expect("tenant-add", tenant="blue")
    for name in "red", "blue":
        tenant("del", name)
        lab.expect("tenant-del", tenant=name)
    # what is refused is no change
    done = subprocess.run(["inc", "-n", "sw", "tenant", "set", "green", "cpu", "1"], check=False,
                          stderr=subprocess.PIPE)
    equal(done.returncode, 2, "status for a tenant that is not there")
    abi.tool("inc", "-n", "sw", "limits", "set", "sockets", "70000")
    lab.expect("limit-set", scope="netns")
    abi.tool("inc", "-n", "sw", "limits", "set", "user", "sockets", "70000")
    lab.expect("limit-set", scope="user")
    lab.quiet()


def dead_limit(lab, ms):
    """Of groups that are made from now on."""
    abi.tool("inc", "-n", "sw", "node", "set", "dev", "br0", "dead", str(ms))
    lab.expect("node-set")


@test("a parent does not answer, and is heard again")
def t_silent(lab):
    dead_limit(lab, 10000)      # a slow machine is not done within two seconds
    job = lab.job()
    host = abi.Monitor("h1").__enter__()
    abi.tool("inc", "-n", "h1", "parent", "set", NODE4)         # which the monitor has taken away
    host.wait("parent")
    first = job.begin((0,), 700)
    abi.tool("ip", "-n", "sw", "link", "set", "br0", "down")
    begin = time.monotonic()
    silent = host.wait("parent-silent")
    if not 0.5 < time.monotonic() - begin < 5 or not 1000 <= silent["waited_ms"] < 5000:
        raise AssertionError(f"{silent} after {time.monotonic() - begin:.3f} s")
    equal((silent["group"], silent["rank"], silent["parent"]["addr"]), (job.group, 0, NODE4),
          "group, rank and parent")
    equal(silent["text"], f"{NODE4} port 5227 has not answered for {silent['waited_ms']} ms",
          "text")
    equal([g["unanswered_ms"] > 999 for g in abi.show("h1", "group")], [True], "inc group show")
    abi.tool("ip", "-n", "sw", "link", "set", "br0", "up")
    back = host.wait("parent-back")
    equal((back["group"], back["rank"], back["waited_ms"] >= silent["waited_ms"]),
          (job.group, 0, True), "group, rank and time of parent-back")
    job.end({**first, **job.begin((1,), 700)}, 700)
    equal(host.read(), [], "more events at the host")
    host.__exit__()
    job.close()
    # the node may have noticed that rank 0 was not heard, and on a slow machine tell it only now
    event = lab.monitor.wait(abi.ANY)
    while event["event"] in ("rank-late", "rank-back"):
        event = lab.monitor.wait(abi.ANY)
    equal((event["event"], event["group"]), ("group-left", job.group), "event and group")
    dead_limit(lab, 2000)


@test("a group forms and is left")
def t_group(lab):
    job = lab.job()
    job.run(700)
    job.close()
    lab.expect("group-left", group=job.group)
    lab.quiet()


@test("ranks disagree: error with both sides, next epoch, and the group is left")
def t_mismatch(lab):
    job = lab.job()
    handles = [job.ranks[0].allreduce(range(1000)), job.ranks[1].allreduce(range(1001))]
    for rank, handle in zip(job.ranks, handles):
        done = rank.wait(handle)
        equal((done.result, done.code, done.ranks), (-71, abi.MISMATCH, [0, 1]),
              "result, code and ranks")
    error = lab.expect("group-error", group=job.group, epoch=1)
    text = ("rank 0: allreduce i32 sum 1000, rank 1: allreduce i32 sum 1001: "
            "ranks disagree about the operation")
    equal(error["text"], text, "text of the event")
    side = {"coll": "allreduce", "type": "i32", "op": "sum", "wire": "i32", "mode": 0, "root": 0,
            "opseq": 0}
    equal(error["error"],
          {"number": abi.MISMATCH, "code": "mismatch", "opseq": 0, "rank0": 0, "rank1": 1,
           "desc0": {**side, "count": 1000}, "desc1": {**side, "count": 1001}, "text": text},
          "numbers of the event")
    lab.expect("group-epoch", group=job.group, epoch=2)
    job.run(700)
    job.close()
    lab.expect("group-left", group=job.group, epoch=2)
    lab.quiet()


@test("a rank is late and comes back")
def t_late(lab):
    job = lab.job()
    first = job.begin((1,), 700)
    late = lab.expect("rank-late", group=job.group, rank=0)
    job.end({**first, **job.begin((0,), 700)}, 700)
    back = lab.expect("rank-back", group=job.group, rank=0)
    for event, text in (late, "has waited"), (back, "waited"):
        equal((event["block"], event["text"]), (0, f"block 0 {text} for {event['waited_ms']} ms"),
              "block and text")
    times = [event["waited_ms"] for event in (late, back)]
    if not 1000 <= times[0] <= times[1] < 60000:
        raise AssertionError(f"late and back after {times} ms")
    job.run(700)
    job.close()
    lab.expect("group-left", group=job.group)
    lab.quiet()


@test("a rank dies: dead, then the error")
def t_dead(lab):
    job = lab.job(("h1", "h2", "h1"))
    handle = job.begin((0, 1))[0]
    job.ranks[1].close()
    lab.expect("rank-dead", group=job.group, rank=1)
    error = lab.expect("group-error", group=job.group)
    if error["error"]["rank0"] != 1 or not error["text"].startswith("rank 1 "):
        raise AssertionError(f"event is {error}, expected rank 1 in it")
    equal(job.ranks[0].wait(handle).ranks[0], 1, "rank that the other one is told")
    job.close()
    lab.quiet()


@contextlib.contextmanager
def tracing():
    """The path of a tracefs instance of our own."""
    with tempfile.TemporaryDirectory() as place:
        if subprocess.run(["mount", "-t", "tracefs", "none", place], check=False).returncode:
            raise abi.Skip("this kernel has no tracefs")
        mine = f"{place}/instances/inc-test"
        os.mkdir(mine)
        try:
            yield mine
        finally:
            os.rmdir(mine)
            subprocess.run(["umount", place], check=True)


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


@test("tracepoints: rx, tx, drop, block and state")
def t_trace(lab):
    with tracing() as place:
        write(f"{place}/events/netinc/enable", "1")
        # what dropwatch shows
        write(f"{place}/events/skb/kfree_skb/enable", "1")
        job = lab.job()
        job.run(700)
        tap = w.Tap("h1")
        packet = w.Packet(w.CONTRIB, group=job.group, body=b"1234", flags=w.F_PAYLOAD,
                          span=0).pack()
        tap.send(w.ether(tap.mac, w.Tap("sw", "br0").mac,
                         w.ip("10.7.0.1", NODE4, w.udp("10.7.0.1", NODE4, packet))))
        wait_until(lambda: abi.drops("sw").get("drop_malformed"), "the packet is dropped")
        job.close()
        lab.expect("group-left", group=job.group)
        write(f"{place}/events/netinc/enable", "0")
        write(f"{place}/events/skb/kfree_skb/enable", "0")
        with open(f"{place}/trace", encoding="ascii") as f:
            text = f.read()
    lines = [line for line in text.splitlines() if "netinc_" in line or "kfree_skb:" in line]
    group = f"group={job.group}"
    malformed = abi.COUNTERS.index("drop_malformed")
    # 700 elements are two blocks; 48 bytes of header, 16 of what is wrong
    for what, pattern, least in (("rx",
                                  rf"netinc_rx: if=\d+ {group} type={w.CONTRIB} child=[01] psn=0 len=", 2),
                                 ("rx",
                                  rf"netinc_rx: if=\d+ {group} type={w.RESULT} child=0 psn=0 len=\d+ segs=", 2),
                                 ("tx", r"netinc_tx: len=\d+ segs=[12]", 4),
                                 ("drop", rf"netinc_drop: {group} len=\d+ reason={malformed}\b", 1),
                                 ("kfree_skb", r"kfree_skb:.* reason: HDR_TRUNC\b", 1),
                                 ("block", rf"netinc_block: {group} block=0 len=\d+", 1),
                                 ("block", rf"netinc_block: {group} block=1 len=\d+", 1),
                                 ("state",
                                  rf"netinc_state: {group} rank=0 state=\d+->{abi.READY} epoch=1",
                                  1),
                                 ("state",
                                  rf"netinc_state: {group} rank=1 state={abi.READY}->{abi.LEAVING}", 1),
                                 ("state",
                                  rf"netinc_state: {group} rank=1 state={abi.LEAVING}->{abi.CLOSED}", 1)):
        got = sum(bool(re.search(pattern, line)) for line in lines)
        if got < least:
            shown = [line for line in lines if f"{what}:" in line]
            raise AssertionError(
                "\n".join([f"{what}: {got} lines like {pattern}, expected {least}", *shown[:20]]))
    lab.quiet()


abi.main(Lab())
