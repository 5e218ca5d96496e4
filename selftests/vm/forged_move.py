# SPDX-License-Identifier: GPL-2.0-only
"""
Forged packets about moves: MOVE and PEERS to hosts, JOINs that say that a group has moved to the
node or to a host; started by 32-forged.sh. The job's group may go to the edge when its node is
lost.
"""
import struct

import inc_abi as abi
import inc_wire as w
from forged_lab import MEMBERS, RNG, Lab
from inc_abi import NODE4, equal, test, wait_until

NODE, EDGE = 0, 2                   # enum inc_placement


class MoveLab(Lab):
    """A job whose group has a fallback, and the READY that says which."""

    def __init__(self):
        self.lineage = 0
        node_set("fallback", "edge")
        super().__init__()

    def work(self):
        for p in self.taps["h1"].packets(w.READY, outgoing=False):
            if p.group == self.group:
                self.lineage = struct.unpack_from("!Q", p.body, 64)[0]
        super().work()

    def move(self, lineage, number, **fields):
        """The MOVE of a rank to rank 0."""
        return w.Packet(w.MOVE, group=self.group, body=w.move_body(lineage, number), **fields)

    def stays(self):
        """Nobody has moved, and the job works."""
        for rank, ns in zip(self.job.ranks, MEMBERS):
            info = rank.info()
            equal((info["moves"], info["placement"], info["epoch"]), (0, NODE, 1),
                  f"moves, placement, epoch in {ns}")
        self.audit()
        self.work()


def node_set(*what):
    abi.tool("inc", "-n", "sw", "node", "set", "dev", "br0", *what)


def join(lab, ns, to=None, rank=0, size=3, nonce=4711, incarnation=0, group=None, **body):
    group = lab.group if group is None else group
    data = w.join_body(group, rank, size, nonce, **body)
    lab.send(ns, w.Packet(w.JOIN, group=group, incarnation=incarnation, child=rank, body=data),
             to=to)


def challenged(lab, ns, to=None, **how):
    """A JOIN with the challenge that its first form brought."""
    lab.taps[ns].frames()
    join(lab, ns, to=to, **how)
    p = lab.taps[ns].wait_packet(w.CHALLENGE, group=how.get("group", lab.group))
    join(lab, ns, to=to, challenge=struct.unpack_from("!Q", p.body, 8)[0], **how)


def refused(lab, ns, code, detail=None):
    p = lab.taps[ns].wait_packet(w.REFUSE, group=lab.group)
    got = struct.unpack_from("!IHHQ", p.body)
    equal(got[1], code, f"code of the REFUSE (detail {got[3]})")
    if detail is not None:
        equal(got[3], detail, "detail of the REFUSE")


def moved(lineage, **other):
    """What a JOIN says that comes from elsewhere."""
    return {"lineage": lineage, "move": 1, "fallback": w.EDGE, "window": 64, "dead": 300, **other}


@test("move: the inc tool shows fallback, placement and moves")
def t_shown(lab):
    equal(lab.lineage != 0, True, "READY has been seen")
    mine = [g for g in abi.show("h1", "group") if g["group"] == lab.group]
    equal([(g["role"], g["placement"], g["fallback"], g["moves"]) for g in mine],
          [("rank", "node", "edge", 0)], "h1")
    mine = [g for g in abi.show("sw", "group") if g["group"] == lab.group]
    equal([(g["role"], g.get("placement"), g["fallback"], g["moves"]) for g in mine],
          [("node", None, "edge", 0)], "sw")
    equal([r.info()["fallback"] for r in lab.job.ranks], [w.EDGE] * 3, "fallback of the ranks")


@test("host: MOVE with another lineage")
def t_lineage(lab):
    lineages = (0, 1, lab.lineage ^ 1, lab.lineage ^ 1 << 63, RNG.randrange(1 << 64))
    for lineage in lineages:
        lab.send("h4", lab.move(lineage, 1), to="h1")
        lab.send("h4", lab.move(lineage, 1), to="h1", src=NODE4)
        lab.send("h4", lab.move(lineage, 0x7fffffff), to="h1", src=lab.ip["h2"])
        lab.send("h2", lab.move(lineage, 1), to="h1", v6=True)
    lab.owe("h1", no_group=4 * len(lineages))
    lab.stays()


@test("host: MOVE of the move that it is at, of an older one, and for others")
def t_old(lab):
    for number in (0, 0xffffffff, 0x80000001):
        lab.send("h4", lab.move(lab.lineage, number), to="h1")
        lab.send("h2", lab.move(lab.lineage, number), to="h1")
    lab.owe("h1", duplicate=6)
    lab.audit("h1")
    lab.send("h2", lab.move(lab.lineage, 1, child=1), to="h1")
    lab.send("h2", lab.move(lab.lineage, 1).but(group=lab.group ^ 1), to="h1")
    lab.owe("h1", no_group=2)
    lab.send("h2", lab.move(lab.lineage, 1).but(body=w.move_body(lab.lineage, 1)[:12], len=None),
             to="h1")
    lab.owe("h1", malformed=1)
    lab.stays()


@test("host: PEERS with a wrong cookie, of another epoch, and with counts that are not true")
def t_peers(lab):
    some = ["192.0.2.1", "192.0.2.2"]
    last = lab.down[0][-1]
    good = w.Packet(w.PEERS, group=lab.group, incarnation=last.incarnation, epoch=last.epoch,
                    cookie=last.cookie, body=w.peers_body(0, 2, *some))
    for cookie in (0, good.cookie ^ 1, lab.up[0][0].cookie, RNG.randrange(1 << 64)):
        lab.send("h4", good.but(cookie=cookie), to="h1", src=NODE4)
    lab.owe("h1", cookie=4)
    lab.send("h4", good, to="h1")
    lab.send("h2", good, to="h1")
    lab.owe("h1", port=2)
    lab.send("h4", good.but(epoch=good.epoch + 1), to="h1", src=NODE4)
    lab.owe("h1", epoch=1)
    lab.send("h4", good.but(incarnation=good.incarnation ^ 1), to="h1", src=NODE4)
    lab.owe("h1", no_group=1)
    lies = ((0, 4), (0, 3), (1, 3), (2, 2), (3, 1), (4, 0), (0, 0xffffffff), (0xffffffff, 1),
            (0xfffffffe, 2),
            (0, 0x0ccccccd), (0x80000000, 2))
    for first, count in lies:
        lab.send("h4", good.but(body=w.peers_body(first, count, *some), len=None), to="h1",
                 src=NODE4)
    lab.owe("h1", malformed=len(lies))
    lab.stays()


@test("host: JOIN of a group that has no rank there leaves nothing")
def t_no_rank(lab):
    before = {ns: abi.counters(ns) for ns in ("h4",)}
    for body in ({}, moved(lab.lineage ^ 1), moved(0),
                 moved(RNG.randrange(1, 1 << 64), challenge=5)):
        for incarnation in (0, lab.down[0][0].incarnation):
            lab.taps["h4"].frames()
            join(lab, "h4", to="h2", incarnation=incarnation, **body)
            refused(lab, "h4", w.NO_NODE)
            lab.owe("h2", no_node=1)
    lab.taps["h4"].frames()
    join(lab, "h4", to="h2", group=lab.group ^ 1, **moved(lab.lineage))
    lab.taps["h4"].wait_packet(w.REFUSE, group=lab.group ^ 1)
    lab.owe("h2", no_node=1)
    # neither node nor rank: nobody is at home
    join(lab, "h1", to="h4", **moved(lab.lineage))
    equal(abi.counters("h4"), before["h4"], "counters of a box that has nothing to do with INC")
    equal(abi.groups("h2"), [lab.group], "groups of the host")
    lab.stays()


@test("host: JOIN that knows the lineage and not the challenge or the key, or names an incarnation")
def t_edge(lab):
    lab.taps["h4"].frames()
    join(lab, "h4", to="h2", **moved(lab.lineage))
    lab.taps["h4"].wait_packet(w.CHALLENGE, group=lab.group)
    join(lab, "h4", to="h2", challenge=77, **moved(lab.lineage))
    lab.taps["h4"].wait_packet(w.CHALLENGE, group=lab.group)
    lab.owe("h2", challenge=1)
    challenged(lab, "h4", to="h2", key=b"\1" * 16, **moved(lab.lineage))
    refused(lab, "h4", w.KEY)
    lab.owe("h2", proof=1)
    join(lab, "h4", to="h2", incarnation=lab.down[0][0].incarnation, **moved(lab.lineage))
    refused(lab, "h4", w.UNKNOWN)
    equal(abi.groups("h2"), [lab.group], "groups of the host")
    lab.stays()


@test("host: what a JOIN says of a group that comes there is not what the rank there pays for")
def t_edge_larger(lab):
    for size in (1, 2, 4, 1024):
        challenged(lab, "h4", to="h2", size=size, **moved(lab.lineage, window=4096, dead=60000))
        refused(lab, "h4", w.SIZE)
    equal(abi.groups("h2"), [lab.group], "groups of the host")
    run = abi.show("h1", "group")[0]
    challenged(lab, "h4", to="h2", block=16384,
               **moved(lab.lineage, window=4096, dead=60000))
    wait_until(lambda: len(abi.groups("h2")) == 2, "a group at the host's edge")
    made = next(g for g in abi.show("h2", "group") if g["role"] == "node")
    equal((made["size"], made["window"]), (3, run["window"]), "size and window of the group")
    # nobody else comes
    wait_until(lambda: abi.groups("h2") == [lab.group], "the edge's group has gone", 30)
    lab.stays()


@test("node: JOIN with a later move that names the incarnation instead of being challenged")
def t_unchallenged(lab):
    for lineage in (1, lab.lineage ^ 1, lab.lineage):
        lab.taps["h4"].frames()
        join(lab, "h4", incarnation=lab.down[0][0].incarnation, **moved(lineage))
        refused(lab, "h4", w.BUSY, 0)
        lab.send("h4", lab.move(lineage, 1))                    # there is no rank at the node
        lab.owe("sw", no_group=1)
    lab.stays()


@test("node: JOIN of a lineage that the node does not know has nothing to do with the group of that number")
def t_other_lineage(lab):
    other = lab.lineage ^ 5
    challenged(lab, "h4", **moved(other, dead=3000))
    wait_until(lambda: abi.groups("sw") == [lab.group] * 2, "there is another group of that number")
    shown = [(g["moves"], g["joined"]) for g in abi.show("sw", "group")]
    equal(sorted(shown), [(0, 3), (1, 0)], "moves and members of both")
    challenged(lab, "h4", **moved(other, dead=3000))
    wait = lab.taps["h4"].wait_packet(w.WAIT, group=lab.group)
    equal(wait.incarnation != lab.down[0][0].incarnation, True, "it has another incarnation")
    challenged(lab, "h4", **moved(other, dead=3000, move=0))
    refused(lab, "h4", w.MOVED, 1)
    lab.alone()                                                 # nobody else has come
    lab.stays()


@test("node: JOIN from elsewhere with what no group has")
def t_bad_values(lab):
    other = lab.lineage ^ 9
    for bad in ({"window": 0}, {"window": 2}, {"window": 48}, {"window": 8192}, {"dead": 0},
                {"dead": 99},
                {"dead": 60001}, {"late": 3600001}, {"fallback": 0}, {"fallback": 3},
                {"policy": 2}, {"policy": 255}):
        challenged(lab, "h4", **moved(other, **bad))
        refused(lab, "h4", w.SIZE)
    # the group's window is fixed: what would not fit is not taken
    challenged(lab, "h4", size=1024, **moved(other, window=4096))
    refused(lab, "h4", w.LIMIT, 64 << 20)
    equal(abi.groups("sw"), [lab.group], "groups at the node")
    lab.stays()


@test("host: MOVEs of members take it to the edge and it comes back; older ones that come again change nothing")
def t_replayed_move(lab):
    for i, ns in enumerate(MEMBERS):
        lab.send("h4", lab.move(lab.lineage, 1, child=i), to=ns)
    wait_until(lambda: all(r.info()["moves"] for r in lab.job.ranks), "all ranks have moved")
    lab.k += 1
    lab.job.run(700, lab.k)
    wait_until(lambda: all((r.info()["placement"], r.info()["state"]) == (NODE, abi.READY)
                           for r in lab.job.ranks),
               lambda: f"all ranks are back at the node: {[r.info() for r in lab.job.ranks]}")
    numbers = [r.info()["moves"] for r in lab.job.ranks]
    equal(numbers, [numbers[0]] * 3, "moves of all ranks")
    equal((numbers[0] > 1, numbers[0] % 2), (True, 0), f"number of the move ({numbers[0]})")
    lab.job.run(700, lab.k)
    lab.settle()
    wait_until(lambda: abi.groups("h1") == [lab.group], "the edge's group has gone", 30)
    lab.ledger = lab.counted()
    for number in range(numbers[0] + 1):
        lab.send("h4", lab.move(lab.lineage, number), to="h1")
    lab.send("h4", lab.move(lab.lineage, 0x80000000 + numbers[0] & 0xffffffff), to="h1")
    lab.owe("h1", duplicate=numbers[0] + 2)
    lab.audit("h1")
    equal([r.info()["moves"] for r in lab.job.ranks], numbers, "moves of all ranks")
    lab.work()


@test("move: after all this the job leaves as usual")
def t_leave(lab):
    lab.job.close()
    wait_until(lambda: not abi.groups("sw"), "no group is left", 30)
    for ns in MEMBERS:
        wait_until(lambda ns=ns: not abi.groups(ns), f"no group is left in {ns}", 30)
    node_set("fallback", "none")


abi.main(MoveLab())
