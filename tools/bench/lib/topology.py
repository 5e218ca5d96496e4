# SPDX-License-Identifier: GPL-2.0-only
"""A topology of hosts and nodes, as a text, and what follows from it: addresses and routes.

The text is that of a file for tools/vm/fabric or `inc plan`: a line for each node and host, with
the node above it, and behind that what its link upwards is like:

  node spine
  node leaf1 spine rate 100mbit
  host h1 leaf1 rate 100mbit delay 5ms

Addresses are those of tools/vm/fabric: the Nth node has 10.255.0.N, and 10.1.N.254 on a bridge if it
has hosts; host H of the file, below node N, is 10.1.N.H. Links between nodes are routed: 10.2.N.1 is
the lower end of node N's, 10.2.N.254 the upper one.
"""
from dataclasses import dataclass, field


@dataclass
class Place:
    """A host or a node, and the link from it to what is above."""
    name: str
    kind: str
    number: int             # among hosts, or among nodes
    above: "Place" = None
    rate: str = ""          # tc's words
    delay: str = ""
    loss: str = ""          # with it no super-packets, so that single packets are lost
    queue: str = ""         # packets: those that are on the way included
    below: list = field(default_factory=list)

    @property
    def hosts(self):
        """Those that are linked to it."""
        return [place for place in self.below if place.kind == "host"]

    @property
    def address(self):
        if self.kind == "host":
            return f"10.1.{self.above.number}.{self.number}"
        return f"10.1.{self.number}.254" if self.hosts else f"10.255.0.{self.number}"

    @property
    def device(self):
        """The upper end of its link; the lower one is eth0."""
        return f"{'p' if self.kind == 'host' else 'd'}{self.number}"

    @property
    def link(self):
        """What its link upwards is like, as Lab.shape() takes it."""
        return self.rate, self.delay, self.loss, self.queue

    @property
    def path(self):
        """All that is above it, the nearest first."""
        return [self.above] + self.above.path if self.above else []

    def inside(self):
        """All hosts that are below it, at any depth; of a host that one."""
        if self.kind == "host":
            return [self]
        return [host for place in self.below for host in place.inside()]


class Topology:
    """What a text says; it is written by the benchmark itself and not looked at closely."""

    def __init__(self, text):
        self.places = {}
        for line in text.splitlines():
            words = line.split("#")[0].split()
            if words:
                self.add(*words)

    def add(self, kind, name, above=None, *words):
        number = sum(place.kind == kind for place in self.places.values()) + 1
        place = Place(name, kind, number, self.places[above] if above else None,
                      **dict(zip(words[::2], words[1::2])))
        if place.above:
            place.above.below.append(place)
        self.places[name] = place

    @property
    def nodes(self):
        return [place for place in self.places.values() if place.kind == "node"]

    @property
    def hosts(self):
        return [place for place in self.places.values() if place.kind == "host"]

    @property
    def root(self):
        return self.nodes[0]

    @property
    def deepest(self):
        """The host with most nodes above it, the first one of several."""
        return max(self.hosts, key=lambda host: len(host.path))


def routes(place, via):
    """Lines for `ip -batch`: to a node and to all that is below it."""
    lines = [f"route add 10.255.0.{place.number} via {via}"]
    if place.hosts:
        lines.append(f"route add 10.1.{place.number}.0/24 via {via}")
    for node in place.below:
        if node.kind == "node":
            lines += [f"route add 10.2.{node.number}.0/24 via {via}"] + routes(node, via)
    return lines


def node_lines(place):
    """Lines for `ip -batch` of a node whose links are there."""
    lines = ["link set lo up", f"addr add 10.255.0.{place.number}/32 dev lo"]
    if place.hosts:
        lines += ["link add br0 type bridge", "link set br0 up",
                  f"addr add 10.1.{place.number}.254/24 dev br0"]
    if place.above:
        lines += ["link set eth0 up", f"addr add 10.2.{place.number}.1/24 dev eth0",
                  f"route add default via 10.2.{place.number}.254"]
    for below in place.below:
        lines.append(f"link set {below.device} up")
        if below.kind == "host":
            lines.append(f"link set {below.device} master br0")
        else:
            lines.append(f"addr add 10.2.{below.number}.254/24 dev {below.device}")
            lines += routes(below, f"10.2.{below.number}.1")
    return lines


def host_lines(place):
    """The same for a host."""
    return ["link set lo up", "link set eth0 up", f"addr add {place.address}/24 dev eth0",
            f"route add default via 10.1.{place.above.number}.254"]
