# SPDX-License-Identifier: GPL-2.0-only
"""The inc tool and sch_inc; the module comes and goes. The last of the tests: it is unloaded."""

import json
import os
import shutil
import subprocess
import tempfile

import qdisc_packets as pk
import qdisc_rtnl as nl
from qdisc_lab import DEV, DST, HEADERS, OPEN, Skip, equal, run, test, wait_until

PLUGINS = os.path.join(os.environ["INC_TOP"], "build/userspace/lib/tc")


@test("the inc tool shows the same options and counters")
def t_tool(lab):
    lab.fresh(share=70, limit=17, port=5300)
    lab.udp.sendto(pk.inc("contrib", 1000), (DST, 5300))
    lab.udp.sendto(pk.inc("result", 500), (DST, 5300))
    lab.other(100)
    lab.counts(control=1, contrib=1, other=1)
    if not shutil.which("inc"):
        raise Skip("the inc tool is not on PATH")
    shown = json.loads(run(f"inc -j -s qdisc show dev {DEV}"))
    equal(len(shown), 1, "qdiscs shown")
    equal(shown[0]["options"], lab.rtnl.options(), "options shown")
    stats = lab.rtnl.stats()
    equal(shown[0]["stats"]["blocks"], stats.pop("blocks"), "blocks shown")
    equal(stats.pop("rate"), 0, "rate before anything has waited")
    for cls, counters in shown[0]["stats"]["classes"].items():
        equal(sum(d["packets"] for d in counters["delay"]), counters["packets"],
              f"packets by the time that {cls} waited")
        counters["delay"] = stats[cls]["delay"]
    equal(shown[0]["stats"]["classes"], stats, "classes shown")
    equal(sum(d["packets"] for d in shown[0]["stats"]["groups"][0].pop("delay")), 1,
          "packets of group 7 by delay")
    equal(shown[0]["stats"]["groups"],
          [{"group": 7, "weight": 1, "packets": 1, "bytes": HEADERS + 1000, "drops": 0,
            "marks": 0, "qlen": 0, "backlog": 0}], "groups shown")


@test("the inc tool adds, changes, replaces and deletes it")
def t_tool_sets(lab):
    if not shutil.which("inc"):
        raise Skip("the inc tool is not on PATH")
    lab.clear()
    run(f"inc qdisc add dev {DEV} handle 5: share 60 limit 9 port 4444 weight 7:2,4294967295:256 target 300 control 70 rate 25mbit")
    want = {"share": 60, "limit": 9, "port": 4444, "target": 300, "control": 70, "rate": 25000000}
    weights = {7: 2, 0xFFFFFFFF: 256}
    equal((lab.rtnl.options(), lab.rtnl.weights()), (want, weights), "options added")
    equal(json.loads(run("inc -j qdisc show"))[0]["options"],
          want | {"weights": [{"group": g, "weight": w} for g, w in weights.items()]},
          "options shown")
    run(f"inc qdisc change dev {DEV} limit 10")
    equal((lab.rtnl.options(), lab.rtnl.weights()), (want | {"limit": 10}, weights),
          "options changed")
    for wrong in ("add", "change handle 6:", "del handle 6:"):
        done = subprocess.run(
            f"inc qdisc {wrong.split()[0]} dev {DEV} {' '.join(wrong.split()[1:])}".split(),
                              stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 2 and done.stderr.startswith(f"inc: qdisc {wrong.split()[0]}: "), f"{wrong}: {done}"
    run(f"inc qdisc change dev {DEV} weight none")
    equal((lab.rtnl.options(), lab.rtnl.weights()), (want | {"limit": 10}, {}),
          "weights taken away")
    run(f"inc qdisc replace dev {DEV} handle 6: share 61")
    equal(lab.rtnl.options(),
          {"share": 61, "limit": 1000, "port": pk.INC_PORT, "target": 2000, "control": 90},
          "options of the new one")
    run(f"inc qdisc del dev {DEV}")
    equal(json.loads(run(f"inc -j qdisc show dev {DEV}")), [], "qdiscs after del")
    lab.clear()
    run(f"tc qdisc add dev {DEV} root handle 1: {OPEN}")
    run(f"inc qdisc add dev {DEV} parent 1:1 handle 2: share 33")
    equal(lab.rtnl.options()["share"], 33, "share below a token bucket")


def tc(command, program="tc"):
    """tc with the plugin that was built for it: (exit status, output, errors)."""
    env = os.environ | {"TC_LIB_DIR": PLUGINS}
    done = subprocess.run([program, *command.split()], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=env,
                          check=False)
    return done.returncode, done.stdout, done.stderr


@test("tc takes and shows all options with the plugin, and refuses wrong ones")
def t_plugin(lab):
    if not os.path.exists(f"{PLUGINS}/q_inc.so"):
        raise Skip("q_inc.so was not built: no tc of iproute2 5 or 6 was there")
    lab.clear()
    status, _, errors = tc(
        f"qdisc add dev {DEV} root handle 5: inc share 60 control 70 limit 9 port 5300 target 300 "
                           "rate 25mbit weight 7:2,4294967295:256")
    equal((status, errors), (0, ""), "tc qdisc add")
    want = {"share": 60, "limit": 9, "port": 5300, "target": 300, "control": 70, "rate": 25000000}
    equal((lab.rtnl.options(), lab.rtnl.weights()), (want, {7: 2, 0xFFFFFFFF: 256}), "options")
    lab.udp.sendto(pk.inc("contrib", 1000), (DST, 5300))
    status, output, errors = tc(f"-j -s qdisc show dev {DEV}")
    equal((status, errors), (0, ""), "tc -j qdisc show")
    shown = [q for q in json.loads(output) if q["kind"] == "inc"][0]
    inc = json.loads(run(f"inc -j -s qdisc show dev {DEV}"))[0]
    equal(shown["options"], inc["options"], "options that tc shows, and inc")
    equal(shown["classes"], inc["stats"]["classes"], "classes that tc shows, and inc")
    status, output, errors = tc(f"-s qdisc show dev {DEV}")
    equal((status, errors), (0, ""), "tc qdisc show")
    assert "share 60% control 70% limit 9" in output and "contrib sent 1 packets" in output, output
    status, output, errors = tc(f"-s class show dev {DEV}")
    equal((status, errors), (0, ""), "tc class show")
    assert "group 7 weight 2 marked 0" in output, output
    equal(tc(f"qdisc change dev {DEV} root handle 5: inc limit 10 weight none")[::2], (0, ""),
          "tc qdisc change")
    equal((lab.rtnl.options(), lab.rtnl.weights()), (want | {"limit": 10}, {}), "options changed")
    for wrong, text in (("share 0", "inc: share 0: expected a number in 1..99\n"),
                        ("limit", "inc: limit: value is missing\n"),
                        ("shares 5", "inc: shares: unknown; expected one of: "
                         "share, control, limit, port, target, rate, weight\n")):
        status, _, errors = tc(f"qdisc change dev {DEV} root handle 5: inc {wrong}")
        assert status and errors == text, f"{wrong}: status {status}, {errors!r}"
    equal(lab.rtnl.options(), want | {"limit": 10}, "options after wrong ones")


@test("the plugin refuses another tc by name; plain tc needs none")
def t_plugin_other(lab):
    if not os.path.exists(f"{PLUGINS}/q_inc.so"):
        raise Skip("q_inc.so was not built: no tc of iproute2 5 or 6 was there")
    name = subprocess.run(["tc", "-V"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()
    version = name.split("iproute2-")[1].split(",")[0]
    other = version[:-1] + ("1" if version[-1] != "1" else "2")
    with tempfile.TemporaryDirectory() as where:
        program = f"{where}/tc"
        with open(shutil.which("tc"), "rb") as f, open(program, "wb") as out:
            out.write(f.read().replace(version.encode() + b"\0", other.encode() + b"\0"))
        os.chmod(program, 0o755)
        lab.clear()
        status, _, errors = tc(f"qdisc add dev {DEV} root inc share 5", program)
        text = (f'q_inc.so was built for "{name}", this is "{name.replace(version, other)}": '
                f'build it anew, or use inc qdisc\n')
        assert status and errors == text, f"status {status}, {errors!r}, expected {text!r}"
        equal(json.loads(run(f"inc -j qdisc show dev {DEV}")), [], "qdiscs")
    run(f"tc qdisc add dev {DEV} root inc")
    assert "qdisc inc" in run(f"tc -s qdisc show dev {DEV}"), "tc shows it"
    assert '"kind":"inc"' in run(f"tc -j -s qdisc show dev {DEV}"), "tc shows it in JSON"


@test("the module cannot go while it is in use")
def t_in_use(lab):
    lab.fresh()
    equal(nl.module_refs("sch_inc"), 1, "users of the module")
    done = subprocess.run(["rmmod", "sch_inc"], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode and "in use" in done.stderr, \
        f"rmmod: status {done.returncode}, {done.stderr!r}"
    lab.inc()
    lab.counts(contrib=1)


def unload(lab):
    if " sch_inc " in os.environ.get("INC_KEPT", ""):
        raise Skip("it was loaded before the test")
    if subprocess.run(["modprobe", "-q", "-n", "sch_inc"], check=False).returncode:
        raise Skip("it is not installed")
    run("modprobe sch_inc")
    lab.clear()
    wait_until(lambda: nl.module_refs("sch_inc") == 0,
               lambda: f"{nl.module_refs('sch_inc')} users of the module")
    run("rmmod sch_inc")
    equal(nl.module_refs("sch_inc"), None, "users of the module that was unloaded")


@test("tc alone loads the module")
def t_autoload(lab):
    # The kernel starts modprobe with the root of its own threads, which in a guest need not be
    # ours.
    modules = f"/lib/modules/{os.uname().release}/modules.dep"
    if not os.path.exists("/proc/2/root" + modules):
        raise Skip(f"the kernel's own threads see no {modules}")
    unload(lab)
    run(f"tc qdisc add dev {DEV} root inc")
    equal(lab.rtnl.options()["share"], 80, "share")


@test("the module unloads after the last qdisc")
def t_unload(lab):
    unload(lab)
