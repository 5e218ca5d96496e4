# SPDX-License-Identifier: GPL-2.0-only
"""
Limits, each met where it is to be met, with its errno, and given back to the last byte: sockets,
operations and their memory, pinned memory, groups, slots, held packets; what one peer may have of a
node. Started by 17-limits.sh.
"""
import errno
import json
import os
import select
import socket
import subprocess

import inc_abi as abi
from inc_abi import Job, Rank, equal, fails, test, wait_until
from inc_limits import NOBODY, Limit, accounts, all_back, enter, one, use
from inc_proc import beside, ended, libc, new_group

NEWUSER = 0x10000000


class Lab:
    def __init__(self):
        self.ranks = []

    def recover(self):
        for rank in self.ranks:
            rank.close()
        self.ranks = []
        abi.tool("inc", "-n", "sw", "node", "set", "dev", "br0", "max-groups", "64")


@test("limits: nothing is in use, nobody meets a default")
def t_defaults(lab):
    del lab
    all_back()
    scopes = [(a["scope"], a.get("uid")) for a in accounts("h1")]
    equal(scopes, [("netns", None), ("user", 0)], "accounts")
    for account in accounts("h1"):
        for name, v in account.items():
            if (isinstance(v, dict)
                and (v["refused"] or v["max"] < (1 << 26 if name.endswith("memory") else 4096))):
                raise AssertionError(f"{name}: {v}")


@test("limits: answers to those who want to join")
def t_answers(lab):
    del lab
    with Limit("sw", "answers", 0) as limit:
        before = one("sw", "answers")["refused"]
        rank = Rank("h1")
        rank.start(new_group(), 0, 1)
        wait_until(lambda: one("sw", "answers")["refused"] > before + 2, "JOINs are not answered")
        equal((rank.poll(select.POLLOUT, 0), abi.groups("sw")), (0, []),
              "events of the rank, and groups at the node")
        limit.set(10240)
        rank.joined()
        rank.close()
    all_back()


@test("limits: sockets, of a namespace and of a user")
def t_sockets(lab):
    del lab
    with Limit("h1", "sockets", 2):
        before = one("h1", "sockets")["refused"]
        a, b = Rank("h1"), Rank("h1")
        fails(errno.ENOBUFS, Rank, "h1")
        equal(one("h1", "sockets")["refused"], before + 1, "refused")
        equal((use("h1", "sockets"), use("h2", "sockets"), use("h1", "sockets", 0)), (2, 0, 2),
              "sockets")
        Rank("h2").close()
        a.close()
        Rank("h1").close()
        b.close()
    with Limit("h1", "sockets", 1, user=True):
        a = Rank("h2")
        fails(errno.EDQUOT, Rank, "h1")
        equal(use("h1", "sockets"), 0, "sockets of a namespace after its user has been refused one")

        def somebody_else():
            enter("h1")
            os.setuid(NOBODY)
            sock = socket.socket(abi.family(), socket.SOCK_SEQPACKET, 0)
            fails(errno.EDQUOT, Rank)
            sock.close()

        abi.family()
        equal(ended(beside(somebody_else)), 0, "another user's status")
        a.close()
    all_back()


@test("limits: who makes a user namespace is the user of all in it")
def t_userns(lab):
    del lab
    abi.family()
    go, done = os.pipe(), os.pipe()

    def inside():
        enter("h1")
        os.setuid(NOBODY)
        if libc.unshare(NEWUSER):
            raise OSError(abi.ctypes.get_errno(), "unshare")
        sock = socket.socket(abi.family(), socket.SOCK_SEQPACKET, 0)
        os.write(done[1], b"x")
        os.read(go[0], 1)
        sock.close()

    pid = beside(inside)
    os.read(done[0], 1)
    got = use("h1", "sockets", NOBODY)
    os.write(go[1], b"x")
    equal(ended(pid), 0, "status of who is inside")
    equal(got, 1, "sockets of the one who has made the namespace")
    for fd in go + done:
        os.close(fd)
    all_back()


@test("limits: operations, and the next one works")
def t_operations(lab):
    del lab
    job = Job(new_group(), ("h1", "h2"))
    with Limit("h1", "operations", 2):
        handles = [job.begin((0,), 700, k) for k in range(2)]
        equal(use("h1", "operations"), 2, "operations")
        fails(errno.ENOBUFS, job.begin, (0,), 700, 2)
        for k in range(2):
            handles[k].update(job.begin((1,), 700, k))
            job.end(handles[k], 700, k)
        job.run(700, 3)
    with Limit("h1", "operations", 0, user=True):
        fails(errno.EDQUOT, job.begin, (0,), 700, 4)
    equal((use("h1", "operations"), use("h1", "op_memory"), use("h1", "op_memory", 0)), (0, 0, 0),
          "after errors")
    job.run(700, 5)
    job.close()
    all_back()


@test("limits: kernel memory of operations")
def t_op_memory(lab):
    del lab
    job = Job(new_group(), ("h1", "h2"))
    handles = job.begin((0,))
    needed = use("h1", "op_memory")
    handles.update(job.begin((1,)))
    job.end(handles)
    equal(needed > 500, True, f"memory of an operation ({needed})")
    # each of its parts is the one that is too much
    with Limit("h1", "op-memory", 0) as limit:
        for n in range(0, needed, max(needed // 6, 1)):
            limit.set(n)
            fails(errno.ENOBUFS, job.begin, (0,))
            equal((use("h1", "op_memory"), use("h1", "operations")), (0, 0), "after that")
        limit.set(needed - 1)
        fails(errno.ENOBUFS, job.begin, (0,))
        limit.set(needed)
        handles = job.begin((0,), 1000, 1)
        handles.update(job.begin((1,), 1000, 1))
        job.end(handles, 1000, 1)
    with Limit("h1", "op-memory", 10, user=True):
        fails(errno.EDQUOT, job.begin, (0,), 700, 4)
    job.run(700, 7)
    job.close()
    all_back()


@test("limits: pinned memory: shorter pieces, then an error")
def t_pinned(lab):
    del lab
    job = Job(new_group(), ("h1", "h2"))
    for user in False, True:
        with Limit("h1", "pinned-memory", 65536, user):
            handle = job.ranks[0].allreduce(job.values(0, 60000, 1))
            most = use("h1", "pinned_memory", 0 if user else None)
            equal(0 < most <= 65536, True, f"pinned: {most}")
            # the other rank needs its own
            if not user:
                job.end({0: handle, **job.begin((1,), 60000, 1)}, 60000, 1)
        if user:
            job.end({0: handle, **job.begin((1,), 60000, 1)}, 60000, 1)
        wait_until(lambda: not use("h1", "pinned_memory"), "nothing is pinned")
        with Limit("h1", "pinned-memory", 4096, user):
            fails(errno.EDQUOT if user else errno.ENOBUFS, job.begin, (0,), 60000, 2)
        equal((use("h1", "pinned_memory"), use("h1", "op_memory")), (0, 0), "after the error")
        job.run(60000, 3)
    job.close()
    all_back()


def lone(ns, parent=abi.NODE4, scope=0):
    """A rank that waits for another one, which will not come; or an OSError."""
    rank = Rank(ns)
    rank.start(new_group(), 0, 2, parent=parent, scope=scope)

    def heard():
        return rank.info()["state"] in (abi.WAITING, abi.FAILED)

    wait_until(heard, "the node has answered")
    if rank.info()["state"] == abi.WAITING:
        return rank
    error = rank.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    rank.close()
    raise OSError(error, os.strerror(error))


@test("limits: groups and their slots, of the node's namespace and its owner")
def t_groups(lab):
    job = Job(new_group(), ("h1", "h2"))
    bytes_of_one = use("sw", "slot_memory")
    equal(use("sw", "groups"), 1, "groups")
    for user in False, True:
        with Limit("sw", "groups", 2, user):
            lab.ranks = [lone("h1")]
            fails(errno.ENOSPC, lone, "h2")
            lab.ranks.pop().close()
            wait_until(lambda: use("sw", "groups") == 1, "the group goes")
        with Limit("sw", "slot-memory", bytes_of_one + 1000, user):
            fails(errno.ENOSPC, lone, "h2")
        with Limit("sw", "slot-memory", 2 * bytes_of_one, user):
            lab.ranks = [lone("h2")]
            lab.ranks.pop().close()
            wait_until(lambda: use("sw", "groups") == 1, "the group goes")
    equal(use("sw", "slot_memory"), bytes_of_one, "slot memory")
    job.run()
    job.close()
    all_back()


@test("limits: one peer, or port, cannot have all groups of a node")
def t_peer(lab):
    abi.tool("inc", "-n", "sw", "node", "set", "dev", "br0", "max-groups", "8")
    job = Job(new_group(), ("h1", "h2"))                        # does not count as one peer's
    for parent in abi.NODE4, abi.NODE6:                         # from two addresses
        lab.ranks += [lone("h1", parent), lone("h1", parent)]
        fails(errno.ENOSPC, lone, "h1", parent)
    # and a third one: half of all groups are behind this port now
    link = json.loads(abi.tool("ip", "-n", "h1", "-j", "link", "show", "eth0"))[0]
    fails(errno.ENOSPC, lone, "h1", "fe80::ff:fe00:7fe", link["ifindex"])
    lab.ranks += [lone("h2"), lone("h2"), lone("h3")]           # others form theirs: eight in all
    fails(errno.ENOSPC, lone, "h3")
    job.run()
    job.close()
    lab.recover()
    all_back()


@test("limits: nor all of the memory that there is for them")
def t_peer_memory(lab):
    job = Job(new_group(), ("h1", "h2"))                        # does not count as one peer's
    bytes_of_one = use("sw", "slot_memory")
    with Limit("sw", "slot-memory", 8 * bytes_of_one):
        for parent in abi.NODE4, abi.NODE6:                     # from two addresses
            lab.ranks += [lone("h1", parent), lone("h1", parent)]
            fails(errno.ENOSPC, lone, "h1", parent)
        link = json.loads(abi.tool("ip", "-n", "h1", "-j", "link", "show", "eth0"))[0]
        # and a third one: half of the memory is for what came by this port now
        fails(errno.ENOSPC, lone, "h1", "fe80::ff:fe00:7fe", link["ifindex"])
        lab.ranks += [lone("h2"), lone("h2"), lone("h3")]       # others form theirs: eight in all
        fails(errno.ENOSPC, lone, "h3")
        job.run()
    with Limit("sw", "slot-memory", 1):
        fails(errno.ENOSPC, lone, "h1")
    job.close()
    lab.recover()
    wait_until(lambda: not use("sw", "slot_memory"), "the groups go")
    # the only one of a peer may be as large as all that there is
    with Limit("sw", "slot-memory", bytes_of_one):
        lab.ranks = [lone("h1")]
    lab.recover()
    all_back()


@test("limits: held packets: none may be kept, and all is right")
def t_held(lab):
    del lab
    job = Job(new_group(), ("h1", "h2", "h3"))
    for user in False, True:
        with Limit("sw", "held-memory", 0, user):
            refused = one("sw", "held_memory", 0 if user else None)["refused"]
            job.run(20000, 1)
            if one("sw", "held_memory", 0 if user else None)["refused"] == refused:
                raise AssertionError("the limit was not met")
    job.run(20000, 2)
    job.close()
    all_back()


@test("limits: what is in use stays when the limit sinks")
def t_sinks(lab):
    del lab
    job = Job(new_group(), ("h1", "h2"))
    with Limit("h1", "sockets", 0), Limit("sw", "groups", 0), Limit("sw", "slot-memory", 0):
        job.run()
        fails(errno.ENOBUFS, Rank, "h1")
    job.close()
    all_back()


@test("limits: a namespace's are its administrator's, users' the machine's")
def t_permission(lab):
    del lab

    def nobody():
        enter("h1")
        os.setuid(NOBODY)
        abi.tool("inc", "limits", "show")
        try:
            abi.tool("inc", "limits", "set", "sockets", "1")
        except AssertionError:
            return
        raise AssertionError("nobody has changed a limit")

    equal(ended(beside(nobody)), 0, "status of nobody")
    own = """
        inc limits set sockets 0 groups 99999999999
        inc limits show | grep -q 'sockets *0 of 0'
        inc limits show | grep -q 'groups *0 of 99999999999'
        ! inc limits set user sockets 100000"""
    done = subprocess.run(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY),
                           "--clear-groups", "unshare", "--user", "--map-root-user", "--net",
                           "sh", "-ec", own], stderr=subprocess.PIPE, text=True, check=False)
    equal((done.returncode, done.stderr),
          (0, "inc: limits set: user: needs CAP_NET_ADMIN in the initial user "
              "namespace\n"), "root of a namespace of its own")
    equal(one("h1", "sockets")["max"], 4096, "sockets of h1")


abi.main(Lab())
