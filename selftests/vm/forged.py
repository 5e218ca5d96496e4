# SPDX-License-Identifier: GPL-2.0-only
"""
Forged packets to the node and to hosts, one at a time and in a storm; started by 32-forged.sh.
"""
import struct
import subprocess

import inc_abi as abi
import inc_wire as w
from forged_lab import MEMBERS, RNG, Lab
from inc_abi import NODE4, NODE6, equal, test, wait_until


def malformed_fields(lab):
    """Every field out of its range, one at a time."""
    good, probe, body = lab.contrib(), lab.probe(), bytes(16)
    yield good.but(kind=0)
    yield from (good.but(flags=good.flags | f)
                for f in (w.F_PARTIAL, w.F_WIDE, w.F_PART, w.F_ZERO, *w.UNKNOWN_FLAGS))
    zero = good.but(flags=good.flags | w.F_ZERO, body=b"", len=16)
    yield from (zero.but(len=n) for n in (0, 17, 16384, 16385, 65535))  # the third is beyond a block
    yield from (zero.but(len=16, flags=zero.flags | f) for f in (w.F_FINAL, w.F_DESC))
    yield zero.but(len=0, flags=w.F_ZERO | w.F_WANT)
    yield probe.but(flags=w.F_ZERO)
    yield probe.but(flags=w.F_ZERO, len=16, body=b"")
    yield from (good.but(part=p) for p in (64, 255))
    yield from (good.but(part=p) for p in (1, 63))              # this tree has no wide partials
    yield from (good.but(span=s) for s in (0, 2, 65535))
    yield good.but(flags=w.F_DESC | w.F_WANT, span=2, body=bytes(32))
    yield from (good.but(len=n) for n in (0, 12, 17, 20, 1000, 16384, 16385, 65535))
    yield good.but(flags=w.F_WANT)                              # payload without PAYLOAD
    yield good.but(body=b"")                                    # and the reverse
    yield good.but(flags=w.F_WANT | w.F_FINAL, body=b"")
    yield from (good.but(dtype=t) for t in (22, 255))
    yield from (good.but(op=o) for o in (15, 255))
    yield from (good.but(mode=m) for m in (2, 0x80))
    yield good.but(resv=1)
    for kind, size in w.MIN_BODY.items():
        yield probe.but(kind=kind, body=bytes(size - 4))
    # a node's JOIN without the ranks below it, with fewer than the size takes, or half an address
    yield from (w.Packet(w.JOIN, group=lab.group,
                         body=w.join_body(lab.group, 0, 33, 7, below=1, ranks=(0,))[:n])
                for n in (80, 84, 88, 104))
    yield probe.but(flags=w.F_DESC, body=bytes(40))
    yield probe.but(body=struct.pack("!IHH", 0, 31, 0) + bytes(4))      # bits no multiple of 32
    yield probe.but(body=struct.pack("!IHH", 0, 64, 0) + bytes(4))      # more bits than there are
    yield probe.but(body=struct.pack("!IHH", 0, 65504, 0) + bytes(4))
    # longer than any control packet may be
    yield probe.but(body=body[:8] + bytes(1200))
    yield probe.but(kind=w.ABORT, body=bytes(96))               # no code
    yield probe.but(kind=w.ABORT, body=bytes(16) + struct.pack("!H", 65535) + bytes(78))


@test("node: every field out of range is MALFORMED")
def t_fields(lab):
    sent = list(malformed_fields(lab))
    for p in sent:
        lab.send("h1", p)
    lab.owe("sw", malformed=len(sent))
    lab.audit()
    lab.work()


@test("node: truncated at every length, and with bytes behind the end")
def t_truncated(lab):
    whole = lab.contrib().pack()
    for n in range(len(whole)):
        lab.send("h1", whole[:n])
    for n in range(1, 9):
        lab.send("h1", whole + bytes(n))
    lab.owe("sw", malformed=len(whole) + 8)
    for length in (0, 7, 8, len(whole) + 7, len(whole) + 9, 65535):
        lab.send("h1", whole, length=length)                    # in the UDP header only
    lab.send("h1", whole, total=27)
    lab.send("h1", whole, total=20 + 8 + len(whole) - 1)
    lab.send("h1", whole, total=20 + 8 + len(whole) + 1)
    lab.send("h1", whole, total=65535)
    lab.owe("sw", malformed=10)
    lab.audit()
    lab.work()


@test("node: unknown versions")
def t_versions(lab):
    for version in (0, 2, 3, 15):
        lab.send("h1", lab.contrib().but(version=version))
    lab.owe("sw", version=4)
    lab.audit("sw")


@test("node: wrong checksums, and none")
def t_checksums(lab):
    data = lab.contrib().pack()
    good = struct.unpack_from("!H", w.udp(lab.ip["h1"], NODE4, data), 6)[0]
    for check in (0, good ^ 1, good ^ 0x8000, good ^ 0xffff):
        lab.send("h1", data, check=check)
    for bit in RNG.sample(range(8 * len(data)), 20):
        bad = bytearray(data)
        bad[bit // 8] ^= 1 << bit % 8
        lab.send("h1", bytes(bad), check=good)
    lab.send("h1", data, ipcheck=0x1234)
    lab.owe("sw", checksum=25)
    good6 = struct.unpack_from("!H", w.udp(lab.ip6["h1"], NODE6, data), 6)[0]
    for check in (0, good6 ^ 1):
        lab.send("h1", data, v6=True, check=check)
    lab.owe("sw", checksum=2)
    lab.audit()
    lab.work()


@test("node: IP fragments")
def t_fragments(lab):
    src, dst, tap = lab.ip["h1"], NODE4, lab.taps["h1"]
    whole = w.udp(src, dst, lab.contrib().pack())
    for ipid, cut in ((11, 8), (12, 56), (13, 64)):
        for at, part in ((0, whole[:cut]), (cut, whole[cut:])):
            frag = at // 8 | (0 if at else 0x2000)
            tap.send(w.ether(tap.mac, lab.node_mac, w.ip(src, dst, part, frag=frag, ipid=ipid)))
    # the first of each; the rest has no port
    lab.owe("sw", fragment=3)
    src, dst = lab.ip6["h1"], NODE6
    whole = w.udp(src, dst, lab.contrib().pack())
    for ident, cut in ((21, 8), (22, 64)):
        for at, part in ((0, whole[:cut]), (cut, whole[cut:])):
            head = struct.pack("!BBHI", 17, 0, at | (0 if at else 1), ident)
            tap.send(w.ether(tap.mac, lab.node_mac, w.ip(src, dst, head + part, proto=44)))
    tap.send(w.ether(tap.mac, lab.node_mac,
                     w.ip(src, dst, struct.pack("!BBHI", 17, 0, 0, 23) + whole, proto=44)))
    lab.owe("sw", fragment=3)
    lab.audit()
    lab.work()


@test("node and host: UDP behind IPv6 extension headers")
def t_extensions(lab):
    # PadN: with what stands before it, 8 bytes
    options = b"\1\4\0\0\0\0"
    for ns, to, dmac, dst in (("h1", "sw", lab.node_mac, NODE6),
                              ("h4", "h1", lab.taps["h1"].mac, lab.ip6["h1"])):
        src, tap = lab.ip6[ns], lab.taps[ns]
        data = w.udp(src, dst, lab.contrib().pack())
        # destination options, once and twice; hop by hop
        for first, chain in ((60, bytes((17, 0)) + options),
                             (60, bytes((60, 0)) + options + bytes((17, 0)) + options),
                             (0, bytes((17, 0)) + options)):
            tap.send(w.ether(tap.mac, dmac, w.ip(src, dst, chain + data, proto=first)))
        lab.owe(to, malformed=3)
    lab.audit()
    lab.work()


@test("node: IP options and a trailer behind the packet are no offence")
def t_harmless(lab):
    before = abi.counters("sw")["probes"]
    lab.send("h1", lab.probe(), options=b"\x01\x01\x01\x00")
    lab.send("h1", lab.probe(), trailer=bytes(18))
    wait_until(lambda: abi.counters("sw")["probes"] >= before + 2, "the node has taken both PROBEs")
    lab.audit()


@test("node: cookies that are wrong, of others, or of the other direction")
def t_cookies(lab):
    good = lab.contrib()
    cookies = [0, good.cookie ^ 1, good.cookie ^ 1 << 63, (1 << 64) - 1, RNG.randrange(1 << 64),
               lab.down[0][0].cookie, lab.up[1][0].cookie]
    for cookie in cookies:
        lab.send("h1", good.but(cookie=cookie))
        lab.send("h1", lab.probe(cookie=cookie))
        lab.send("h4", good.but(cookie=cookie), src=lab.ip["h1"])
        lab.send("h1",
                 lab.probe(kind=w.ABORT, cookie=cookie,
                           body=bytes(16) + struct.pack("!H", 4) + bytes(78)))
    lab.owe("sw", cookie=4 * len(cookies))
    lab.audit()
    lab.work()


@test("node: the right cookie from another port or address")
def t_ports(lab):
    for p in (lab.contrib(), lab.probe(),
              lab.probe(kind=w.ABORT, body=bytes(16) + struct.pack("!H", 4) + bytes(78))):
        lab.send("h4", p, src=lab.ip["h1"])                     # the address, from another port
        lab.send("h2", p, src=lab.ip["h1"])
        lab.send("h4", p)
        lab.send("h1", p, src="10.7.0.77")                      # the port, with another address
        lab.send("h1", p, src=lab.ip["h2"])
        lab.send("h1", p, v6=True)
    lab.owe("sw", port=18)
    lab.audit()
    lab.work()


@test("node: other epochs, trees, children, groups, incarnations")
def t_names(lab):
    good = lab.contrib()
    for epoch in (0, good.epoch - 1, good.epoch + 1, 0xffffffff):
        lab.send("h1", good.but(epoch=epoch))
    lab.owe("sw", epoch=4)
    lab.send("h1", good.but(tree=1))
    lab.send("h1", good.but(tree=65535))
    # trees that are not here, or not yet
    lab.owe("sw", no_group=2)
    for child in (3, 4, 1023, 1024, 65535):
        lab.send("h1", good.but(child=child))
    lab.owe("sw", child=5)
    for kind in (w.CONTRIB, w.PROBE):
        bad = lab.contrib() if kind == w.CONTRIB else lab.probe()
        lab.send("h4", bad.but(group=lab.group ^ 1))
        lab.send("h4", bad.but(incarnation=good.incarnation ^ 1))
        lab.send("h4", bad.but(incarnation=0))
    lab.owe("sw", no_group=6)
    for kind in (w.RESULT, w.NACK):
        lab.send("h1", good.but(kind=kind, flags=0, body=b""))
    for kind in (w.STATUS, w.ERROR, w.CHALLENGE, w.WAIT, w.READY, w.REFUSE, w.MOVE, w.PEERS,
                 w.PARTIAL):
        lab.send("h1", lab.probe(kind=kind, body=bytes(w.MIN_BODY[kind])))
    # these are for ranks, of which there is none
    lab.owe("sw", no_group=11)
    lab.audit("sw")
    # strangers to the group were told so, with the cookie that they had sent
    answers = lab.taps["h4"].packets(w.REFUSE, outgoing=False)
    equal([p.cookie for p in answers], [good.cookie] * 6, "cookies in REFUSEs to the stranger")
    lab.audit()
    lab.work()


@test("node: stale and early blocks")
def t_blocks(lab):
    good = lab.contrib()
    for ahead in (lab.window, lab.window + 1, 2 * lab.window, 0x7fffffff):
        lab.send("h1", good.but(psn=lab.next + ahead & 0xffffffff))
    lab.owe("sw", ahead=4)
    for behind in (2 * lab.window, 2 * lab.window + 1, 1 << 31):
        lab.send("h1", good.but(psn=lab.next - behind & 0xffffffff))
    lab.owe("sw", stale=3)
    lab.audit()
    lab.work()


@test("node: replayed contributions, in the middle of the operation and after it")
def t_replay(lab):
    lab.work()
    old = list(lab.up[0])
    for p in old:
        lab.send("h1", p)
    lab.owe("sw", duplicate=len(old))
    lab.audit()
    lab.send("h4", old[0], src=lab.ip["h1"])
    lab.owe("sw", port=1)
    # ranks 0 and 1 have contributed, 2 is waited for
    lab.taps["h2"].frames()
    lab.k += 1
    handles = lab.job.begin((0, 1), 700, lab.k)
    pending = []
    wait_until(lambda: pending.extend(lab.taps["h2"].packets(w.CONTRIB))
               or len(pending) >= len(old), "rank 1 has contributed")
    fresh = [p for p in pending if not p.flags & w.F_RETRANS][:len(old)]
    for p in fresh:
        for _ in range(2):
            lab.send("h2", p.but(flags=p.flags & ~w.F_RETRANS))
            # other numbers: the first ones count
            if p.flags & w.F_PAYLOAD:
                lab.send("h2", p.but(body=p.body[:-4] + b"\xff\xff\xff\x7f"))
    handles.update(lab.job.begin((2,), 700, lab.k))
    lab.job.end(handles, 700, lab.k)
    got = abi.drops("sw").get("drop_duplicate", 0) - lab.ledger["sw"]["drop_duplicate"]
    if got < 4 * len(fresh):
        raise AssertionError(f"drop_duplicate grew by {got}, expected {4 * len(fresh)} or more")
    lab.settle()
    lab.audit()
    lab.work()


@test("host: malformed, of others, with wrong cookies")
def t_host(lab):
    result = lab.down[0][-1].but(body=bytes(64), len=None)
    whole = result.pack()
    for n in (0, 1, 47, 48, len(whole) - 1):
        lab.send("h4", whole[:n], to="h1", src=NODE4)
    lab.owe("h1", malformed=5)
    lab.send("h4", result.but(version=2), to="h1", src=NODE4)
    lab.owe("h1", version=1)
    for check in (0, 0x1234):
        lab.send("h4", whole, to="h1", src=NODE4, check=check)
    lab.owe("h1", checksum=2)
    status = result.but(kind=w.STATUS, flags=0, union=bytes(4), opseq=0, sig=0, body=bytes(16))
    error = status.but(kind=w.ERROR,
                       body=struct.pack("!QII", lab.next, 1, 0) + struct.pack("!HH", 1,
                                                                              0) + bytes(76))
    nack = status.but(kind=w.NACK, body=b"")
    partial = status.but(kind=w.PARTIAL, body=struct.pack("!HHI", 1, 32, 1))
    for p in (result, status, error, nack, partial):
        child = 0
        lab.send("h4", p.but(child=child), to="h1")             # not from the parent
        lab.send("h4", p.but(child=child), to="h1", v6=True)
        lab.send("h4", p.but(child=child, cookie=p.cookie ^ 1), to="h1", src=NODE4)
        lab.send("h4", p.but(child=child, cookie=lab.up[0][0].cookie), to="h1", src=NODE4)
        lab.send("h4", p.but(child=child, epoch=p.epoch + 1), to="h1", src=NODE4)
        lab.send("h4", p.but(child=child, tree=1), to="h1", src=NODE4)
        lab.send("h4", p.but(child=child, incarnation=p.incarnation ^ 1), to="h1", src=NODE4)
        lab.send("h4", p.but(child=child, group=p.group ^ 1), to="h1", src=NODE4)
    lab.owe("h1", port=10, cookie=10, epoch=10, no_group=10)
    lab.send("h4", status.but(child=1), to="h1", src=NODE4)     # for a rank that is not here
    lab.owe("h1", no_group=1)
    lab.audit()
    lab.work()


@test("host: the same at the port that its rank sends from")
def t_host_answers(lab):
    result = lab.down[0][-1]
    other = result.but(group=result.group ^ 1 << RNG.randrange(32))
    to_rank = {"to": "h1", "src": NODE4, "sport": w.PORT, "dport": lab.port["h1"]}
    for n in (0, 1, 47):
        lab.send("h4", result.pack()[:n], **to_rank)
    lab.owe("h1", malformed=3)
    for size in (0, 64, 1024):
        # of a damaged packet nobody knows the group
        for p in (result, other):
            lab.send("h4", p.but(body=bytes(size), len=None), check=0x1234, **to_rank)
    lab.owe("h1", checksum=6)
    lab.send("h4", other, **to_rank)
    lab.owe("h1", no_group=1)
    lab.send("h4", result.but(cookie=result.cookie ^ 1), **to_rank)
    lab.owe("h1", cookie=1)
    for port in {"sport": w.PORT + 1}, {"dport": lab.port["h1"] ^ 1}:
        # no answer, or no rank's port: not INC's
        lab.send("h4", other, **{**to_rank, **port})
    lab.audit()
    lab.work()


@test("host: forged READY, REFUSE, CHALLENGE, WAIT and MOVE")
def t_host_control(lab):
    base = lab.probe(cookie=RNG.randrange(1 << 64))
    ready = base.but(kind=w.READY, epoch=base.epoch + 1, body=bytes(w.MIN_BODY[w.READY]))
    refuse = base.but(kind=w.REFUSE, body=struct.pack("!IHHQ", 0, w.UNKNOWN, 0, 0))
    challenge = base.but(kind=w.CHALLENGE, body=bytes(16))
    wait = base.but(kind=w.WAIT, body=bytes(16))
    for p in (ready, refuse, refuse.but(cookie=lab.down[0][0].cookie), challenge, wait):
        lab.send("h4", p, to="h1", src=NODE4)
    lab.owe("h1", no_group=5)       # their nonces are nobody's
    for p in (ready, refuse, challenge, wait):
        lab.send("h4", p, to="h1")
    lab.owe("h1", no_group=4)
    for kind in (w.STATUS, w.NACK, w.PEERS):
        lab.send("h4",
                 base.but(kind=kind, cookie=lab.down[0][0].cookie,
                          body=bytes(w.MIN_BODY.get(kind, 0))), to="h1")
    lab.owe("h1", port=3)
    move = base.but(kind=w.MOVE, body=w.move_body(RNG.randrange(1 << 64), 1))
    lab.send("h4", move, to="h1", src=NODE4)
    # nobody calls a rank whose group has no fallback
    lab.send("h4", move, to="h1", src=lab.ip["h2"])
    lab.owe("h1", no_group=2)
    # with the rank's own cookie
    unknown = lab.probe(kind=w.REFUSE, body=struct.pack("!IHHQ", 0, 99, 0, 0))
    lab.send("h4", unknown, to="h1", src=NODE4)
    lab.owe("h1", malformed=1)
    lab.audit()
    lab.work()


@test("host: replayed results, and forged ones for the block that is under way")
def t_host_results(lab):
    old = list(lab.down[0])
    for p in old:
        lab.send("h4", p, to="h1", src=NODE4)
    lab.owe("h1", duplicate=len(old))
    lab.send("h4", old[-1].but(psn=lab.next + 5), to="h1", src=NODE4)
    lab.owe("h1", ahead=1)
    lab.audit("h1")
    lab.taps["h1"].frames()
    lab.k += 1
    handles = lab.job.begin((0,), 700, lab.k)
    sent = []
    wait_until(lambda: sent.extend(lab.taps["h1"].packets(w.CONTRIB)) or sent,
               "rank 0 has contributed")
    mine = sent[0]
    forged = mine.but(kind=w.RESULT, child=0, cookie=lab.down[0][0].cookie)
    for bad in (forged.but(sig=forged.sig ^ 1), forged.but(opseq=forged.opseq + 1),
                forged.but(len=None, body=forged.body[:-4]), forged.but(cookie=forged.cookie ^ 1)):
        lab.send("h4", bad, to="h1", src=NODE4)
    lab.owe("h1", mismatch=3, cookie=1)
    lab.audit("h1")
    handles.update(lab.job.begin((1, 2), 700, lab.k))
    lab.job.end(handles, 700, lab.k)
    lab.settle()
    lab.audit()
    lab.work()


@test("host: packets for a node where there is none")
def t_no_node(lab):
    lab.taps["h4"].frames()
    before = {ns: abi.counters(ns) for ns in ("h4",)}
    join = w.Packet(w.JOIN, group=lab.group, body=w.join_body(lab.group, 0, 3, 77))
    abort = lab.probe(kind=w.ABORT, body=bytes(96))
    for p in (lab.contrib(), lab.probe(), abort, join):
        lab.send("h4", p, to="h2")
    lab.owe("h2", no_node=4)
    lab.audit("h2")
    answers = []
    wait_until(lambda: answers.extend(lab.taps["h4"].packets(w.REFUSE, outgoing=False))
               or len(answers) >= 3,
               lambda: f"three REFUSEs: {len(answers)}")
    equal([struct.unpack_from("!H", p.body, 4)[0] for p in answers],
          [w.UNKNOWN, w.UNKNOWN, w.NO_NODE], "REFUSEs")
    # a box without node and rank: nobody is at home
    for p in (lab.contrib(), join):
        lab.send("h1", p, to="h4")
    equal(abi.counters("h4"), before["h4"], "counters of a box that has nothing to do with INC")
    lab.audit()
    lab.work()


# All of it at once

def catalogue(lab):
    """
    Packets that are wrong in one way each, whatever the job does meanwhile: where they come from,
    why they go.
    """
    good, probe = lab.contrib(), lab.probe()
    return (("malformed", "h1", good.but(span=0), {}), ("malformed", "h1", good.pack()[:50], {}),
            ("malformed", "h4", probe.but(body=bytes(4)), {}),
            ("version", "h4", good.but(version=7), {}),
            ("checksum", "h1", good, {"check": 0x4321}), ("checksum", "h4", good, {"check": 0}),
            ("cookie", "h1", good.but(cookie=RNG.randrange(1 << 64)), {}),
            ("cookie", "h4", probe.but(cookie=RNG.randrange(1 << 64)), {"src": lab.ip["h1"]}),
            ("port", "h4", good, {"src": lab.ip["h1"]}),
            ("port", "h1", probe, {"src": "10.7.0.99"}),
            ("child", "h4", good.but(child=77), {}),
            ("epoch", "h1", good.but(epoch=good.epoch + 1), {}),
            ("no_group", "h4", good.but(group=good.group ^ 1), {}),
            ("no_group", "h4", probe.but(kind=w.MOVE, body=bytes(16)), {}))


@test("node: all at random beside operations under way")
def t_storm(lab):
    attacks = catalogue(lab)
    for k in range(8):
        handles = lab.job.begin((0, 1, 2), 20000, k)
        for reason, ns, packet, how in RNG.choices(attacks, k=60):
            lab.send(ns, packet, **how)
            lab.owe("sw", **{reason: 1})
        lab.job.end(handles, 20000, k)
    lab.settle()
    lab.audit()
    lab.work()


@test("node: the same beside a job of its own, which ends well")
def t_job(lab):
    group, programs, seed = lab.group ^ 0x7777, [], RNG.randrange(1000)
    lab.taps["h1"].frames()
    for rank, ns in enumerate(MEMBERS):
        args = (f"inc-allreduce --group {group} --rank {rank} --size 3 "
                f"--count 0,1,353,20000 --iters 20 --quiet")
        programs.append(subprocess.Popen(["ip", "netns", "exec", ns, *args.split(), "--seed",
                                          str(seed)],
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                         text=True))
    try:
        t_job_attack(lab, group, programs)
        for program in programs:
            said = program.communicate(timeout=60)[0]
            equal((program.returncode, said), (0, ""), f"end of {' '.join(program.args)}")
    finally:
        for program in programs:
            program.kill()
    lab.settle()
    # once the group has gone, what was for it is for nobody
    owed, got = lab.ledger["sw"], abi.drops("sw")
    names = ["drop_cookie", "drop_port", "drop_child", "drop_epoch", "drop_no_group"]
    equal(sum(got.get(n, 0) for n in names), sum(owed.get(n, 0) for n in names),
          "packets dropped for their names")
    owed.update({n: got.get(n, 0) for n in names})
    lab.left(*MEMBERS)
    lab.audit()
    lab.work()


def t_job_attack(lab, group, programs):
    known = []

    def seen():
        known.extend(p
                     for p in lab.taps["h1"].packets(w.CONTRIB) if p.group == group
                     and p.child == 0)
        return known

    wait_until(seen, "the job has begun")
    mine = lab.up
    lab.up = (known, known, known)
    lab.next = known[-1].psn
    attacks = catalogue(lab)
    lab.up = mine
    sent = 0
    while any(program.poll() is None for program in programs) and sent < 3000:
        for reason, ns, packet, how in RNG.choices(attacks, k=20):
            lab.send(ns, packet, **how)
            lab.owe("sw", **{reason: 1})
        sent += 20


@test("node: the inc tool shows the same counters")
def t_tool(lab):
    del lab
    for ns in ("sw", "h1"):
        shown = abi.show(ns, "stats")
        equal({k: v for k, v in shown.items() if k.startswith("drop_") and v}, abi.drops(ns),
              f"counters of {ns}")


@test("node: after all this the job leaves as usual")
def t_leave(lab):
    lab.job.close()
    wait_until(lambda: not abi.groups("sw"), "no group is left", 30)
    for ns in MEMBERS:
        equal(abi.groups(ns), [], f"groups of {ns}")


abi.main(Lab())
