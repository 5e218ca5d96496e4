#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Groups and TCP flows that share the link of one host, with sch_inc as its queue; runs in a guest.

  share_lab.py PLAN     PLAN: a file with a JSON list of the fields of class Mix; a line "result:
                        JSON" for each

	   h1                    h2        h3
	 rank 0 of all, TCP    rank 1     TCP, ping
	   |  shaped, sch_inc     |         |
	   +--------------- br0 ------------+

Who has got how much is what sch_inc has counted on the link, by group; what is not INC is TCP and a
few echoes.
"""
import contextlib
import ctypes
import json
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

from lab import Lab, Run, command, say

FIRST = 100             # group numbers


@dataclass
class Mix:
    name: str
    groups: int
    flows: int
    weights: list       # one for each group
    share: int          # percent for INC
    rate: int = 100     # Mbit/s
    seconds: int = 20
    count: int = 100000     # elements of one allreduce


@contextlib.contextmanager
def netns(name):
    """Sockets made meanwhile are of that network namespace."""
    with open("/proc/self/ns/net", encoding="ascii") as here, open(f"/run/netns/{name}",
                                                                   encoding="ascii") as there:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(there.fileno(), 0):
            raise OSError(ctypes.get_errno(), f"setns to {name}")
        try:
            yield
        finally:
            libc.setns(here.fileno(), 0)


class Flow:
    """TCP from the first to the third host, as fast as it goes."""

    def __init__(self, lab):
        with netns(lab.hosts[2]), socket.create_server(("10.9.0.3", 0)) as listener:
            with netns(lab.hosts[0]):
                self.out = socket.create_connection(listener.getsockname())
            self.into = listener.accept()[0]
        self.over = False
        self.threads = [threading.Thread(target=self.send), threading.Thread(target=self.receive)]
        for sock in (self.out, self.into):
            sock.settimeout(0.2)
        for thread in self.threads:
            thread.start()

    def send(self):
        while not self.over:
            with contextlib.suppress(TimeoutError):
                self.out.send(bytes(1 << 16))

    def receive(self):
        while not self.over:
            with contextlib.suppress(TimeoutError):
                self.into.recv(1 << 16)

    def stop(self):
        self.over = True
        for thread in self.threads:
            thread.join()
        self.out.close()
        self.into.close()


def shape(lab, mix):
    weights = ",".join(f"{FIRST + i}:{weight}" for i, weight in enumerate(mix.weights))
    for ns, dev in ((lab.hosts[0], "eth0"), (lab.switch, "p1")):
        command("tc", "-n", ns, "qdisc", "add", "dev", dev, "root", "handle", "1:", "tbf", "rate",
                f"{mix.rate}mbit", "burst", "16384", "limit", "4m")
        command("inc", "-n", ns, "qdisc", "add", "dev", dev, "parent", "1:1", "handle", "2:",
                "share", str(mix.share), "weight", weights)
        command("tc", "-n", ns, "qdisc", "add", "dev", dev, "parent", "2:1", "handle", "3:",
                "fq_codel")


def sample(lab, mix):
    """
    Bytes that each group's contributions, INC as a whole, and everything else have taken of the
    link.
    """
    stats = json.loads(command("inc", "-n", lab.hosts[0], "-j", "-s", "qdisc", "show", "dev",
                               "eth0"))[0]["stats"]
    groups = {g["group"]: g["bytes"] for g in stats["groups"]}
    classes = stats["classes"]
    return {"t": time.monotonic(), "groups": [groups.get(FIRST + i, 0) for i in range(mix.groups)],
            "inc": classes["control"]["bytes"] + classes["contrib"]["bytes"],
            "other": classes["other"]["bytes"]}


def ranks(lab, mix):
    return [subprocess.Popen(
        ["ip", "netns", "exec", lab.hosts[rank], "inc-allreduce", "--group", str(FIRST + group),
         "--rank", str(rank), "--size", "2", "--count", str(mix.count), "--iters", "1000000",
         "--seed", str(group)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for group in range(mix.groups)
            for rank in range(2)]


def run(mix):
    with Lab(Run(name=mix.name, library="inc", hosts=3, sizes="")) as lab:
        command("modprobe", "inc")
        command("modprobe", "sch_inc")
        shape(lab, mix)
        command("inc", "-n", lab.switch, "node", "add", "dev", "br0")
        for ns in lab.hosts[:2]:
            command("inc", "-n", ns, "parent", "set", "10.9.0.254")
        flows, programs = [], ranks(lab, mix)
        try:
            flows = [Flow(lab) for _ in range(mix.flows)]
            while not all(sample(lab, mix)["groups"]):
                if any(program.poll() is not None for program in programs):
                    raise RuntimeError("a rank has ended before all groups were at work")
                time.sleep(0.1)
            with subprocess.Popen(["ip", "netns", "exec", lab.hosts[0], "ping", "-n", "-i", "0.1",
                                   "-c", str(10 * mix.seconds), "10.9.0.3"],
                                  stdout=subprocess.PIPE, text=True) as ping:
                samples = [sample(lab, mix)]
                while samples[-1]["t"] - samples[0]["t"] < mix.seconds:
                    time.sleep(0.5)
                    samples.append(sample(lab, mix))
                echoes = [float(line.split("time=")[1].split()[0])
                          for line in ping.communicate()[0].splitlines()
                          if "time=" in line]
        finally:
            for program in programs:
                program.kill()
                program.wait()
            for flow in flows:
                flow.stop()
    print("result: "
          + json.dumps({"run": mix.name, "bytes": 0, "samples": samples, "echoes_ms": echoes}),
          flush=True)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        for entry in json.load(file):
            mix = Mix(**entry)
            try:
                run(mix)
            except (RuntimeError, OSError) as error:
                print("result: " + json.dumps({"run": mix.name, "error": str(error)}), flush=True)
            say(mix.name)


if __name__ == "__main__":
    main()
