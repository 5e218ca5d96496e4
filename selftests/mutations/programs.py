# SPDX-License-Identifier: GPL-2.0-only
"""What finds faults in the engine and the reduction kernels: unit tests and simulator, as programs
that are linked with a library, of which a fault changes one object.

What is compiled of sources without a fault is kept under a hash, so that a fault costs the
compilation of what it changes, and the programs until one of them fails.
"""
import glob
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OUT = f"{TOP}/build/mutations/programs"
PATIENCE = 1200     # seconds that a program may take on a busy machine, whatever it does
PARTS = ["kernel/engine", "kernel/reduce", "uapi", "selftests/unit", "tools/sim", "userspace/coll",
         "userspace/libinc"]
FLAGS = ["-std=gnu11", "-w", "-ffp-contract=off", "-fPIC", "-Ikernel", "-Iuapi", "-Iselftests/unit",
         "-Iuserspace/libinc", "-Iuserspace/coll"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
# More seeds for what the first ones have not found.
SIMULATOR = {"the simulator": ["--seed", "1", "--runs", "300"],
             "the simulator, later seeds": ["--seed", "301", "--runs", "1000"],
             "the simulator, many seeds": ["--seed", "1301", "--runs", "4000"]}
LATER = [name for name in SIMULATOR if name != "the simulator"]


def sources(pattern):
    """Paths in the project, or in a copy of it."""
    return sorted(os.path.relpath(path, TOP) for path in glob.glob(f"{TOP}/{pattern}"))


def read(path):
    """A file's text."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def uses_core(source):
    """
    Is it a test of the engine or the reduction kernels? Others are of userspace, or of the kernel's
    own files.
    """
    included = re.findall(r'^#include "(.*)"', read(f"{TOP}/{source}"), re.M)
    if any(i.startswith(("core/", "host/", "node/", "sched/")) for i in included):
        return False
    return any(i.startswith(("engine/", "reduce/")) for i in included) or any(
        uses_core(f"selftests/unit/{i}") for i in included if os.path.exists(
            f"{TOP}/selftests/unit/{i}"))


CORE = sources("kernel/engine/*.c") + sources("kernel/reduce/*.c")
PROGRAMS = {os.path.basename(s)[:-2]: [s]
            for s in sources("selftests/unit/test_*.c") if uses_core(s)}
PROGRAMS |= {name: sources("tools/sim/*.c") + ["userspace/coll/number.c", "userspace/coll/block.c"] for name in SIMULATOR}


def is_vector(source):
    """Not among what is mutated; takes long to compile."""
    return os.path.basename(source).startswith(("x86_", "arm64_"))


def tool(command, **more):
    """The output of what must not fail."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          **more)
    if done.returncode:
        sys.stdout.write("".join(f"# {line}\n"
                                 for line
                                 in done.stdout.decode(errors="replace").splitlines()[-30:]))
        raise SystemExit(
            f"not ok 1 - {' '.join(command)[:150]}: exit status {done.returncode}\n1..1")
    return done.stdout


class Objects:
    """What is compiled of sources without a fault, kept under the hash of what it is made of."""

    def __init__(self):
        self.directory = f"{OUT}/objects"
        os.makedirs(self.directory, exist_ok=True)
        shared = [p for part in PARTS for p in sources(f"{part}/**/*.h") + sources(f"{part}/*.h")]
        shared += [p for p in sources("userspace/*/*.c") if p not in PROGRAMS["the simulator"]]
        text = "".join(read(f"{TOP}/{p}") for p in sorted(set(shared)))
        self.shared = text + tool(["gcc", "--version"]).decode() + " ".join(FLAGS)

    def hash_of(self, *texts):
        """Of these and of all that any source includes."""
        return hashlib.sha256("\0".join([self.shared, *texts]).encode()).hexdigest()[:24]

    def compiled(self, source, options):
        """The path of the object."""
        options = ["-O1"] if is_vector(source) else options
        target = f"{self.directory}/{self.hash_of(source, read(f'{TOP}/{source}'), *options)}.o"
        if not os.path.exists(target):
            # gcov's notes have the object's name
            tool(["gcc", *FLAGS, *options, "-c", "-o", target, source], cwd=TOP)
        return target

    def all(self, list_of_sources, options, pool):
        """{source: object}"""
        unique = sorted(set(list_of_sources), key=lambda s: not is_vector(s))
        return dict(zip(unique, pool.map(lambda s: self.compiled(s, options), unique)))


class Worker:
    """A copy of the sources, in which there is one fault at a time."""

    def __init__(self, number, pristine):
        self.top = f"{OUT}/worker-{number}"
        self.pristine = pristine
        shutil.rmtree(self.top, ignore_errors=True)
        for part in PARTS:
            shutil.copytree(f"{TOP}/{part}", f"{self.top}/{part}")
        os.makedirs(f"{self.top}/lib")

    def compile(self, of, options):
        """{source: object}, or None if one of them does not compile."""
        made = {}
        for source in of:
            made[source] = f"{self.top}/{source}.o"
            command = ["gcc", *FLAGS, *options, "-c", "-o", made[source], source]
            if subprocess.run(command, cwd=self.top, stderr=subprocess.DEVNULL,
                              check=False).returncode:
                return None
        return made

    def same_code(self, of, text, mutated, path):
        """Does the compiler make the same of it?"""
        versions = []
        for version in (text, mutated):
            write(path, version)
            versions.append({s: hashlib.sha256(open(o, "rb").read()).digest()
                             for s, o in self.compile(of, ["-O2"]).items()})
        return versions[0] == versions[1]

    def try_text(self, file, mutated, runs):
        """
        The fault is that @file has this text; @runs: {program: objects that the fault is in}.
        ("killed", by whom), ("equivalent", why), ("survived", ""), or None: it does not compile.
        """
        path, text = f"{self.top}/{file}", read(f"{TOP}/{file}")
        of = sorted(set().union(*runs.values()))
        try:
            write(path, mutated)
            made = self.compile(of, ["-O0"])
            if not made:
                return None
            found = self.pristine.who_fails(f"{self.top}/lib", made, runs, [])
            if found:
                return "killed", found
            if self.same_code(of, text, mutated, path):
                return "equivalent", "the same code"
            found = self.pristine.who_fails(f"{self.top}/lib",
                                            self.compile(of, ["-O1", *SANITIZE]), runs, SANITIZE)
            return ("killed", f"{found}, sanitised") if found else ("survived", "")
        finally:
            write(path, text)


def write(path, text):
    """A file's text."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Pristine:
    """Library and programs without a fault; how long they take."""

    def __init__(self, objects, pool):
        self.objects = objects.all(CORE + sum(PROGRAMS.values(), []), ["-O2"], pool)
        self.sanitised = objects.all([s for s in CORE if not is_vector(s)], ["-O1", *SANITIZE],
                                     pool)
        self.preload = " ".join(tool(["gcc", f"-print-file-name={name}"]).decode().strip()
                                for name in ("libasan.so", "libubsan.so"))
        self.lib, self.seconds, self.order = f"{OUT}/lib", {}, []
        for directory in (self.lib, f"{OUT}/sanitised"):
            os.makedirs(directory, exist_ok=True)
        self.link_library(self.lib, {}, [])
        for name in PROGRAMS:
            self.link_program(self.lib, name, {}, [])

    def link_library(self, directory, changed, options):
        """The engine and the reduction kernels, with some objects changed."""
        tool(["gcc", "-shared", *options, "-o", f"{directory}/libcore.so",
              *(changed.get(s, self.objects[s]) for s in CORE)])

    def link_program(self, directory, name, changed, options):
        """A program, the same way; its path."""
        program = f"{directory}/{name.replace(' ', '-')}"
        tool(["gcc", *options, "-o", program,
              *(changed.get(s, self.objects[s]) for s in PROGRAMS[name]),
              "-Wl,--unresolved-symbols=ignore-all", "-rdynamic", f"-L{directory}", "-lcore",
              "-lpthread", "-lm"])
        return program

    def fails(self, directory, program, name, options):
        """How the program fails with the library that is in this directory; None: it passes."""
        environment = dict(os.environ, KTAP_SEED="1", LD_LIBRARY_PATH=directory)
        limit = 3 + 10 * self.seconds.get(name, PATIENCE)
        command = ["prlimit", "--core=0", f"--cpu={int(limit)}"]
        if options:
            environment |= {"LD_PRELOAD": self.preload, "ASAN_OPTIONS": "hard_rss_limit_mb=4000"}
            command[-1] = f"--cpu={int(4 * limit)}"
        else:
            command.append(f"--as={4 << 30}")
        command += [program, *SIMULATOR.get(name, [])] + (["--shrink", "0"] if name in SIMULATOR
                                                          else [])
        try:
            status = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, timeout=PATIENCE,
                                    check=False).returncode
        except subprocess.TimeoutExpired as error:
            raise SystemExit(
                f"not ok 1 - {name}: it sleeps, or the machine is too busy\n1..1") from error
        if status in (-signal.SIGXCPU, -signal.SIGKILL):
            return f"{name}, by its time"
        return name if status else None

    def who_fails(self, directory, changed, runs, options):
        """The first program that fails with these objects, of those that run them."""
        self.link_library(directory, changed, options)
        for name in self.order:
            known = "the simulator" if name in SIMULATOR else name
            if known not in runs or (options and name in LATER):
                continue
            program = f"{self.lib}/{name.replace(' ', '-')}"
            if set(changed) & set(PROGRAMS[name]):
                program = self.link_program(directory, name, changed, options)
            failed = self.fails(directory, program, name, options)
            if failed:
                return failed
        return None

    def made_of(self, name):
        """Says when a program is no longer the one that has passed."""
        objects = [self.objects[s] for s in CORE + PROGRAMS[name]] + sorted(self.sanitised.values())
        text = json.dumps([objects, name, SIMULATOR.get(name)])
        return hashlib.sha256(text.encode()).hexdigest()

    def baseline(self):
        """Runs those that have not passed before as they are; which of them fail."""
        kept, bad = f"{OUT}/passed", []
        passed = json.loads(read(kept)) if os.path.exists(kept) else {}
        self.link_library(f"{OUT}/sanitised", self.sanitised, SANITIZE)
        for name in PROGRAMS:
            made = self.made_of(name)
            if passed.get(name, [""])[0] != made:
                program = f"{self.lib}/{name.replace(' ', '-')}"
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                failed = self.fails(self.lib, program, name, [])
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                self.seconds[name] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                if name not in LATER:
                    failed = failed or self.fails(f"{OUT}/sanitised", program, name, SANITIZE)
                if failed:
                    bad.append(failed)
                    continue
                passed[name] = made, self.seconds[name]
                write(kept, json.dumps(passed))
            self.seconds[name] = passed[name][1]
        self.order = sorted(PROGRAMS, key=lambda n: self.seconds.get(n, 0))
        return bad
