# SPDX-License-Identifier: GPL-2.0-only
"""
Tenants: whose a rank is by prefix, port and key; quotas of groups, slots, memory and processor
time; one tenant who takes all that he can get beside another. Started by 31-tenants.sh: h1 to h4 at
one node.
"""
import errno
import os
import re
import signal
import subprocess
import tempfile
import time

import inc_abi as abi
from inc_abi import Job, Rank, equal, fails, sockaddr, test, tool, wait_until
from inc_clock import Clock
from inc_proc import beside, new_group

NODE6 = "fd00:7::fe"
KEY = bytes(range(16))
SHRINK = 1                                                      # INC_SA_SHRINK


def tenant(*words):
    tool("inc", "-n", "sw", "tenant", *words)


def shown():
    return {t["name"]: t for t in abi.show("sw", "tenant")}


def refused(words, text):
    """The tool must fail with this text, and change nothing."""
    before = shown()
    done = subprocess.run(["inc", "-n", "sw", "tenant", *words], stderr=subprocess.PIPE, text=True,
                          check=False)
    equal((done.returncode, done.stderr), (2, f"inc: tenant {words[0]}: {text}\n"),
          f"inc tenant {' '.join(words)}")
    equal(shown(), before, "tenants after that")


def cannot_join(err, ns, group=None, rank=0, size=2, key=None, **options):
    """Nobody waits for a rank that is refused."""
    one = Rank(ns)
    try:
        if key:
            one.set_key(key)
        fails(err, one.connect,
              sockaddr(new_group() if group is None else group, rank, size, **options))
    finally:
        one.close()


def owner(group):
    return [g.get("tenant")
            for g in abi.show("sw", "group") if g["group"] == group and g["role"] == "node"]


class Lab:
    def __init__(self):
        self.jobs = []

    def job(self, hosts, **options):
        job = Job(new_group(), hosts, **options)
        self.jobs.append(job)
        return job

    def recover(self):
        for job in self.jobs:
            job.close()
        self.jobs = []
        wait_until(lambda: not abi.groups("sw"), lambda: f"groups are gone: {abi.groups('sw')}")
        for name in shown():
            tenant("del", name)


def clean(function):
    """No tenant and no group is there before and after it."""
    def run(lab):
        lab.recover()
        function(lab)
        lab.recover()
        equal(shown(), {}, "tenants left")
    return run


@test("without tenants everybody may join, and groups are nobody's")
@clean
def t_none(lab):
    job = lab.job(("h1", "h4"))
    job.run()
    equal(owner(job.group), [None], "tenants of the group")


@test("tenants are added, set, shown in order and deleted; what is wrong is refused with the value")
@clean
def t_config(lab):
    del lab
    tenant("add", "b", "from", "10.7.0.0/30,fd00:7::/64", "port", "p4,p2", "key", KEY.hex(),
           "max-groups", "3", "max-slots", "4096", "max-memory", "1M", "cpu", "25", "rate",
           "3500mbit")
    tenant("add", "a")
    got = abi.show("sw", "tenant")
    equal([t["name"] for t in got], ["b", "a"], "names")
    zero = {"groups": 0, "slots": 0, "memory": 0, "cpu_nsec": 0, "bytes": 0, "refused_groups": 0,
            "refused_slots": 0, "refused_memory": 0, "refused_cpu": 0, "refused_rate": 0}
    ports = got[0].pop("ports")
    equal([p["dev"] for p in ports], ["p4", "p2"], "ports")
    equal(got[0],
          {"name": "b", "from": [{"addr": "10.7.0.0", "len": 30}, {"addr": "fd00:7::", "len": 64}],
           "keyed": True, "max_groups": 3, "max_slots": 4096, "max_memory": 1 << 20, "cpu": 25,
           "rate": 3500000000, **zero},
          "tenant b")
    equal(got[1],
          {"name": "a", "from": [], "ports": [], "keyed": False, "max_groups": 65536,
           "max_slots": 1 << 29, "max_memory": 1 << 40, "cpu": 0, "rate": 0, **zero}, "tenant a")
    tenant("set", "b", "from", "any", "port", "any", "key", "none", "cpu", "0", "rate", "none")
    b = shown()["b"]
    equal((b["from"], b["ports"], b["keyed"], b["cpu"], b["rate"], b["max_groups"]),
          ([], [], False, 0, 0, 3), "tenant b, changed")
    refused(("add", "a"), "tenant a: is there already; `set` changes it")
    refused(("set", "c", "cpu", "5"), "tenant c: there is none of that name")
    refused(("del", "c"), "tenant c: there is none of that name")
    refused(("add", "c", "port", "no-such-dev"),
            "port no-such-dev: no such interface in this network namespace")
    tenant("del", "b")
    tenant("del", "a")


@test("a tenant is replaced: it is as if it were new, and keeps its groups, counters and place")
@clean
def t_replace(lab):
    tenant("replace", "a", "max-memory", "1G")
    tenant("add", "b")
    job = lab.job(("h1", "h2"))
    job.run(n=20000)
    before = shown()["a"]
    assert before["bytes"] and before["max_memory"] == 1 << 30, before
    tenant("set", "a", "from", "10.7.0.0/30", "port", "p1,p2", "key", KEY.hex(), "max-groups", "3",
           "max-slots", "4096", "cpu", "25", "rate", "3500mbit")
    tenant("replace", "a", "max-groups", "2")
    equal([t["name"] for t in abi.show("sw", "tenant")], ["a", "b"], "the order of tenants")
    now = shown()["a"]
    for count in "bytes", "cpu_nsec":                           # the group goes on
        assert now[count] >= before[count], f"{count}: {now}, before {before}"
        before[count] = now[count]
    equal(now, {**before, "max_groups": 2, "max_memory": 1 << 40}, "tenant a, replaced")
    job.run(k=1)
    lab.job(("h3", "h4")).run()
    equal((shown()["a"]["groups"], shown()["b"]["groups"]), (2, 0), "groups")
    cannot_join(errno.EDQUOT, "h1")
    tool("inc", "-n", "sw", "node", "replace", "dev", "br0")
    job.run(k=2)


@test("by prefix: ranks join what is their tenant's and nothing else")
@clean
def t_prefix(lab):
    tenant("add", "a", "from", "10.7.0.2/31,10.7.0.1")
    tenant("add", "b", "from", "10.7.0.4/32,fd00:7::4", "max-memory", "64K")
    ours = lab.job(("h1", "h2", "h3"))
    equal(owner(ours.group), ["a"], "tenant of the group")
    equal((shown()["a"]["groups"], shown()["b"]["groups"]), (1, 0), "groups of the tenants")
    ours.run()
    # a group of b's own, which has the same number
    cannot_join(errno.EDQUOT, "h4", ours.group, 2, 3)
    tenant("set", "b", "max-memory", "1G")
    cannot_join(errno.EPERM, "h1", parent=NODE6)                # no prefix of IPv6 is a's
    lab.job(("h4", "h4"), parent=NODE6).run()
    tenant("set", "b", "from", "fd00:7::/127")
    cannot_join(errno.EPERM, "h4")
    tenant("set", "b", "from", "0.0.0.0/0")
    lab.job(("h4", "h4")).run()
    same = Job(ours.group, ("h4", "h4"))
    lab.jobs.append(same)
    equal(sorted(owner(ours.group)), ["a", "b"], "tenants of the groups with this number")
    for k in range(5):
        same.run(k=k)
        ours.run(k=k + 1)
    # whoever fits the first tenant is his, also where a later one fits as well
    equal(owner(lab.job(("h2", "h1")).group), ["a"], "tenant of another group")


@test("by the bridge's port")
@clean
def t_port(lab):
    tenant("add", "left", "port", "p1,p2")
    tenant("add", "right", "port", "p3")
    equal(owner(lab.job(("h1", "h2")).group), ["left"], "tenant of the group on the left")
    equal(owner(lab.job(("h3", "h3")).group), ["right"], "tenant of the group on the right")
    cannot_join(errno.EPERM, "h4")


@test("by key: the tenant's own, or the node's")
@clean
def t_key(lab):
    tenant("add", "open", "from", "10.7.0.1")
    tenant("add", "secret", "key", KEY.hex())
    lab.job(("h1", "h1")).run()
    cannot_join(errno.EACCES, "h2")
    cannot_join(errno.EACCES, "h2", key=bytes(16))
    cannot_join(errno.EACCES, "h2", key=KEY[::-1])
    # h1 has not proved the node's key, but this one
    job = lab.job(("h2", "h3", "h1"), key=KEY)
    equal(owner(job.group), ["secret"], "tenant of the group")
    job.run()
    tool("inc", "-n", "sw", "node", "set", "dev", "br0", "key", KEY[::-1].hex())
    try:
        cannot_join(errno.EACCES, "h1")
        lab.job(("h1", "h1"), key=KEY[::-1]).run()
        lab.job(("h1", "h2"), key=KEY).run()
    finally:
        tool("inc", "-n", "sw", "node", "set", "dev", "br0", "key", "none")


@test("quota of groups: refused with the reason, counted, and given back")
@clean
def t_groups(lab):
    tenant("add", "a", "from", "10.7.0.0/31", "max-groups", "2")
    tenant("add", "b")
    first, second = lab.job(("h1", "h1")), lab.job(("h1", "h1"))
    cannot_join(errno.EDQUOT, "h1")
    assert shown()["a"]["refused_groups"] >= 1, shown()
    lab.job(("h2", "h3")).run()
    first.run()
    second.close()
    wait_until(lambda: shown()["a"]["groups"] == 1, "the group is given back")
    lab.job(("h1", "h1")).run()
    equal(shown()["a"]["groups"], 2, "groups")
    tenant("set", "a", "max-groups", "1")
    cannot_join(errno.EDQUOT, "h1")
    first.run(k=2)


@test("quota of slots: twice the window for each group; refused, counted, and given back")
@clean
def t_slots(lab):
    tool("inc", "-n", "sw", "node", "set", "dev", "br0", "window", "64")
    try:
        tenant("add", "a", "max-slots", str(2 * 2 * 64 - 1))
        first = lab.job(("h1", "h2"))
        equal(shown()["a"]["slots"], 128, "slots of a group")
        cannot_join(errno.EDQUOT, "h3")
        assert shown()["a"]["refused_slots"] >= 1, shown()
        equal((shown()["a"]["slots"], shown()["a"]["groups"]), (128, 1),
              "what a refusal leaves behind")
        tenant("set", "a", "max-slots", str(2 * 2 * 64))
        second = lab.job(("h3", "h4"))
        equal(shown()["a"]["slots"], 256, "slots of two groups")
        first.run()
        second.run()
        first.close()
        second.close()
        wait_until(lambda: shown()["a"]["slots"] == 0, "the slots are given back")
    finally:
        tool("inc", "-n", "sw", "node", "set", "dev", "br0", "window", "512")


@test("quota of memory: what a group needs is reserved, what is held beyond that is bounded")
@clean
def t_memory(lab):
    tenant("add", "a", "max-memory", "64K")
    cannot_join(errno.EDQUOT, "h1")
    assert shown()["a"]["refused_memory"] >= 1, shown()
    tenant("set", "a", "max-memory", "1G")
    job = lab.job(("h1", "h2", "h3"))
    need = shown()["a"]["memory"]
    assert need > 65536, f"{need} bytes are reserved"
    tenant("set", "a", "max-memory", str(need + 65536))
    before = shown()["a"]["refused_memory"]
    early = job.begin((0, 1), n=200000)                         # all of it waits for rank 2
    wait_until(lambda: shown()["a"]["refused_memory"] > before, "more is to be held than may be")
    assert shown()["a"]["memory"] <= need + 65536 + 3 * 4096, f"{shown()} of {need} + 64 KiB"
    job.end(early | job.begin((2,), n=200000), n=200000)
    job.close()
    wait_until(lambda: (shown()["a"]["groups"], shown()["a"]["memory"]) == (0, 0),
               lambda: f"all is given back: {shown()}")


class Busy:
    """Allreduces without an end, whose results are compared."""

    def __init__(self, hosts):
        group = new_group()
        self.programs = [subprocess.Popen(
            ["ip", "netns", "exec", ns, "inc-allreduce", "--group", str(group), "--rank",
             str(rank), "--size", str(len(hosts)), "--count", "30000", "--iters", "1000000",
             "--seed", "5"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                         for rank, ns in enumerate(hosts)]

    def stop(self):
        """They were still at it, and found no fault."""
        ended = [program.poll() for program in self.programs]
        for program in self.programs:
            program.kill()
        said = [program.communicate()[0] for program in self.programs]
        if (any(status is not None for status in ended)
            or any("expected" in text or "wrong" in text for text in said)):
            raise AssertionError(f"the job has ended ({ended}) or found fault: {said}")


def percent_used(tenant, nsec):
    """
    Of a processor, while this tenant works for @nsec. A packet is taken when nothing is owed,
    however long it takes then: what was shown last before his time grew once more had been given to
    him until then.
    """
    begin, seen = time.monotonic(), [shown()[tenant]["cpu_nsec"]]

    def reached():
        now = shown()[tenant]["cpu_nsec"]
        if now != seen[-1]:
            seen.append(now)
        return len(seen) > 2 and seen[-2] - seen[0] > nsec

    wait_until(reached, f"{nsec} ns of work")
    # what may be saved up comes on top: 50 ms of a processor, in part
    return 100 * (seen[-2] - seen[0]) / (1e9 * (time.monotonic() - begin + 2 * 0.05))


@test("share of the processor: a tenant gets no more, its results are right, the other does not notice")
@clean
def t_cpu(lab):
    del lab
    percent = 2
    tenant("add", "greedy", "from", "10.7.0.2/31", "cpu", str(percent))
    tenant("add", "other")
    jobs = [Busy(("h2", "h3")), Busy(("h1", "h4"))]
    try:
        wait_until(lambda: shown()["greedy"]["refused_cpu"] > 10
                   and shown()["other"]["cpu_nsec"] > 10 ** 7, "both work")
        before = shown()
        used = sorted(percent_used("greedy", 3 * 10 ** 7) for _ in range(5))
        after = shown()
    finally:
        for job in jobs:
            job.stop()
    greedy, other = (after[n]["cpu_nsec"] - before[n]["cpu_nsec"] for n in ("greedy", "other"))
    print(f"greedy {greedy / 1e6:.1f} ms, other {other / 1e6:.1f} ms, refused {after['greedy']['refused_cpu']}, %: {used}")
    # a machine that stands still in the midst of his packet spoils what was measured then, and not
    # most of it
    assert used[2] <= percent, f"he used {used} % of a processor, and may have {percent} %"
    equal(after["other"]["refused_cpu"], 0, "contributions of the other that were dropped")
    assert other > greedy, f"the other had {other} ns, no more than {greedy}"


@test("rate of contributions: a tenant gets no more, its results are right, the other does not notice")
@clean
def t_rate(lab):
    del lab
    rate = 8000000                                              # bits per second
    tenant("add", "greedy", "from", "10.7.0.2/31", "rate", "8mbit")
    tenant("add", "other")
    jobs = [Busy(("h2", "h3")), Busy(("h1", "h4"))]
    try:
        wait_until(lambda: shown()["greedy"]["bytes"] > rate / 8
                   and shown()["other"]["bytes"] > 10 ** 6, "both work")
        begin, before = time.monotonic(), shown()
        with Clock() as clock:
            goal = before["greedy"]["bytes"] + 2 * rate / 8
            wait_until(lambda: shown()["greedy"]["bytes"] > goal, "two seconds' bytes")
            used = clock.seconds()
        # read first, so that what came until then is less than what the clock had given until after
        # it
        after = shown()
        took = time.monotonic() - begin
        # one packet takes minutes; nothing of that is owed at another rate
        tenant("set", "greedy", "rate", "1kbit")
        wait_until(lambda: shown()["greedy"]["refused_rate"] > after["greedy"]["refused_rate"]
                   + 100, "he is held up")
        # of 16 in a row that say that no contribution has come, a rank concludes that none gets
        # through
        asked = abi.counters("h2")["statuses"]
        wait_until(lambda: abi.counters("h2")["statuses"] > asked + 24,
                   "he asks often what has become of them", 60)
        tenant("set", "greedy", "rate", "10gbit")
        slow = shown()["greedy"]["bytes"]
        wait_until(lambda: shown()["greedy"]["bytes"] - slow > 10 ** 6,
                   "he gets on at the new rate", 20)
    finally:
        for job in jobs:
            job.stop()
    greedy, other = (after[n]["bytes"] - before[n]["bytes"] for n in ("greedy", "other"))
    print(f"{took:.1f} s: greedy {greedy} bytes, other {other}, refused {after['greedy']['refused_rate']}")
    # what may be saved up comes on top, and the last packet may be longer than what is left
    assert greedy <= rate / 8 * (took + 0.05) + 70000, \
        f"{greedy} bytes in {took} s are more than {rate} bit/s"
    # he was held up by his rate, and by nothing else, and that was not less than he may have
    assert used < 8, f"{greedy} bytes took {used} s: the rate is not used"
    assert after["greedy"]["refused_rate"] > before["greedy"]["refused_rate"], "nothing was refused"
    equal(after["other"]["refused_rate"], 0, "contributions of the other that were dropped")
    assert other > greedy, f"the other had {other} bytes, no more than {greedy}"


@test("a tenant with all groups, memory and time that he can get leaves the other his")
@clean
def t_hostile(lab):
    tenant("add", "hostile", "port", "p3,p4", "max-groups", "8", "max-memory", "16M", "cpu", "3")
    tenant("add", "honest")
    honest = lab.job(("h1", "h2"))

    def flood():
        """Joins that never come to an end, as fast as they are answered."""
        while True:
            Rank("h3").start(new_group(), 0, 1024)

    jobs = [Busy(("h3", "h4")), Busy(("h4", "h3"))]
    pid = 0
    try:
        wait_until(lambda: shown()["hostile"]["refused_cpu"] > 10,
                   "he has met the limit of his time")
        pid = beside(flood)
        wait_until(lambda: shown()["hostile"]["refused_groups"]
                   + shown()["hostile"]["refused_memory"] > 10,
                   "he has met the others")
        for k in range(20):
            honest.run(n=20000, k=k)
        # the node takes new groups of others
        more = lab.job(("h1", "h2"))
        more.run()
        got = shown()
        equal((got["honest"]["groups"], got["honest"]["refused_groups"],
               got["honest"]["refused_memory"],
               got["honest"]["refused_cpu"]), (2, 0, 0, 0), "the honest one's groups and refusals")
        # what the groups have reserved is theirs also beyond the quota
        assert got["hostile"]["groups"] <= 8 and got["hostile"]["memory"] <= 20 << 20, \
            got["hostile"]
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for job in jobs:
            job.stop()


@test("ranks go on without one that has died, whatever numbers another tenant's groups have")
@clean
def t_shrink(lab):
    tenant("add", "a", "port", "p1,p2")
    tenant("add", "b")
    ours = lab.job(("h1", "h2", "h1"))
    others = Job(ours.group, ("h3", "h4"))
    lab.jobs.append(others)
    ours.ranks[2].close()
    handles = ours.begin((0, 1))
    for rank, handle in handles.items():
        equal(ours.ranks[rank].wait(handle).result, -errno.ECONNRESET, f"result of rank {rank}")
    ours.ranks[1].start(ours.group, 1, 3, flags=SHRINK)
    ours.ranks[0].connect(sockaddr(ours.group, 0, 3, flags=SHRINK))
    ours.ranks[1].joined()
    ours.ranks.pop()
    for k in range(3):
        ours.run(k=k)
        others.run(k=k)
    equal(sorted(set(owner(ours.group))), ["a", "b"], "tenants of the groups with this number")


@test("a tenant is deleted: its groups go on, and count for nobody")
@clean
def t_del(lab):
    tenant("add", "a")
    job = lab.job(("h1", "h2"))
    tenant("del", "a")
    job.run()
    equal((owner(job.group), shown()), (["a"], {}), "the group's tenant, and all tenants")
    tenant("add", "a")
    equal(shown()["a"]["groups"], 0, "groups of another of that name")
    other = Job(job.group, ("h3", "h4"))                        # his own, which has the same number
    lab.jobs.append(other)
    equal(shown()["a"]["groups"], 1, "groups after one has formed")
    other.run(k=2)
    job.run(k=1)


SHOWN = "limits", "tenant", "parent", "node", "qdisc"


def saved():
    """Tenants come before nodes: nobody joins who may not."""
    commands = tool("inc", "-n", "sw", "save")
    parts = [tool("inc", "-n", "sw", "-commands", what, "show") for what in SHOWN]
    equal(commands, "".join(parts), "inc save, and what each object shows with -c")
    return commands


def save_warns():
    done = subprocess.run(["inc", "-n", "sw", "save"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=True)
    return done.stderr


def configuration():
    """All that can be set, without what is in use."""
    text = "".join(tool("inc", "-n", "sw", "-j", what, "show") for what in SHOWN)
    return re.sub(r'"(use|refused|handle|cpu_nsec|bytes|memory)":("[^"]*"|[0-9]+),?', "", text)


@test("a node is saved as commands, and restored from them")
@clean
def t_save(lab):
    del lab
    tool("inc", "-n", "sw", "node", "set", "dev", "br0", "dead", "1500", "late", "250", "window",
         "128", "max-groups", "9", "max-memory", "3M", "fallback", "standby", "standby",
         "10.7.0.1,fd00:7::2", "parent", "fe80::9%br0", "port", "5228")
    tool("inc", "-n", "sw", "parent", "set", "10.7.0.3")
    tool("inc", "-n", "sw", "limits", "set", "groups", "77")
    tool("inc", "-n", "sw", "qdisc", "replace", "dev", "p1", "handle", "5:", "share", "55",
         "weight", "7:2,9:3", "rate", "100mbit")
    tenant("add", "z", "from", "10.7.0.0/24,fd00:7::/64", "port", "p1,p3", "max-groups", "5",
           "max-slots", "999", "max-memory", "1M", "cpu", "7", "rate", "40mbit")
    tenant("add", "a")
    before, commands = configuration(), saved()
    tool("inc", "-n", "sw", "node", "del", "dev", "br0")
    tool("inc", "-n", "sw", "parent", "del")
    tool("inc", "-n", "sw", "qdisc", "del", "dev", "p1")
    tool("inc", "-n", "sw", "limits", "set", "groups", "16384")
    for name in shown():
        tenant("del", name)
    assert configuration() != before, "all of it is still there"
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(commands)
        file.flush()
        tool("inc", "-n", "sw", "-b", file.name)
        equal(configuration(), before, f"what these commands restore:\n{commands}")
        # a service that is restarted runs them where all of it is there
        tool("inc", "-n", "sw", "node", "set", "dev", "br0", "dead", "1600", "parent", "none")
        tenant("set", "z", "from", "any", "cpu", "9")
        tenant("set", "a", "key", KEY.hex())
        tool("inc", "-n", "sw", "-b", file.name)
        equal(configuration(), before, f"what these commands change back:\n{commands}")
        # a key is not given away: nothing is restored without it
        equal(save_warns(), "", "warnings of inc save without keys")
        tenant("set", "a", "key", KEY.hex())
        equal(save_warns(), "inc: warning: save: there are keys, which the kernel does not give "
              "away: expected @FILE for each \"key ?\"\n", "warnings of inc save with a key")
        commands = tool("inc", "-n", "sw", "-commands", "tenant", "show")
        for name in shown():
            tenant("del", name)
        file.seek(0)
        file.truncate()
        file.write(commands)
        file.flush()
        done = subprocess.run(["inc", "-n", "sw", "-b", file.name], stderr=subprocess.PIPE,
                              text=True, check=False)
        equal((done.returncode, done.stderr),
              (1, "inc: tenant replace: key: expected 32 hex digits, @FILE or none, got 1 characters\n"
              f"inc: -b {file.name}: line 2 was the last\n"), "the tenant with a key")
        equal(list(shown()), ["z"], "tenants that have been restored")
    tool("inc", "-n", "sw", "parent", "del")
    tool("inc", "-n", "sw", "qdisc", "del", "dev", "p1")
    tool("inc", "-n", "sw", "limits", "set", "groups", "16384")
    tool("inc", "-n", "sw", "node", "del", "dev", "br0")
    tool("inc", "-n", "sw", "node", "add", "dev", "br0")


abi.main(Lab())
