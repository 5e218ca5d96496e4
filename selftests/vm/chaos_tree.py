# SPDX-License-Identifier: GPL-2.0-only
"""
Jobs of random collectives in trees drawn at random, to which things happen at random; started by
42-chaos-trees.sh. A round makes its own network namespaces: nodes n0 (above all others), n1, ...,
each with a bridge for its hosts, a link to the node above it, and routes between all of them; and
hosts h1, h2, ..., each at any of the nodes. No rank gets a wrong element, and all programs end soon
after it is over. Of what does no harm none fails, and with a fallback to the edge none of what
befalls nodes alone: all ranks can still reach one another. See chaos_round.py.
"""
import collections
import re
import time

import inc_abi as abi
from inc_abi import wait_until
from chaos_round import (Round, batch, chaos_test, do_batch, do_inc, do_ip, effect, inc, ip,
                         is_up, nodes, played, set_qdisc, tc)

LEVELS = 4
# Types whose results do not depend on the order in which a tree, or the edge, folds them.
TYPES = "i8,u16,i32,u64"
HARMLESS, NODES, HARMFUL = range(3)     # what a mishap does: nothing; to nodes alone; to anybody
MISHAPS = []


def mishap(kind):
    """A function that makes it happen to a round, and returns what undoes it, or None."""
    def add(function):
        MISHAPS.append((function, kind))
        return function
    return add


class Tree:
    """Which node is above which, and where the hosts are."""
    def __init__(self, rng):
        self.above, self.depth = [None], [1]
        for _ in range(rng.randrange(1, 6)):
            above = rng.choice([i for i, d in enumerate(self.depth) if d < LEVELS])
            self.above.append(above)
            self.depth.append(self.depth[above] + 1)
        self.at = {h: rng.randrange(len(self.above)) for h in range(1, rng.randrange(3, 7))}
        # The address of a node for who is below it: one of its own, or that of its bridge.
        self.by_loopback = [rng.random() < 0.6 for _ in self.above]

    def below(self, i):
        """All nodes of the subtree of node @i, itself included"""
        found = [i]
        for j in range(i + 1, len(self.above)):
            if self.above[j] in found:
                found.append(j)
        return found

    def namespaces(self):
        return [f"n{i}" for i in range(len(self.above))] + [f"h{h}" for h in self.at]

    def addr(self, i):
        return f"10.255.0.{i + 1}" if self.by_loopback[i] else f"10.1.{i}.254"

    def node(self, i):
        """What `inc node add` is told of its place."""
        parent = "" if i == 0 else f" parent {self.addr(self.above[i])}"
        return f"dev {'all' if self.by_loopback[i] else 'br0'}{parent}"

    def links(self):
        """The ends of all links: namespace and device"""
        for i in range(1, len(self.above)):
            yield f"n{i}", "up0"
            yield f"n{self.above[i]}", f"d{i}"
        for h, i in self.at.items():
            yield f"h{h}", "eth0"
            yield f"n{i}", f"p{h}"

    def configure(self, ns):
        """Addresses and routes of a namespace; to be given again after a link was down."""
        number = int(ns[1:])
        if ns[0] == "h":
            at = self.at[number]
            yield "link set lo up"
            yield "link set eth0 up"
            yield f"addr replace 10.1.{at}.{number}/24 dev eth0"
            yield f"route replace default via 10.1.{at}.254"
            return
        yield "link set lo up"
        yield f"addr replace 10.255.0.{number + 1}/32 dev lo"
        yield "link set br0 up"
        yield f"addr replace 10.1.{number}.254/24 dev br0"
        for h in (h for h, at in self.at.items() if at == number):
            yield f"link set p{h} master br0 up"
        if number:
            yield "link set up0 up"
            yield f"addr replace 10.2.{number}.1/24 dev up0"
            yield f"route replace default via 10.2.{number}.254"
        for child in (i for i, above in enumerate(self.above) if above == number):
            yield f"link set d{child} up"
            yield f"addr replace 10.2.{child}.254/24 dev d{child}"
            for i in self.below(child):
                via = f"via 10.2.{child}.1"
                yield f"route replace 10.255.0.{i + 1}/32 {via}"
                yield f"route replace 10.1.{i}.0/24 {via}"
                if i != child:
                    yield f"route replace 10.2.{i}.0/24 {via}"

    def links_of(self, i):
        """Those of node @i: its bridge, the link to the node above it, and those to its hosts"""
        yield "link add br0 type bridge"
        if i:
            yield f"link add up0 type veth peer name d{i} netns n{self.above[i]}"
        for h in (h for h, at in self.at.items() if at == i):
            yield f"link add p{h} type veth peer name eth0 netns h{h}"

    def create(self):
        do_batch(*(f"netns add {ns}" for ns in self.namespaces()))
        for i in range(len(self.above)):
            do_batch(*self.links_of(i), ns=f"n{i}")
            with abi.netns(f"n{i}"), open("/proc/sys/net/ipv4/ip_forward", "w",
                                          encoding="ascii") as f:
                f.write("1")
        for ns in self.namespaces():
            do_batch(*self.configure(ns), ns=ns)

    def destroy(self):
        for ns in self.namespaces():
            abi.forget(ns)
        batch("ip", None, *(f"netns del {ns}" for ns in self.namespaces()))

    def __str__(self):
        where = collections.defaultdict(list)
        for h, i in self.at.items():
            where[i].append(f"h{h}")
        return " ".join(f"n{i}{'' if above is None else f'<n{above}'}[{','.join(where[i])}]"
                        for i, above in enumerate(self.above))


# What does no harm

@mishap(HARMLESS)
def netem(r):
    ns, dev = r.any_link()
    how = r.rng.choice(("loss 5%", "duplicate 10%", "corrupt 2%", "delay 3ms 3ms",
                        "delay 2ms reorder 20% 50%", "rate 20mbit"))
    r.what += f"({how})"
    set_qdisc(ns, dev, f"netem limit 10000 {how}")
    return lambda: tc(ns, f"qdisc del dev {dev} root")


@mishap(HARMLESS)
def other_qdisc(r):
    ns, dev = r.any_link()
    kind = r.rng.choice(("inc", "fq_codel", "pfifo limit 3",
                         "tbf rate 30mbit burst 5000 limit 9000"))
    r.what += f"({kind})"
    set_qdisc(ns, dev, kind)
    return lambda: tc(ns, f"qdisc del dev {dev} root")


@mishap(HARMLESS)
def forgotten(r):
    for ns in r.tree.namespaces():
        do_ip(ns, "neigh flush all")


@mishap(HARMLESS)
def link_flaps(r):
    ns, dev = r.any_link()
    for _ in range(r.rng.randrange(1, 4)):
        do_ip(ns, f"link set {dev} down")
        time.sleep(0.1)
        ip(ns, *r.tree.configure(ns))
        time.sleep(0.1)


@mishap(HARMLESS)
def frozen(r):
    return r.stop()


@mishap(HARMLESS)
def interrupted(r):
    """By a signal that does not end it."""
    r.signal("WINCH")


@mishap(HARMLESS)
def window(r):
    i, size = r.any_node(), r.rng.choice((4, 64, 512))
    do_inc(f"n{i}", f"node set {r.tree.node(i)} window {size}")
    effect(nodes(f"n{i}")[r.dev(i)]["window"] == size, f"n{i} has a window of {size}")


# What befalls nodes

@mishap(NODES)
def node_deleted(r):
    i = r.any_node()
    do_inc(f"n{i}", f"node del dev {r.dev(i)}")
    effect(r.dev(i) not in nodes(f"n{i}"), f"n{i} is no node")
    return lambda: r.add_node(i)


@mishap(NODES)
def node_renewed(r):
    i = r.any_node()
    do_inc(f"n{i}", f"node del dev {r.dev(i)}")
    do_inc(f"n{i}", f"node add {r.tree.node(i)} {' '.join(r.options)}")


@mishap(NODES)
def node_silent(r):
    i = r.rng.choice(r.by_loopback())
    r.what = f":n{i}"
    do_ip(f"n{i}", f"addr del 10.255.0.{i + 1}/32 dev lo")
    return lambda: ip(f"n{i}", f"addr replace 10.255.0.{i + 1}/32 dev lo")


@mishap(NODES)
def node_dead(r):
    """Silent to those below it, which it takes for dead, while those above still hear it."""
    undo = node_silent(r)
    time.sleep(r.dead + 1)
    return undo


# What befalls anybody

@mishap(HARMFUL)
def link_down(r):
    ns, dev = r.any_link()
    do_ip(ns, f"link set {dev} down")
    effect(not is_up(ns, dev), f"{dev} in {ns} is down")
    return lambda: ip(ns, *r.tree.configure(ns))


@mishap(HARMFUL)
def bridge_down(r):
    ns = f"n{r.any_node()}"
    do_ip(ns, "link set br0 down")
    effect(not is_up(ns, "br0"), f"br0 in {ns} is down")
    return lambda: ip(ns, *r.tree.configure(ns))


@mishap(HARMFUL)
def routes_gone(r):
    ns = r.rng.choice(r.tree.namespaces())
    r.what = f":{ns}"
    do_ip(ns, "route flush scope global")
    return lambda: ip(ns, *r.tree.configure(ns))


@mishap(HARMFUL)
def mtu(r):
    (ns, dev), size = r.any_link(), r.rng.choice((576, 1280, 1400))
    r.what += f"({size})"
    do_ip(ns, f"link set {dev} mtu {size}")
    return lambda: ip(ns, f"link set {dev} mtu 1500")


@mishap(HARMFUL)
def killed(r):
    r.kill()


class TreeRound(Round):
    HARM = re.compile("does not answer within the dead limit|"
                      "has ended the group: it was killed|"
                      "the node was removed by its administrator|"
                      "exchanges short packets with the node, but no blocks|"
                      "an operation before this one failed|has left the group")

    def __init__(self, happened, seed):
        super().__init__(happened, seed)
        self.tree = Tree(self.rng)
        self.ends_of_links = list(self.tree.links())
        self.ranks_n = self.rng.randrange(2, len(self.tree.at) + 3)
        self.worst = self.rng.choice((HARMLESS, NODES, HARMFUL))
        fallback = "edge" if self.worst == NODES else self.rng.choice(("none", "edge"))
        self.may_fail = self.worst == HARMFUL
        dead = self.rng.choice((500, 1000)) if self.may_fail else 5000
        self.dead = dead / 1000         # seconds
        self.options = ["fallback", fallback, "dead", str(dead)]

    def mishaps(self):
        return [f for f, kind in MISHAPS if kind <= self.worst and
                (self.by_loopback() or f not in (node_silent, node_dead))]

    def by_loopback(self):
        """The nodes that are asked at an address of their own."""
        return [i for i, has in enumerate(self.tree.by_loopback) if has]

    def namespace(self, rank):
        return f"h{rank % len(self.tree.at) + 1}"

    def parent(self, rank):
        return self.tree.addr(self.tree.at[rank % len(self.tree.at) + 1])

    def any_node(self):
        i = self.rng.randrange(len(self.tree.above))
        self.what = f":n{i}"
        return i

    def any_link(self):
        ns, dev = self.rng.choice(self.ends_of_links)
        self.what = f":{ns}.{dev}"
        return ns, dev

    def dev(self, i):
        return "all" if self.tree.by_loopback[i] else "br0"

    def add_node(self, i):
        inc(f"n{i}", "node", "add", *self.tree.node(i).split(), *self.options)

    def program(self, rank, size, group, *args):
        return super().program(rank, size, group, "--type", TYPES, *args)

    def blocks(self):
        return sum(abi.counters(f"n{i}")["blocks"] for i in range(len(self.tree.above)))

    def nothing_left(self):
        return not any(abi.groups(ns) for ns in self.tree.namespaces())

    def not_ended(self, rank, said):
        where = {ns: abi.show(ns, "group") for ns in self.tree.namespaces()}
        return f"rank {rank} does not end; those before it: {said}; groups: {where}"

    def play(self):
        try:
            self.tree.create()
            for i in range(len(self.tree.above)):
                do_inc(f"n{i}", f"node add {self.tree.node(i)} {' '.join(self.options)}")
            failed = self.run(self.ranks_n, 300, lambda: self.blocks() > 20)
            wait_until(self.nothing_left, "no group is left", 60)
            return failed
        finally:
            self.tree.destroy()

    def __str__(self):
        return f"{self.tree}: {self.ranks_n} ranks, {' '.join(self.options)}: {' '.join(self.log)}"


class Lab:
    def __init__(self):
        self.happened = collections.Counter()

    def round(self, seed):
        r = TreeRound(self.happened, seed)
        return played(r, seed, r.play)


chaos_test("trees, whatever happens: right results or an error, and an end", len(MISHAPS))
abi.main(Lab())
