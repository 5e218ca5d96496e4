# SPDX-License-Identifier: GPL-2.0-only
"""Which lines of the engine and of the generic reduction kernels unit tests and simulator run: gcov
counts. From these their mutants are drawn.
"""
import collections
import glob
import gzip
import json
import os
import re
import subprocess

import mutants
from programs import CORE, LATER, OUT, PROGRAMS, SIMULATOR, TOP, read, sources, tool

COVERAGE = ["-O0", "--coverage"]
# They take too long where gcov counts. Both run all of kernel/reduce, and nothing else.
UNCOUNTED = ["test_reduce", "test_reduce_convert"]
COUNTED_RUNS = "1000"
EXIT = """void __gcov_dump(void);
void __real__exit(int status);
void __wrap__exit(int status) { __gcov_dump(); __real__exit(status); }
"""
MUTATED = sources("kernel/engine/*.[ch]") + sources("kernel/reduce/generic_*.[ch]") + [
    f"kernel/reduce/{name}.c" for name in ("table", "names", "copy")]


class Runs:
    """Which program runs which lines, and in which objects these lines are."""

    def __init__(self, objects, pool):
        self.objects = objects
        self.functions = collections.defaultdict(set)
        self.lines = collections.defaultdict(lambda: collections.defaultdict(dict))
        compiled, names = {}, [n for n in PROGRAMS if n not in UNCOUNTED and n not in LATER]
        os.makedirs(f"{OUT}/counted", exist_ok=True)
        for name in names:
            kept = f"{OUT}/counted/{self.hash_of(name)}"
            if not os.path.exists(kept):
                compiled = (compiled
                            or objects.all(CORE + sum((PROGRAMS[n] for n in names), []), COVERAGE,
                                           pool))
                self.count(name, compiled, kept)
            for source, file, functions, lines in json.loads(read(kept)):
                self.add(name, source, file, functions, lines)

    def hash_of(self, name):
        """Of all that a program is made of."""
        return self.objects.hash_of(name, COUNTED_RUNS,
                                    *(s + read(f"{TOP}/{s}") for s in CORE + PROGRAMS[name]))

    def count(self, name, compiled, kept):
        """
        Runs the program; writes [[source, file, functions, {line: count}]] of what is mutated.
        """
        mine = {s: compiled[s] for s in CORE + PROGRAMS[name]}
        print(f"# counting lines: {name}", flush=True)
        for path in glob.glob(f"{self.objects.directory}/*.gcda"):
            os.unlink(path)
        program = f"{OUT}/counted/program"
        with open(f"{program}.c", "w", encoding="utf-8") as file:
            file.write(EXIT)
        tool(["gcc", "--coverage", "-Wl,--wrap=_exit", "-Wl,--unresolved-symbols=ignore-all",
              "-no-pie", "-o", program, f"{program}.c", *mine.values(), "-lpthread", "-lm"],
             cwd=f"{OUT}/counted")
        more = ["--seed", "1", "--runs", COUNTED_RUNS, "--shrink", "0"] if name in SIMULATOR else []
        tool([program, *more], cwd=TOP, env=dict(os.environ, KTAP_SEED="1"))
        found = []
        for source, path in mine.items():
            data = f"{path[:-2]}.gcda"
            if not os.path.exists(data):
                continue
            # that a source is newer than the object is no matter: it is the same, by its hash
            text = subprocess.run(["gcov", "--json-format", "--stdout", data], cwd=TOP, check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            document = json.loads(gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text)
            for file in document["files"]:
                if os.path.normpath(file["file"]) in MUTATED:
                    lines = collections.Counter()
                    for line in file["lines"]:
                        lines[line["line_number"]] += line["count"]
                    functions = [(f["name"], f["start_line"], f["end_line"])
                                 for f in file["functions"]]
                    found.append((source, os.path.normpath(file["file"]), functions, lines))
        with open(f"{kept}.new", "w", encoding="utf-8") as file:
            json.dump(found, file)
        os.rename(f"{kept}.new", kept)

    def add(self, name, source, file, functions, lines):
        """What count() has found of one file in one object."""
        self.functions[file] |= {mutants.Region(*f) for f in functions}
        for line, count in lines.items():
            at = self.lines[file][int(line)]
            if count:
                at.setdefault(name, set()).add(source)

    def of(self, file, line, region):
        """
        {program: objects} for a line of a region: what gcov says of it, or of the line that it
        continues.
        """
        names = UNCOUNTED if file.startswith("kernel/reduce/") else []
        if region in self.functions[file]:
            while line not in self.lines[file] and line > region.first:
                line -= 1
            found = dict(self.lines[file].get(line, {}))
            return found | {name: {file} for name in names if file.endswith(".c")}
        # A macro: it is run where it is used. What has it uses all of a header's.
        users = ([file] if file.endswith(".c")
                 else [s for s in CORE if os.path.basename(s).startswith("generic_")])
        found = {name: set(users) for name in names}
        for at in self.lines[users[0]].values():
            found |= {name: set(users) for name in at}
        return found

    def candidates(self):
        """[(mutant, {program: objects})], all there are."""
        found = []
        for file in MUTATED:
            text = read(f"{TOP}/{file}")
            macros = mutants.macros_of(text) if file.startswith("kernel/reduce/") else []
            starts = text.splitlines()
            functions = [r for r in self.functions[file] if r.last > r.first and
                         not re.match(r"[A-Z_0-9]+\(", starts[r.first - 1])]
            regions = {line: r for r in macros + functions for line in range(r.first, r.last + 1)}
            for mutant in mutants.mutants_of(file, text, macros + functions):
                found.append((mutant, self.of(file, mutant.line, regions[mutant.line])))
        return found
