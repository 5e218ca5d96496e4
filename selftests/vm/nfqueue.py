# SPDX-License-Identifier: GPL-2.0-only
"""
Rules of nft in a network namespace, and a program behind `queue`: it says ACCEPT to every packet,
by which the kernel goes on with it in this process.
"""
import contextlib
import json
import os
import select
import socket
import struct
import subprocess
import threading

from inc_wire import netns

CONFIG, VERDICT, PACKET = 0x302, 0x301, 0x300       # subsystem NFNL_SUBSYS_QUEUE
ACCEPT = 1


def nft(ns, *rules):
    """@rules: lines of an nft script."""
    done = subprocess.run(["nsenter", f"--net=/run/netns/{ns}", "nft", "-f", "-"],
                          input="\n".join(rules), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise AssertionError(f"nft in {ns}: {done.stdout.strip()}")


def counted(ns, family):
    """Packets that the rules of table `t` have counted."""
    shown = subprocess.run(["nsenter", f"--net=/run/netns/{ns}", "nft", "-j", "list", "table",
                            family, "t"],
                           stdout=subprocess.PIPE, check=True).stdout
    rules = [o["rule"] for o in json.loads(shown)["nftables"] if "rule" in o]
    return sum(e["counter"]["packets"] for rule in rules for e in rule["expr"] if "counter" in e)


@contextlib.contextmanager
def chain(ns, family, *rules):
    """Table `t` with an input chain of these rules."""
    nft(ns, f"table {family} t {{ chain in {{ type filter hook input priority 0;", *rules, "}", "}")
    try:
        yield
    finally:
        nft(ns, f"delete table {family} t")


def attribute(kind, data):
    return (struct.pack("=HH", 4 + len(data), kind) + data).ljust(4 + len(data) + 3 & ~3, b"\0")


def message(kind, number, body, flags=1):
    return (struct.pack("=IHHIIBBH", 20 + len(body), kind, flags, 0, 0, 0, 0,
                        socket.htons(number)) + body)


class Queue:
    """
    Gives back what comes to queue @number of a network namespace, from a thread of this process.
    """

    def __init__(self, ns, number):
        self.number, self.packets = number, 0
        with netns(ns):
            self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
        self.configure(attribute(1, struct.pack("!BxH", 1, 0)))                         # bind
        self.configure(attribute(2, struct.pack("!IB", 0, 1)))                          # no payload
        # GSO as it is
        self.configure(attribute(5, struct.pack("!I", 4)) + attribute(4, struct.pack("!I", 4)))
        self.stop, self.stopped = os.pipe()
        self.thread = threading.Thread(target=self.work)

    def configure(self, body):
        self.sock.send(message(CONFIG, self.number, body, 5))
        error = -struct.unpack_from("=i", self.sock.recv(1 << 16), 16)[0]
        if error:
            raise OSError(error, os.strerror(error))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        os.close(self.stopped)
        self.thread.join()
        os.close(self.stop)
        self.sock.close()

    def work(self):
        while True:
            ready = select.select([self.sock, self.stop], [], [])[0]
            if self.stop in ready:
                return
            data, at = self.sock.recv(1 << 17), 0
            while at < len(data):
                size, kind = struct.unpack_from("=IH", data, at)
                if kind == PACKET:
                    # the first attribute is NFQA_PACKET_HDR, which begins with the packet's number
                    self.give_back(data[at + 24:at + 28])
                at += size + 3 & ~3

    def give_back(self, ident):
        self.sock.send(message(VERDICT, self.number,
                               attribute(2, struct.pack("!I", ACCEPT) + ident)))
        self.packets += 1
