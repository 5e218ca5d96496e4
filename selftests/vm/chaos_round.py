# SPDX-License-Identifier: GPL-2.0-only
"""
What chaos.py and chaos_tree.py share: jobs to which mishaps happen at random, one after the other
or several at once, and what is asked of them afterwards. CHAOS=SECONDS of it; a round is chosen by
a seed of its own, which is printed: ROUND=SEED repeats it alone.
"""
import collections
import json
import os
import random
import re
import signal
import subprocess
import time

from inc_abi import test, wait_until

SECONDS = int(os.environ.get("CHAOS", "20"))
WRONG = re.compile(r"got [0-9a-f ]+, expected|was overwritten")
LIMIT = 60          # seconds after the last mishap: many times the dead limit
# What a command says when something is away that it is about.
AWAY = re.compile("Cannot find device|does not exist|[Nn]o such|is no node|is away")


class Failed(Exception):
    """A mishap could not be brought about."""


def in_netns(ns):
    return ["-n", ns] if ns else []


def batch(tool, ns, *lines):
    """For what mends: it may be there again, or never have been away."""
    subprocess.run([tool, *in_netns(ns), "-force", "-batch", "-"], input="\n".join(lines) + "\n",
                   text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def ip(ns, *lines):
    batch("ip", ns, *lines)


def tc(ns, *lines):
    batch("tc", ns, *lines)


def inc(ns, *args):
    subprocess.run(["inc", "-n", ns, *args], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)


def do(*command):
    """For mishaps: they must come about. Returns what the command prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def do_batch(*lines, ns=None):
    """What sets up: all of it."""
    subprocess.run(["ip", *in_netns(ns), "-batch", "-"], input="\n".join(lines) + "\n", text=True,
                   check=True)


def do_ip(ns, line):
    do("ip", "-n", ns, *line.split())


def do_inc(ns, line):
    do("inc", "-n", ns, *line.split())


def nodes(ns):
    """What a namespace has of them, by their devices"""
    return {n["dev"]: n for n in json.loads(do("inc", "-n", ns, "-j", "node", "show"))}


def link(ns, dev):
    """None if there is none"""
    shown = subprocess.run(["ip", "-n", ns, "-d", "-j", "link", "show", "dev", dev],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    return json.loads(shown)[0] if shown.strip() else None


def is_up(ns, dev):
    return "UP" in link(ns, dev)["flags"]


def effect(seen, what):
    if not seen:
        raise AssertionError(f"no effect: {what}")


def comes(condition, what):
    """What needs its time, and does not come if another mishap is in its way."""
    end = time.monotonic() + 5
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"{what} is away")
        time.sleep(0.02)


def set_qdisc(ns, dev, what):
    do("tc", "-n", ns, "qdisc", "replace", "dev", dev, "root", *what.split())
    # Not as JSON, which plain tc does not know how to print the options of a qdisc inc as.
    shown = do("tc", "-n", ns, "qdisc", "show", "dev", dev, "root")
    effect(shown.startswith(f"qdisc {what.split()[0]} "), f"{dev} in {ns} has {what}: {shown}")


class Round:
    """
    One job, and what happens to it. Whoever derives from it says which mishaps there are, where its
    ranks run, and what they may be told (HARM).
    """
    HARM = re.compile("$^")

    def __init__(self, happened, seed):
        self.happened, self.rng, self.log = happened, random.Random(seed), []
        self.killed, self.undo, self.ranks = set(), [], []
        self.what = ""      # a mishap may say here to whom it has happened, and how
        self.group = self.rng.randrange(1 << 31)
        self.seed = self.rng.randrange(1 << 31)
        self.may_fail = True

    def mishaps(self):
        """The functions that may happen to this round; each returns what undoes it, or None."""
        raise NotImplementedError

    def namespace(self, rank):
        raise NotImplementedError

    def parent(self, rank):
        raise NotImplementedError

    def program(self, rank, size, group, *args):
        return subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.namespace(rank)}", "inc-coll", "--group", str(group),
             "--rank", str(rank), "--size", str(size), "--parent", self.parent(rank), "--timeout",
             "20000", "--quiet", "--seed", str(self.seed), "--max", "5000", "--flight", "8", *args],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def signal(self, name, rank=None):
        rank = self.rng.randrange(len(self.ranks)) if rank is None else rank
        if self.ranks[rank].poll() is not None:
            raise Failed(f"rank {rank} is away")
        self.ranks[rank].send_signal(getattr(signal, f"SIG{name}"))
        return rank

    def state(self, rank):
        """Of its process: T is stopped, Z has ended."""
        with open(f"/proc/{self.ranks[rank].pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0]

    def kill(self):
        rank = self.signal("KILL")
        self.killed.add(rank)
        effect(self.ranks[rank].wait(20) == -signal.SIGKILL, f"rank {rank} is killed")

    def stop(self):
        """Returns what lets it go on."""
        rank = self.signal("STOP")
        wait_until(lambda: self.state(rank) in "TZ", f"rank {rank} is stopped", 20)
        return lambda: self.ranks[rank].send_signal(signal.SIGCONT)

    def happen(self):
        """
        Some mishaps, one after the other or at once; each is over some time later, in any order.
        """
        for _ in range(self.rng.randrange(1, 6)):
            undo = self.bring_about(self.rng.choice(self.mishaps()))
            if undo:
                self.undo.append(undo)
            time.sleep(self.rng.choice((0, 0.05, 0.2, 0.7)))
            self.rng.shuffle(self.undo)
            while self.undo and self.rng.random() < 0.5:
                self.undo.pop()()

    def ended(self):
        return any(p.poll() is not None for p in self.ranks)

    def bring_about(self, function):
        """It must come about, unless one that is not over has taken away what it is about."""
        name, self.what = function.__name__, ""
        try:
            undo = function(self)
        except Failed as e:
            if not AWAY.search(str(e)) or not (self.undo or self.ended()):
                raise AssertionError(f"after {' '.join(self.log)}, {name}: {e}") from None
            self.log.append(f"({name})")
            return None
        self.log.append(name + self.what)
        self.happened[name] += 1
        return undo

    def over(self):
        while self.undo:
            self.undo.pop()()

    def healed(self):
        """Called when all is over, while the job may still be at work."""

    def run(self, size, ops, begun):
        """Returns what ranks were told that have failed."""
        self.ranks = [self.program(i, size, self.group, "--ops", str(ops)) for i in range(size)]
        try:
            wait_until(lambda: begun() or self.ended(), "the job has begun", 120)
            if not begun():
                raise AssertionError(f"ended before anything happened: {self.last_words()}")
            self.happen()
            self.over()
            self.healed()
            return self.ends()
        finally:
            self.over()
            for p in self.ranks:
                p.kill()
                p.communicate()

    def last_words(self):
        for p in self.ranks:
            p.kill()
        return [p.communicate()[0].strip() for p in self.ranks]

    def not_ended(self, rank, said):
        return f"rank {rank} does not end; those before it: {said}"

    def ends(self):
        said = []
        for i, p in enumerate(self.ranks):
            try:
                said.append(p.communicate(timeout=LIMIT)[0].strip())
            except subprocess.TimeoutExpired:
                raise AssertionError(self.not_ended(i, said)) from None
        for i, text in enumerate(said):
            if WRONG.search(text):
                raise AssertionError(f"rank {i} has a wrong result: {text}")
            other = [line for line in text.splitlines() if not self.HARM.search(line)]
            if other:
                raise AssertionError(f"rank {i} was told what no mishap explains: {other}")
            fine = (0, 1, -9) if i in self.killed else (0, 1)
            if self.ranks[i].returncode not in fine or (self.ranks[i].returncode == 1 and not text):
                raise AssertionError(f"rank {i} ended with {self.ranks[i].returncode}: {text}")
        failed = [text for p, text in zip(self.ranks, said) if p.returncode]
        if failed and not self.may_fail:
            raise AssertionError(f"failed, although nothing has done harm: {failed}")
        return failed


def chaos_test(name, kinds):
    """
    The test of a laboratory that has round(seed), which returns whether the job was told an error;
    @kinds: of mishaps, how many there are.
    """
    @test(name)
    def t_chaos(lab):
        if "ROUND" in os.environ:
            lab.round(int(os.environ["ROUND"]))
            return
        count, end, seed = (collections.Counter(), time.monotonic() + SECONDS,
                            int(os.environ["SEED"]) * 1000)
        while time.monotonic() < end or not count[False]:
            count[lab.round(seed)] += 1
            seed += 1
        print(f"{count[False]} jobs ended well, {count[True]} were told an error; "
              f"{len(lab.happened)} of {kinds} kinds of mishaps: "
              f"{', '.join(f'{name} {n}' for name, n in sorted(lab.happened.items()))}", flush=True)
        effect(lab.happened, "any mishap at all")
    return t_chaos


def played(r, seed, play):
    """Plays a round; @play returns what its ranks were told that have failed."""
    begin = time.monotonic()
    try:
        failed = play()
    except AssertionError as e:
        raise AssertionError(f"ROUND={seed}: {r}: {e}") from None
    print(f"{seed}: {r}: {time.monotonic() - begin:.1f} s, "
          f"{failed[0] if failed else 'ended well'}", flush=True)
    return bool(failed)
