# SPDX-License-Identifier: GPL-2.0-only
"""What the parts of the benchmark share: where runs are played, tables, targets, JSON and plots.

A part makes runs (lab.Run), plays them somewhere, and says what the results mean. "Somewhere" is

  native   namespaces on this machine: for peers, which need no module
  uml      user-mode Linux, one processor: what the kernel does is as fast as on this machine,
           system calls are slower
  vm       an emulated machine with two processors (QEMU, TCG): the module and its peers side by
           side
  icount   an emulated machine with one processor whose clock counts instructions

What is written goes to build/bench/PART.json and PART-*.svg.
"""
import contextlib
import dataclasses
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

from lib.lab import Run

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
OUT = os.path.join(TOP, "build/bench")
KIB, MIB = 1 << 10, 1 << 20


def say(text):
    print(text, file=sys.stderr, flush=True)


def command(*args):
    return subprocess.run(args, check=True, stdout=subprocess.PIPE, text=True).stdout


def cpu():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def version_of(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout if not done.returncode else "not installed"


def machine():
    return {
        "cpu": cpu(), "cpus": os.cpu_count(), "kernel": platform.release(),
            "load": os.getloadavg()[0],
        "compiler": command("gcc", "--version").splitlines()[0],
        "openmpi": version_of("openmpi-bin"), "mpich": version_of("mpich"),
            "gloo": version_of("libgloo-dev"),
    }


def build():
    """Everything that runs, guests' kernels and modules included."""
    say("bench: building")
    subprocess.run([f"{TOP}/tools/deps", "bench"], check=True, stdout=sys.stderr)
    subprocess.run(["make", "-s", "-C", f"{TOP}/userspace"], check=True, stdout=sys.stderr)
    subprocess.run(["make", "-s", "-C", f"{TOP}/tools/bench"], check=True, stdout=sys.stderr)
    subprocess.run([f"{TOP}/tools/modules", "--kernel", "6.1"], check=True,
                   stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def guest_memory():
    """
    A kernel's memory is mapped with huge pages; so is that of a kernel which is a process, if that
    can be had.
    """
    path = f"{OUT}/memory"
    os.makedirs(path, exist_ok=True)
    mounted = not subprocess.run(["mount", "-t", "tmpfs", "-o", "huge=always,mode=1777",
                                  "inc-bench", path],
                                 stderr=subprocess.DEVNULL, check=False).returncode
    try:
        yield path if mounted else "/dev/shm"
    finally:
        if mounted:
            subprocess.run(["umount", path], check=False)


def guest_command(where, timeout, kernel):
    if where == "uml":
        return [f"{TOP}/tools/uml", "run", "--plain", "--kernel", kernel, "--mem", "6G",
                "--timeout", str(timeout)]
    vm = [f"{TOP}/tools/vm/run", "--kernel", kernel, "--mem", "3G", "--timeout", str(timeout)]
    return vm + (["--icount"] if where == "icount" else [])


def busy_share(seconds=1):
    """Of this machine's processors, the part that is not idle: 0 to 1."""
    def jiffies():
        with open("/proc/stat", encoding="ascii") as file:
            values = [int(value) for value in file.readline().split()[1:9]]
        return sum(values), values[3] + values[4]
    begin = jiffies()
    time.sleep(seconds)
    total, idle = (after - before for after, before in zip(jiffies(), begin))
    return 1 - idle / max(total, 1)


def await_idle(most=0.1, patience=60):
    """
    Until nothing else runs here, or for @patience seconds. The busy share in the end, which is more
    than @most if something did.
    """
    end = time.monotonic() + patience
    busy = busy_share()
    while busy > most and time.monotonic() < end:
        busy = busy_share(3)
    if busy > most:
        say(f"   the machine is not idle: {busy:.0%} of its processors' time is others'")
    return busy


def merged(results):
    """Several results of one run, as one."""
    whole = dict(results[0])
    whole["seconds"] = [value for result in results for value in result["seconds"]]
    for name in ("busy", "ops"):
        if name in whole:
            whole[name] = sum(result[name] for result in results)
    return whole


def merged_rounds(rounds):
    """[{name of the run: {bytes: result}}] as one of these."""
    found = {}
    for results in rounds:
        for name, sizes in results.items():
            for size, result in sizes.items():
                found.setdefault(name, {}).setdefault(size, []).append(result)
    return {name: {size: merged(all_of) for size, all_of in sizes.items()}
            for name, sizes in found.items()}


def medians(result):
    return statistics.median(result["seconds"])


class Part:
    """One part of the benchmark: collects what it measured and what that means."""

    def __init__(self, name, title):
        self.report = {"part": name, "title": title, "machine": machine(), "results": [],
                       "rows": [], "targets": []}
        self.name = name
        self.round = None
        m = self.report["machine"]
        print(f"\n== {title}\n{m['cpu']}, {m['cpus']} CPUs, kernel {m['kernel']}, {m['compiler']}, load {m['load']:.1f}; "
              f"Open MPI {m['openmpi']}, MPICH {m['mpich']}, Gloo {m['gloo']}", flush=True)

    def begin_round(self, number):
        """
        What is compared runs in turn, round by round: a machine that others slow down does that to
        all of them. Waits until nothing else runs here.
        """
        self.round = number
        self.report.setdefault("busy_before_rounds", []).append(await_idle())

    def play(self, where, runs, timeout=600, kernel="6.1", program="lab.py", under=()):
        """
        {name of the run: {bytes: result}}; a run that failed has no results, and the report says
        why. @program: of this directory, which takes a list of @runs. @under: a command that the
        whole of it, a guest included, is run by: a profiler.
        """
        os.makedirs(OUT, exist_ok=True)
        plan = f"{OUT}/{self.name}-{where}.plan"
        with open(plan, "w", encoding="utf-8") as file:
            json.dump([dataclasses.asdict(run) for run in runs], file)
        lab = ["python3", "-s", f"{TOP}/tools/bench/lib/{program}", plan]
        env = dict(os.environ, INC_BENCH_BIN=f"{OUT}/bin")
        out, begin = {}, time.monotonic()
        with guest_memory() if where == "uml" else contextlib.nullcontext("") as memory:
            if memory:
                env["TMPDIR"] = memory
            if where != "native":
                lab = guest_command(where, timeout, kernel) + ["--"] + lab
            # a file: modules may be built for the guest first, which says more than a pipe takes
            with tempfile.TemporaryFile("w+", encoding="utf-8") as log, subprocess.Popen(
                    [*under, *lab], stdout=subprocess.PIPE, stderr=log, text=True,
                    env=env) as child:
                for line in child.stdout:
                    self.line(where, line, out)
                child.wait()
                log.seek(0)
                errors = log.read()
        if child.returncode:
            say(errors[-3000:])
            self.failed(f"{where}: ended with status {child.returncode}")
        say(f"   {where}: {len(runs)} runs, {time.monotonic() - begin:.0f} s")
        return out

    def line(self, where, line, out):
        if line.startswith("# "):
            say(f"   {where}: {line[2:].rstrip()}")
        if not line.startswith("result: "):
            return
        result = dict(json.loads(line[8:]), where=where)
        if self.round is not None:
            result["round"] = self.round
        if "error" in result:
            self.failed(f"{where}: {result['error']}")
            return
        self.report["results"].append(result)
        out.setdefault(result["run"], {})[result["bytes"]] = result

    def failed(self, why):
        say(f"   FAILED: {why}")
        self.report.setdefault("errors", []).append(why)

    def row(self, **columns):
        self.report["rows"].append(columns)

    def table(self):
        """The rows so far, as they are; then a new table begins."""
        rows = self.report["rows"]
        done = self.report.setdefault("printed", 0)
        rows = rows[done:]
        self.report["printed"] = done + len(rows)
        if not rows:
            return
        names = list(rows[0])
        cells = [names] + [[str(row.get(name, "")) for name in names] for row in rows]
        widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
        for line in cells:
            print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                            for i, (cell, width) in enumerate(zip(line, widths))), flush=True)

    def target(self, what, value, wanted, at_most):
        """@value None: it could not be measured, and counts as missed."""
        met = value is not None and (value <= wanted if at_most else value >= wanted)
        self.report["targets"].append({"what": what, "value": value, "wanted": wanted,
                                       "at_most": at_most, "met": met})
        print(f"target: {what}: {'not measured' if value is None else f'{value:.3g}'}, wanted "
              f"{'<=' if at_most else '>='} {wanted}: {'met' if met else 'MISSED'}", flush=True)

    def target_of_rounds(self, what, values, wanted, at_most):
        """@values: what each round has measured; their median counts."""
        self.target(what, statistics.median(values) if values else None, wanted, at_most)
        self.report["targets"][-1]["rounds"] = values
        if len(values) > 1:
            each = ", ".join(f"{value:.3g}" for value in values)
            print(f"        the median of {len(values)} rounds: {each}", flush=True)

    def plot(self, suffix, title, xlabel, ylabel, curves, limit=None, linear=False):
        """@curves: {label: [(x, y)]}; @limit: (label, [(x, y)]), drawn in."""
        # only here: whoever needs no plot needs no matplotlib
        import matplotlib
        matplotlib.use("svg")
        from matplotlib import pyplot
        figure, axes = pyplot.subplots(figsize=(8, 5))
        for label, points in curves.items():
            if points:
                axes.plot(*zip(*sorted(points)), marker="o", markersize=4, label=label)
        if limit:
            axes.plot(*zip(*sorted(limit[1])), color="black", linestyle="--", label=limit[0])
        if not linear:
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
        axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
        axes.grid(True, which="both", alpha=0.3)
        axes.legend(fontsize=8)
        name = f"{self.name}-{suffix}.svg"
        figure.savefig(f"{OUT}/{name}")
        pyplot.close(figure)
        self.report.setdefault("plots", []).append(name)

    def write(self):
        self.table()
        self.report.pop("printed", None)
        with open(f"{OUT}/{self.name}.json", "w", encoding="utf-8") as file:
            json.dump(self.report, file, indent=1)
        plots = " ".join(f"build/bench/{name}" for name in self.report.get("plots", []))
        print(f"written: build/bench/{self.name}.json {plots}", flush=True)


def span(result, scale=1e3, digits=3):
    """Median and range, in milliseconds unless said otherwise."""
    s = result["seconds"]
    low, middle, high = (x * scale for x in (min(s), statistics.median(s), max(s)))
    return f"{middle:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def cpu_per_gb(result):
    """CPU seconds of all hosts and the node together per GB of the buffer."""
    return result["busy"] / (result["ops"] * result["bytes"] / 1e9) if result["bytes"] else 0


def best(results, size):
    """
    (name, result) of the fastest of {name: {bytes: result}} at that size; None if there is none.
    """
    found = [(medians(r[size]), name) for name, r in results.items() if size in r]
    return (min(found)[1], results[min(found)[1]][size]) if found else None


def peers(hosts, sizes, **links):
    """
    The peers' runs: every library with each of its algorithms for allreduce, the default one
    included.
    """
    algorithms = {
        "openmpi": {"default": "", "recursive doubling": "3", "ring": "4", "Rabenseifner": "6"},
        "mpich": {"default": "", "recursive doubling": "recursive_doubling",
                  "Rabenseifner": "reduce_scatter_allgather"},
        "gloo": {"ring": "", "halving doubling": "halving_doubling"},
        "udp": {"aggregator": ""},
    }
    return [Run(name=f"{library} {name}", library=library, hosts=hosts, sizes=sizes,
                algorithm=algorithm, **links)
            for library, choices in algorithms.items() for name, algorithm in choices.items()]
