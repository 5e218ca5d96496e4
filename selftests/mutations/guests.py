# SPDX-License-Identifier: GPL-2.0-only
"""What finds faults in what only a kernel runs: VM tests in user-mode Linux, with a module that has
the fault; before them the unit tests that contain its file (units.py).

A worker has a copy of the tree, in which one fault at a time is built. So it costs the compilation
of what it changes, a boot, and the tests until one of them fails. A boot for each: no fault sees
what another one has left.
"""
import glob
import hashlib
import json
import os
import re
import subprocess
import threading

import mutants
from programs import TOP, read, sources, tool, write
from units import Units, units_of

OUT = f"{TOP}/build/mutations/guests"
UNCOVERED = f"{TOP}/build/coverage-glue/uncovered"
KERNEL = "6.1"
FOLDERS = ["kernel/core", "kernel/host", "kernel/netlink", "kernel/node", "kernel/sched", "kernel"]
# Its tables are made by the generator of the netlink spec.
LEFT_OUT = ["kernel/netlink/nl_policy.c"]
# What a worker has of its own; it shares all else with the tree.
COPIED = ["kernel", "uapi"]
# What a test runs, but for its own script.
MADE_OF = ["kernel/**/*", "uapi/**/*", "Kbuild", "userspace/**/*", "selftests/vm/*.py",
           "selftests/vm/[a-z]*", "tools/uml", "tools/debug/*"]
PATIENCE = 1800     # seconds for a test of which nobody knows how long it takes
BOOT = 60           # seconds that a guest may take in addition to its tests
SLOWER = 5          # how many times as long as without a fault a test may take

# The tests that most likely see a fault in files whose names begin so; the first line that fits.
TESTS = [line.split() for line in """
kernel/core/answers     36-members 32-forged 34-network
kernel/core/demux       36-members 23-process 10-join
kernel/core/fpu_section 11-allreduce 16-collectives
kernel/core/gso_buf     11-allreduce 12-gso
kernel/core/limits      20-netlink 35-memory 31-tenants
kernel/core/netns       24-events 20-netlink
kernel/core/nf_hooks    24-events 22-traffic 10-join 37-box
kernel/core/page_ring   11-allreduce 16-collectives 13-libinc
kernel/core/path        36-members 23-process 34-network 10-join 37-box
kernel/core/rx          22-traffic 36-members 32-forged 34-network 12-gso 39-firewall
kernel/core/sender      36-members 34-network 37-box
kernel/core/            24-events 36-members 11-allreduce 10-join
kernel/host/connect     38-meet 23-process 34-network 13-libinc 10-join
kernel/host/contributors 26-late 13-libinc
kernel/host/edge_rank   38-meet 23-process
kernel/host/pin         23-process 35-memory 13-libinc
kernel/host/rank        26-late 14-faults 23-process 35-memory 13-libinc 10-join
kernel/host/registered  23-process 35-memory 13-libinc
kernel/host/retain      11-allreduce 14-faults 35-memory
kernel/host/socket      23-process 13-libinc 10-join
kernel/host/tree_paths  38-meet 41-trees
kernel/host/            11-allreduce 16-collectives 23-process 35-memory 13-libinc
kernel/netlink/nl_event 24-events 20-netlink 31-tenants
kernel/netlink/nl_limits 20-netlink 35-memory
kernel/netlink/nl_tenant 20-netlink 31-tenants
kernel/netlink/         24-events 20-netlink 35-memory 31-tenants
kernel/node/about       41-trees
kernel/node/admit       36-members 32-forged 10-join 37-box
kernel/node/edge        38-meet 23-process
kernel/node/fold        26-late 11-allreduce 16-collectives 17-limits 31-tenants
kernel/node/group_create 36-members 38-meet 28-shrink 32-forged 35-memory 10-join 31-tenants
kernel/node/group_io    24-events 26-late 12-gso 10-join 37-box
kernel/node/group_lookup 36-members 28-shrink 10-join 31-tenants 37-box
kernel/node/history     28-shrink 41-trees
kernel/node/node_group  36-members 38-meet 28-shrink 32-forged 35-memory 10-join 37-box
kernel/node/quota       36-members 20-netlink 17-limits
kernel/node/tenant      20-netlink 31-tenants
kernel/node/uplink_io   36-members 10-join 41-trees
kernel/node/            24-events 36-members 20-netlink 10-join
kernel/sched/           40-qdisc
kernel/                 24-events 36-members 20-netlink 22-traffic 32-forged
""".strip().splitlines()]


def mutated_files():
    """Where faults are put."""
    found = sum((sources(f"{folder}/*.[ch]") for folder in FOLDERS), [])
    return [f for f in found if f not in LEFT_OUT]


def tests_of(file):
    """The names of those that most likely see a fault there."""
    return next(tests for prefix, *tests in TESTS if file.startswith(prefix))


def statement_lines(lines, line):
    """The numbers of a line and of those that it continues."""
    first = line
    while first > 1 and lines[first - 2].strip() and not re.search(
            r"([;{}:]|\*/)$", lines[first - 2].rstrip()):
        first -= 1
    return range(first, line + 1)


def candidates():
    """
    [(mutant, names of tests)]; no tests where tools/coverage --glue has seen that none runs it.
    """
    missed = set(read(UNCOVERED).split()) if os.path.exists(UNCOVERED) else set()
    found = []
    for file in mutated_files():
        text = read(f"{TOP}/{file}")
        lines, tests = text.splitlines(), units_of(file) + tests_of(file)
        for mutant in mutants.mutants_of(file, text, mutants.functions_of(text)):
            dead = any(f"{file}:{n}" in missed for n in statement_lines(lines, mutant.line))
            found.append((mutant, [] if dead else tests))
    return found


def mirror(source, target):
    """Makes @target the same as @source; what is the same already keeps its time, for make."""
    wanted = {os.path.relpath(p, source) for p in glob.glob(f"{source}/**", recursive=True)
              if os.path.isfile(p)}
    for path in glob.glob(f"{target}/**", recursive=True):
        if os.path.isfile(path) and os.path.relpath(path, target) not in wanted:
            os.unlink(path)
    for name in wanted:
        text = read(f"{source}/{name}")
        if not os.path.exists(f"{target}/{name}") or read(f"{target}/{name}") != text:
            os.makedirs(os.path.dirname(f"{target}/{name}"), exist_ok=True)
            write(f"{target}/{name}", text)


def apart(tests):
    """The names of unit tests, and of VM tests."""
    units = [t for t in tests if t.startswith("test_")]
    return units, [t for t in tests if t not in units]


def limit_of(name, seconds):
    """How many seconds a test may take; @seconds: that some take without a fault."""
    return BOOT + SLOWER * seconds[name] if name in seconds else PATIENCE


class Guest:
    """One boot, with the module of one tree."""

    def __init__(self, top, seconds):
        self.top = top
        self.seconds = seconds      # that tests take without a fault, by their names
        self.took = {}
        self.late = False
        self.timer = None
        self.process = None

    def end(self):
        """The tests have failed, or take too long."""
        self.late = True
        self.process.terminate()

    def await_test(self, name):
        """The time of this one begins; None: only the end of the guest is to come."""
        if self.timer:
            self.timer.cancel()
        self.timer = threading.Timer(limit_of(name, self.seconds) if name else 2 * BOOT, self.end)
        self.timer.daemon = True
        self.timer.start()

    def watch(self, tests):
        """Reads results; the first that is bad."""
        left = list(tests)
        self.await_test(left[0])
        for line in self.process.stdout:
            failed = re.match(r"not ok \d+ - (.*)", line)
            if failed:
                self.process.terminate()
                return failed[1]
            took = re.match(r"# (\S+) took (\d+) s$", line)
            if took and took[1] in left:
                self.took[took[1]] = int(took[2])
                left.remove(took[1])
                self.await_test(left[0] if left else None)
        if self.late:
            return f"{left[0] if left else 'the end of the guest'}, by its time"
        return None

    def ended(self, status):
        """How the guest has failed although no test has; None: it has not."""
        said = read(f"{self.top}/said").strip().splitlines()
        last = next((line for line in reversed(said) if line.startswith("uml: ")), "")
        if not status:
            return None
        if re.match("uml: (the guest's kernel complained|guest hung|the guest ended before)", last):
            return last[len("uml: "):]
        raise SystemExit(f"not ok 1 - the guest: exit status {status}: {last}\n1..1")

    def first_failure(self, tests):
        """Runs the tests until one fails; None: all pass, and the kernel is content."""
        command = [f"{self.top}/tools/uml", "run", "--plain", "--kernel", KERNEL, "--timeout",
                   str(BOOT + PATIENCE * len(tests)), "--log", f"{self.top}/kernel.log",
                   "--", f"{self.top}/selftests/vm/run-all", *tests]
        environment = dict(os.environ, INC_VM_OUT=f"{self.top}/out", SEED="1", ONLY="")
        with open(f"{self.top}/said", "w", encoding="utf-8") as said:
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True,
                                  errors="replace", env=environment) as self.process:
                failed = self.watch(tests)
                status = self.process.wait()
        self.timer.cancel()
        return failed or self.ended(status)


class Tree:
    """A copy of the tree; what it shares with it are links."""

    def __init__(self, number):
        self.top = f"{OUT}/worker-{number}"
        path = tool([f"{TOP}/tools/debug/kernel", "path", f"plain-{KERNEL}"])
        self.kernel = path.decode().strip()
        os.makedirs(f"{self.top}/build", exist_ok=True)
        for name in COPIED:
            mirror(f"{TOP}/{name}", f"{self.top}/{name}")
        shared = [n for n in os.listdir(TOP) if n not in COPIED + ["build"] and n[0] != "."]
        for name in shared + ["build/userspace"]:
            if not os.path.islink(f"{self.top}/{name}"):
                os.symlink(f"{TOP}/{name}", f"{self.top}/{name}")

    def build(self):
        """The modules' code, as a hash; None: it does not compile."""
        command = [f"{self.top}/tools/modules", "--kdir", self.kernel, "--", "ARCH=um"]
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode:
            return None
        release = read(f"{self.kernel}/include/config/kernel.release").strip()
        made = hashlib.sha256()
        for name in ("inc.o", "sch_inc.o"):
            with open(f"{self.top}/build/{release}/{name}", "rb") as file:
                made.update(file.read())
        return made.hexdigest()


class Worker(Tree):
    """A tree in which there is one fault at a time."""

    def __init__(self, number, pristine):
        super().__init__(number)
        self.pristine = pristine
        self.code = self.build()
        self.units = Units(self.top, PATIENCE)

    def who_fails(self, tests):
        """The first test that does; None: all pass."""
        units, others = apart(tests)
        seconds = self.pristine.seconds
        return (self.units.first_failure(units, {n: limit_of(n, seconds) for n in units})
                or Guest(self.top, seconds).first_failure(sorted(others, key=seconds.get)))

    def try_text(self, file, mutated, tests):
        """
        The fault is that @file has this text. ("killed", by whom), ("equivalent", why),
        ("survived", ""), or None: it does not compile.
        """
        path, text = f"{self.top}/{file}", read(f"{TOP}/{file}")
        try:
            write(path, mutated)
            code = self.build()
            if not code:
                return None
            if code == self.code:
                return "equivalent", "the same code"
            found = self.who_fails(tests)
            return ("killed", found) if found else ("survived", "")
        finally:
            write(path, text)


class Pristine:
    """The module without a fault; how long the tests take with it."""

    def __init__(self):
        self.kept, self.seconds = f"{OUT}/passed", {}
        tool([f"{TOP}/tools/uml", "build", "--plain", "--kernel", KERNEL])
        tool(["make", "-s", "-C", f"{TOP}/userspace"])

    def made_of(self, paths):
        """A hash."""
        made = hashlib.sha256()
        for path in sorted(p for p in paths if os.path.isfile(p) and "__pycache__" not in p):
            with open(path, "rb") as file:
                made.update(path.encode() + file.read())
        return made.hexdigest()

    def made_of_tests(self, tests):
        """{name: hash}"""
        common = self.made_of({p for pattern in MADE_OF
                               for p in glob.glob(f"{TOP}/{pattern}", recursive=True)})
        return {t: common + self.made_of(glob.glob(f"{TOP}/selftests/unit/**", recursive=True)
                                         if apart([t])[0] else [f"{TOP}/selftests/vm/{t}.sh"])
                for t in tests}

    def run(self, missing):
        """Runs these tests, keeps how long they take; what fails."""
        tree, (units, others) = Tree(0), apart(missing)
        print(f"# without a fault: {' '.join(missing)}", flush=True)
        programs, guest = Units(tree.top, PATIENCE), Guest(tree.top, {})
        failed = programs.first_failure(units, {})
        failed = failed or next((u for u in units if u not in programs.took), None)
        if not failed and others:
            tree.build()
            failed = guest.first_failure(others)
        self.seconds |= programs.took | guest.took
        return failed

    def baseline(self, tests):
        """Runs those that have not passed before as they are; what fails."""
        made = self.made_of_tests(tests)
        kept = json.loads(read(self.kept)) if os.path.exists(self.kept) else {}
        self.seconds = {t: kept[t][1] for t in tests if kept.get(t, [""])[0] == made[t]}
        missing = sorted(t for t in tests if t not in self.seconds)
        failed = self.run(missing) if missing else None
        if not failed:
            kept |= {t: (made[t], s) for t, s in self.seconds.items()}
            write(self.kept, json.dumps(kept))
        return [failed] if failed else []
