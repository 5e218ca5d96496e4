# SPDX-License-Identifier: GPL-2.0-only
"""
Two groups and TCP on one link, started by 29-share.sh. Shares are what each has got done while the
link carried as much as it can in SECONDS: bytes that TCP's receivers have read, blocks of the
groups that are complete, by the bytes that have left the link's queue. All are counters: how long
it took does not matter.
"""
import json
import os
import socket
import subprocess
import threading

import inc_abi as abi
import inc_wire as w
from inc_abi import equal, test, wait_until

RATE = int(os.environ["RATE"])          # Mbit/s
SECONDS = 6
TOTAL = RATE * 125000 * SECONDS         # bytes on the link
# of what is delivered, to each group and to TCP; a fair share is 0.33
LEAST = 0.15
# of the link's bytes at least are delivered, also by a machine that is busy
USED = 0.3
COUNT = 50000                           # elements of one allreduce
LINK = {"up": ("h1", "eth0"), "down": ("sw", "p1")}
HOSTS = {"h1": "10.7.0.1", "h3": "10.7.0.3"}


def tc(ns, *args):
    return abi.tool("tc", "-n", ns, *args)


def shape():
    """
    Super-packets are taken apart, so that the queue has flows of packets. With as many queues as
    fq_codel can have no two flows get the same one by chance: TCP, whose packets are dropped where
    INC's are marked, would get next to nothing beside a group in its queue.
    """
    for ns, dev in LINK.values():
        tc(ns, "qdisc", "replace", "dev", dev, "root", "handle", "1:", "tbf", "rate",
           f"{RATE}mbit", "burst", "5000",
           "limit", "1000000")
        tc(ns, "qdisc", "add", "dev", dev, "parent", "1:1", "handle", "10:", "fq_codel",
           "flows", "65536")


def unshape():
    for ns, dev in LINK.values():
        tc(ns, "qdisc", "replace", "dev", dev, "root", "pfifo")


def link(way):
    """(bytes, how often a packet had to wait) of the bottleneck"""
    ns, dev = LINK[way]
    root = json.loads(tc(ns, "-s", "-j", "qdisc", "show", "dev", dev, "root"))[0]
    return root["bytes"], root["overlimits"]


class Tcp:
    """Flows from one host to the other, as fast as they go, until stop()."""

    def __init__(self, frm, to, flows):
        self.got, self.sockets, self.threads, self.over = [0] * flows, [], [], False
        with w.netns(to):
            listener = socket.create_server((HOSTS[to], 0))
        for i in range(flows):
            with w.netns(frm):
                out = socket.socket()
            out.connect(listener.getsockname())
            into = listener.accept()[0]
            out.settimeout(0.2)
            into.settimeout(0.2)
            self.sockets += [out, into]
            self.threads += [threading.Thread(target=self.send, args=(out,)),
                             threading.Thread(target=self.receive, args=(into, i))]
        self.sockets.append(listener)
        for thread in self.threads:
            thread.start()

    def send(self, sock):
        data = bytes(1 << 16)
        while not self.over:
            try:
                sock.send(data)
            except TimeoutError:
                pass

    def receive(self, sock, i):
        buf = bytearray(1 << 16)
        while not self.over:
            try:
                self.got[i] += sock.recv_into(buf)
            except TimeoutError:
                pass

    def stop(self):
        self.over = True
        for thread in self.threads:
            thread.join()
        for sock in self.sockets:
            sock.close()


class Group:
    """
    Ranks on h1 and h2, of a program that compares every result; more to do than the link carries
    meanwhile.
    """

    def __init__(self, number):
        self.number = number
        iters = 2 * TOTAL // (4 * COUNT)
        self.ranks = [subprocess.Popen(
            ["nsenter", f"--net=/run/netns/h{rank + 1}", "inc-allreduce", "--group", str(number),
             "--rank", str(rank), "--size", "2", "--count", str(COUNT), "--iters", str(iters),
             "--seed", str(number), "--timeout", "60000"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in range(2)]

    def done(self):
        """Bytes of results"""
        if self.ranks[0].poll() is not None:
            raise AssertionError(f"group {self.number} has ended: {self.ranks[0].communicate()[0]}")
        for g in abi.show("h1", "group"):
            if g["group"] == self.number:
                return g["next"] * g["block"]
        return 0

    def end(self):
        for rank, program in enumerate(self.ranks):
            said = program.communicate(timeout=240)[0]
            equal(program.returncode, 0,
                  f"group {self.number}, rank {rank}, which said {said!r}: exit status")

    def kill(self):
        for program in self.ranks:
            program.kill()
            program.wait()


class Lab:
    def __init__(self):
        self.number, self.groups, self.tcp = int(os.environ["SEED"]) << 8 & 0xffffffff, [], []

    def start(self, flows):
        shape()
        self.groups = [Group(self.number + i) for i in range(2)]
        self.number += 2
        self.tcp = [Tcp(frm, to, n) for frm, to, n in flows]
        wait_until(lambda: all(self.did()), "all are at work")

    def did(self):
        return [group.done() for group in self.groups] + [sum(tcp.got) for tcp in self.tcp]

    def stop(self):
        for tcp in self.tcp:
            tcp.stop()
        self.tcp = []

    def recover(self):
        self.stop()
        for group in self.groups:
            group.kill()
        self.groups = []
        unshape()


def shares(lab, ways):
    """Of the link, for each group and each of TCP's directions."""
    begin = {way: link(way) for way in ways}
    before = lab.did()
    wait_until(lambda: all(link(way)[0] - begin[way][0] >= TOTAL for way in ways),
               "the link carries enough", 240)
    after = lab.did()
    end = {way: link(way) for way in ways}
    total = max(end[way][0] - begin[way][0] for way in ways)
    got = [(b - a) / total for a, b in zip(before, after)]
    for way in ways:
        if end[way][1] <= begin[way][1]:
            raise AssertionError(f"nothing had to wait for the link {way}")
    return got


def share(lab, ways, *flows):
    failed = abi.counters("h1")["ops_failed"] + abi.counters("h2")["ops_failed"]
    marks = abi.counters("h1")["cwnd_cuts"]
    lab.start(flows)
    got = shares(lab, ways)
    names = ["group A", "group B"] + [f"TCP {frm} to {to}" for frm, to, _ in flows]
    print(", ".join(f"{name} {part:.2f}" for name, part in zip(names, got)), flush=True)
    lab.stop()
    unshape()
    for group in lab.groups:
        group.end()
    lab.groups = []
    equal(abi.counters("h1")["ops_failed"] + abi.counters("h2")["ops_failed"], failed,
          "operations that have failed")
    if abi.counters("h1")["cwnd_cuts"] <= marks:
        raise AssertionError("no window of h1 has been cut")
    # a busy emulator makes packets late, which are sent again: what is delivered is what is shared
    for way, tcp in zip(ways, got[2:]):
        delivered = got[0] + got[1] + tcp
        if delivered < USED:
            raise AssertionError(f"{way}: {delivered:.3f} of the link's bytes are delivered, expected {USED} at least")
        for name, part in zip(["group A", "group B", f"TCP {way}"], got[:2] + [tcp]):
            if part < LEAST * delivered:
                raise AssertionError(
                    f"{name} has got {part:.3f} of the link, {way} {delivered:.3f} are delivered: "
                                     f"expected {LEAST} of that at least")


@test("two groups and TCP out of their host")
def t_up(lab):
    share(lab, ["up"], ("h1", "h3", 1))


@test("two groups and TCP into their host")
def t_down(lab):
    share(lab, ["down"], ("h3", "h1", 1))


@test("two groups and TCP both ways")
def t_both(lab):
    share(lab, ["up", "down"], ("h1", "h3", 1), ("h3", "h1", 1))


if __name__ == "__main__":
    abi.main(Lab())
