#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Hosts around a bridge, or in a tree of nodes, and jobs on them: run here or in a guest, the same
program.

  lab.py PLAN    PLAN: a file with a JSON list of runs (class Run); a line "result: JSON" for each
                 result of a program

Every host is a network namespace with one device eth0, whose peer is a port of the bridge in the
namespace of the node. What is shaped is shaped both ways: by the host's eth0 and by the port. In a
tree (topology.py) every node is a namespace, too, and its eth0 the lower end of its link upwards.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from topology import Topology, host_lines, node_lines  # pylint: disable=wrong-import-position

BIN = (os.environ.get("INC_BENCH_BIN")
       or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../build/bench/bin"))
LIBS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../build/userspace/lib")
NODE = "10.9.0.254"


@dataclass
class Run:
    """One job: a library, hosts, links, and sizes as bench.c takes them."""
    name: str
    library: str
    hosts: int
    sizes: str
    # the library's own word for one; Open MPI "component" and "interposer": INC, in either form
    algorithm: str = ""
    rate: str = ""              # tc's words: 100mbit; empty: not shaped
    burst: int = 16384
    delay_ms: float = 0         # per link and direction
    loss: float = 0             # percent, per link and direction
    mtu: int = 1500
    offloads: bool = True       # False: hosts send single packets (no GSO)
    options: list = field(default_factory=list)
    node: list = field(default_factory=list)    # options of "inc node add"
    # so many groups of other jobs, with the number of the measured one, at the node and at host 1
    crowd: int = 0
    ping: int = 0               # that many echoes between host 1 and the node instead of a job
    topology: str = ""          # a tree, as topology.py takes it, which may say rates and delays
    # in a tree, where all ranks meet: the name of a node, "host" (rank 0's), or empty: each at the
    # node above it
    meet: str = ""
    timeout: int = 120


def say(text):
    print(f"# {text}", flush=True)


def result(run, data):
    print("result: " + json.dumps(dict(data, run=run.name)), flush=True)


def command(*args, **kwargs):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **kwargs)
    if done.returncode:
        raise RuntimeError(f"{' '.join(args)}: status {done.returncode}: {done.stdout[-2000:]}")
    return done.stdout


class Lab:
    """The namespaces, while the program is within "with"."""

    def __init__(self, run):
        self.run = run
        self.prefix = f"incb{os.getpid()}"
        self.switch = self.prefix + "sw"
        self.hosts = [f"{self.prefix}h{i + 1}" for i in range(run.hosts)]
        self.dir = tempfile.mkdtemp(prefix="inc-bench-")

    def batch(self, tool, lines, *options):
        command(tool, *options, "-batch", "-", input="\n".join(lines) + "\n")

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def build(self):
        run = self.run
        self.batch("ip", [f"netns add {ns}" for ns in self.namespaces()])
        lines = ["link set lo up", "link add br0 type bridge", f"link set br0 mtu {run.mtu} up"]
        for i, ns in enumerate(self.hosts):
            lines += [f"link add p{i + 1} mtu {run.mtu} type veth peer name eth0 mtu {run.mtu} netns {ns}",
                      f"link set p{i + 1} master br0 up"]
        self.batch("ip", lines + [f"addr add {NODE}/24 dev br0"], "-n", self.switch)
        for i, ns in enumerate(self.hosts):
            self.batch("ip",
                       ["link set lo up", "link set eth0 up",
                        f"addr add 10.9.0.{i + 1}/24 dev eth0"], "-n", ns)
        if not run.offloads:
            for ns, dev in ([(ns, "eth0") for ns in self.hosts] + [(self.switch, f"p{i + 1}")
                                                                   for i in range(run.hosts)]):
                self.send_single(ns, dev)
        self.shape(self.switch, [f"p{i + 1}" for i in range(run.hosts)])
        for ns in self.hosts:
            self.shape(ns, ["eth0"])
        with open(f"{self.dir}/hosts", "w", encoding="utf-8") as file:
            file.write("127.0.0.1 localhost\n" + f"{NODE} node\n")
            file.writelines(f"10.9.0.{i + 1} {ns}\n" for i, ns in enumerate(self.hosts))

    @staticmethod
    def send_single(ns, dev):
        """No super-packets leave by it."""
        command("ip", "netns", "exec", ns, "ethtool", "-K", dev, "gso", "off",
                "tx-udp-segmentation", "off", "tso", "off")

    def shape(self, ns, devices, rate="", delay="", loss="", queue=""):
        """
        tbf for the rate, netem for delay and loss; both: netem behind the shaper. What is not said
        here is as the run says.
        """
        run, lines = self.run, []
        rate = rate or run.rate
        delay = delay or (f"{run.delay_ms}ms" if run.delay_ms else "")
        loss = loss or (f"{run.loss}%" if run.loss else "")
        netem = (f"netem limit {queue or 100000} delay {delay or '0ms'}"
                 + (f" loss {loss}" if loss else ""))
        for dev in devices:
            if rate:
                lines.append(f"qdisc add dev {dev} root handle 1: tbf rate {rate} burst {run.burst} limit 4m")
            if delay or loss:
                lines.append(f"qdisc add dev {dev} {'parent 1:1' if rate else 'root'} {netem}")
        if lines:
            self.batch("tc", lines, "-n", ns)

    def namespaces(self):
        return [self.switch] + self.hosts

    def __exit__(self, *_):
        for ns in self.namespaces():
            subprocess.run(["ip", "netns", "del", ns], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(self.dir, ignore_errors=True)

    def sent(self):
        """
        Bytes that the hosts' devices have sent, headers of every packet included, where a qdisc
        counts them.
        """
        return sum(self.sent_by(ns, "eth0") for ns in self.hosts)

    @staticmethod
    def sent_by(ns, dev):
        return sum(qdisc["bytes"] for qdisc in json.loads(command("tc", "-n", ns, "-s", "-j",
                                                                  "qdisc", "show", "dev", dev))
                   if qdisc.get("root") and qdisc["kind"] == "tbf")

    def links(self):
        """{who is at the lower end: [bytes sent up, bytes sent down]}, where a qdisc counts them."""
        return {}

    def launcher(self):
        """
        Starts a command on a host, as ssh would, with temporary files of its own: for mpirun and
        mpiexec.
        """
        path = f"{self.dir}/launch"
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nh=$1\nshift\n"
                       f"mkdir -p {self.dir}/$h\nexport TMPDIR={self.dir}/$h\n"
                       "exec ip netns exec \"$h\" sh -c \"$*\"\n")
        os.chmod(path, 0o755)
        return path

    def per_rank(self, program):
        run = self.run
        options = ["--size", str(run.hosts), "--device", "eth0", "--dir", self.dir] + run.options
        if run.algorithm:
            options += ["--algorithm", run.algorithm]
        return [["ip", "netns", "exec", ns, program, "--sizes", run.sizes, "--rank",
                 str(i), "--parent", self.parent(i)] + options
                for i, ns in enumerate(self.hosts)]

    def parent(self, _):
        """The node of this rank."""
        return NODE

    @property
    def networks(self):
        """Where hosts reach one another, and the launcher reaches them."""
        return "10.9.0.0/24"

    @property
    def by_inc(self):
        """Open MPI's collectives are INC's."""
        return self.run.library == "openmpi" and self.run.algorithm in ("component", "interposer")

    def openmpi(self):
        mca = {"plm_rsh_agent": self.launcher(), "plm_rsh_no_tree_spawn": "1", "btl": "tcp,self",
               "pml": "ob1", "btl_tcp_if_include": self.networks,
               "oob_tcp_if_include": self.networks, "mpi_yield_when_idle": "1",
               "btl_tcp_eager_limit": "65536", "btl_tcp_rndv_eager_limit": "65536",
               "btl_tcp_sndbuf": "0", "btl_tcp_rcvbuf": "0", "hwloc_base_binding_policy": "none"}
        env = {}
        if self.by_inc:
            env = {"INC_PARENT": NODE, "INC_MPI": "on"}
            libs = f"{LIBS}/mpi/openmpi"
            if self.run.algorithm == "component":
                mca["mca_base_component_path"] = f"SYSTEM_DEFAULT:{libs}"
            else:
                env["LD_PRELOAD"] = f"{libs}/libinc-mpi.so"
        elif self.run.algorithm:
            mca.update({"coll_tuned_use_dynamic_rules": "1",
                        "coll_tuned_allreduce_algorithm": self.run.algorithm})
        args = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-H",
                ",".join(self.hosts)]
        for name, value in env.items():
            args += ["-x", f"{name}={value}"]
        for name, value in mca.items():
            args += ["--mca", name, value]
        return [["ip", "netns", "exec", self.switch] + args + [f"{BIN}/bench-openmpi", "--sizes",
                                                               self.run.sizes] +
                self.run.options]

    def mpich(self):
        env = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}
        if self.run.algorithm:
            env.update({"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": self.run.algorithm,
                        "MPIR_CVAR_DEVICE_COLLECTIVES": "none"})
        args = ["mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", self.launcher(),
                "-localhost", NODE, "-hosts", ",".join(self.hosts)]
        for name, value in env.items():
            args += ["-genv", name, value]
        return [["ip", "netns", "exec", self.switch] + args + [f"{BIN}/bench-mpich", "--sizes",
                                                               self.run.sizes] +
                self.run.options]

    def commands(self):
        library = self.run.library
        if library in ("openmpi", "mpich"):
            return getattr(self, library)()
        return self.per_rank(f"{BIN}/bench-{library}")

    def start(self, args, out):
        """With our names of hosts; its own process group."""
        hosts = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"',
                 f"{self.dir}/hosts"]
        if self.run.library not in ("openmpi", "mpich"):
            hosts = []
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        return subprocess.Popen(hosts + args, stdout=out, stderr=subprocess.STDOUT,
                                stdin=subprocess.DEVNULL, start_new_session=True, env=env)

    def counters(self):
        """Of the node: everything that it has counted."""
        return json.loads(command("ip", "netns", "exec", self.switch, "inc", "-j", "-s", "stats",
                                  "show"))

    def add_nodes(self):
        command("ip", "netns", "exec", self.switch, "inc", "node", "add", "dev", "br0",
                *self.run.node)

    def crowd(self):
        """
        The process that keeps the groups beside the job's, when all of them are there: behind that
        one, since who looks for a group begins with the last.
        """
        while not json.loads(command("ip", "netns", "exec", self.switch, "inc", "-j", "group", "show")):
            time.sleep(0.05)
        child = subprocess.Popen(
            ["ip", "netns", "exec", self.hosts[0], f"{BIN}/crowd", NODE, str(self.run.crowd)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True)
        said = child.stdout.readline()
        if said != "there\n":
            raise RuntimeError(f"{self.run.name}: groups beside it do not form: {said}")
        return child

    def job(self):
        """Runs it; returns the lines of JSON that rank 0 printed."""
        server = None
        if self.run.library == "udp":
            server = self.start(["ip", "netns", "exec", self.switch, f"{BIN}/udp-server", NODE],
                                subprocess.DEVNULL)
        elif self.run.library == "inc" or self.by_inc:
            command("modprobe", "inc")
            self.add_nodes()
        before, links = self.sent(), self.links()
        files = [open(f"{self.dir}/out{i}", "w+", encoding="utf-8")
                 for i in range(len(self.commands()))]
        processes = []
        try:
            for args, out in zip(self.commands(), files):
                processes.append(self.start(args, out))
                if self.run.crowd and not server:
                    server = self.crowd()
            self.wait(processes, files)
        finally:
            for process in processes + ([server] if server else []):
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
        results = self.results(files[0])
        for file in files:
            file.close()
        for r in results:
            r["sent"] = self.sent() - before
            r["links"] = {name: [now - then for now, then in zip(sent, links[name])]
                          for name, sent in self.links().items()}
            if self.run.library == "inc":
                r["node"] = self.counters()
        return results

    def results(self, file):
        with open(file.name, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.startswith("{")]

    def wait(self, processes, files):
        """
        For all of them; MPICH 4.0.2 over UCX may never come back from MPI_Finalize(): it is ended
        then.
        """
        deadline = time.monotonic() + self.run.timeout
        left, over = list(zip(processes, files)), 0
        while left:
            if (self.run.library == "mpich"
                and len(self.results(files[0])) == self.run.sizes.count(",") + 1):
                over = over or time.monotonic()
                if time.monotonic() > over + 2:
                    return
            for process, file in list(left):
                status = process.poll()
                if status is None:
                    continue
                left.remove((process, file))
                if status:
                    file.seek(0)
                    raise RuntimeError(f"{self.run.name}: status {status}: {file.read()[-2000:]}")
            if left and time.monotonic() > deadline:
                left[0][1].seek(0)
                raise RuntimeError(f"{self.run.name}: not done within {self.run.timeout} s: {left[0][1].read()[-1000:]}")
            time.sleep(0.05)

    def echoes(self):
        """Round trips between a host and the node, in seconds: the kernel answers."""
        ns, to = self.ends()
        out = command("ip", "netns", "exec", ns, "ping", "-n", "-c", str(self.run.ping), "-i",
                      "0.01", to, timeout=self.run.timeout)
        return [float(line.split("time=")[1].split()[0]) / 1e3
                for line in out.splitlines() if "time=" in line]

    def ends(self):
        """Of what echoes measure: a namespace and an address."""
        return self.hosts[0], NODE


class Tree(Lab):
    """
    Hosts below a tree of nodes. The launchers of MPI run at the root, which reaches all hosts; so
    would one at any of these.
    """

    def __init__(self, run):
        self.topology = Topology(run.topology)
        super().__init__(run)
        self.switch = self.ns(self.topology.root)
        self.hosts = [self.ns(host) for host in self.topology.hosts]

    def ns(self, place):
        return self.prefix + place.name

    def namespaces(self):
        return [self.ns(place) for place in self.topology.places.values()]

    def build(self):
        mtu, places = self.run.mtu, self.topology.places.values()
        self.batch("ip", [f"netns add {ns}" for ns in self.namespaces()])
        for place in places:
            if place.above:
                command("ip", "-n", self.ns(place.above), "link", "add", place.device, "mtu",
                        str(mtu), "type", "veth", "peer", "name", "eth0", "mtu", str(mtu), "netns",
                        self.ns(place))
        for place in places:
            self.batch("ip", host_lines(place) if place.kind == "host" else node_lines(place), "-n",
                       self.ns(place))
            if place.kind == "node":
                command("ip", "netns", "exec", self.ns(place), "sh", "-c",
                        "echo 1 >/proc/sys/net/ipv4/ip_forward")
            if place.above:
                self.shape(self.ns(place.above), [place.device], *place.link)
                self.shape(self.ns(place), ["eth0"], *place.link)
            if place.loss:
                self.send_single(self.ns(place.above), place.device)
                self.send_single(self.ns(place), "eth0")
        with open(f"{self.dir}/hosts", "w", encoding="utf-8") as file:
            file.write("127.0.0.1 localhost\n")
            file.writelines(f"{place.address} {self.ns(place)}\n" for place in places)

    def links(self):
        return {place.name: [self.sent_by(self.ns(place), "eth0"),
                             self.sent_by(self.ns(place.above), place.device)]
                for place in self.topology.places.values() if place.above}

    def parent(self, i):
        hosts, meet = self.topology.hosts, self.run.meet
        if meet == "host":
            return f"edge:{hosts[0].address}"
        return self.topology.places[meet].address if meet else hosts[i].above.address

    @property
    def networks(self):
        return "10.1.0.0/16,10.2.0.0/16"

    def add_nodes(self):
        for place in self.topology.nodes:
            device = "br0" if all(below.kind == "host" for below in place.below) else "all"
            above = ["parent", place.above.address] if place.above else []
            command("inc", "-n", self.ns(place), "node", "add", "dev", device, *above,
                    *self.run.node)

    def ends(self):
        """The longest way up."""
        return self.ns(self.topology.deepest), self.topology.root.address


def measure(run):
    with (Tree if run.topology else Lab)(run) as lab:
        if run.ping:
            return [{"seconds": lab.echoes(), "library": "ping", "bytes": 0, "ranks": run.hosts}]
        return lab.job()


def play(run):
    """A peer whose launcher has failed is started once more."""
    begin, tries = time.monotonic(), 2 if run.library in ("openmpi", "mpich") else 1
    while tries:
        tries -= 1
        try:
            for r in measure(run):
                result(run, r)
            break
        except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
            if tries:
                say(f"{run.name}: once more: {error}")
            else:
                result(run, {"error": str(error)})
    say(f"{run.name}: {time.monotonic() - begin:.1f} s")


def main():
    # all links of a guest share one queue per processor, which 1000 packets fill
    if os.environ.get("INC_VM"):
        with open("/proc/sys/net/core/netdev_max_backlog", "w", encoding="utf-8") as file:
            file.write("100000")
    with open(sys.argv[1], encoding="utf-8") as file:
        for entry in json.load(file):
            play(Run(**entry))


if __name__ == "__main__":
    main()
