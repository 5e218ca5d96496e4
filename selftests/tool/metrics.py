#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reads what `inc metrics` prints as Prometheus does, and holds it against what metrics.c has told:

    metrics.py PLAIN WITH_COUNTERS DASHBOARD

The first two are files with what it prints without and with -s. Every metric that DASHBOARD names
must be there, and it must be a dashboard. Prints "ok - NAME" and "not ok - NAME", and "end".
"""
import json
import os
import re
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COUNTERS = os.path.join(TOP, "uapi/linux/inc_counters.h")
NODE = {"group": "7", "job": "18446744073709551615", "stripe": "1", "role": "node", "incarnation": "48879", "dev": "all"}
RANK = {"group": "7", "job": "18446744073709551615", "stripe": "1", "role": "rank", "incarnation": "48879", "rank": "1"}
MEMBER = {"group": "7", "job": "18446744073709551615", "tree": "1", "stripe": "2", "incarnation": "48879", "rank": "3",
          "addr": "10.0.0.3"}
WANTED = [
    ("inc_group_size", NODE, 4), ("inc_group_joined", RANK, 3), ("inc_group_epoch", NODE, 2),
    ("inc_group_next_block", NODE, 2 ** 40), ("inc_group_window_blocks", NODE, 512),
    ("inc_group_cwnd_blocks", RANK, 128), ("inc_group_memory_bytes", NODE, 4096),
    ("inc_group_srtt_seconds", RANK, 0.000085), ("inc_group_waited_seconds", NODE, 1.5),
    ("inc_group_waiting_rank", NODE, 3), ("inc_group_late", NODE, 1),
    ("inc_group_state", {**NODE, "inc_group_state": "active"}, 1),
    ("inc_group_state", {**RANK, "inc_group_state": "ready"}, 1),
    ("inc_member_ranks", MEMBER, 1), ("inc_member_heard_seconds", MEMBER, 0.02),
    ("inc_member_next_block", MEMBER, 9), ("inc_member_srtt_seconds", MEMBER, 0.00009),
    ("inc_member_missed_blocks_total", MEMBER, 11),
]
LATE = [
    ("inc_member_late_seconds_bucket", {**MEMBER, "le": "0.0"}, 5),
    ("inc_member_late_seconds_bucket", {**MEMBER, "le": "1e-06"}, 5),
    ("inc_member_late_seconds_bucket", {**MEMBER, "le": "3e-06"}, 12),
    ("inc_member_late_seconds_bucket", {**MEMBER, "le": "+Inf"}, 14),
    ("inc_member_late_seconds_count", MEMBER, 14), ("inc_member_late_seconds_sum", MEMBER, 2.5),
]
MAX_SHOWN = 10


def result(name, complaints):
    print(f"{'not ok' if complaints else 'ok'} - metrics: {name}")
    for line in complaints[:MAX_SHOWN]:
        print(f"# {line}")


def samples_of(path):
    """(name, labels) -> value. The parser refuses what is no OpenMetrics text."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    out = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(plain(sample.labels).items())))
            if key in out:
                raise ValueError(f"{key} is there twice")
            out[key] = sample.value
    return out


def plain(labels):
    """The limit of a bucket as a number is written by Python."""
    return {k: str(float(v)) if k == "le" and v != "+Inf" else v for k, v in labels.items()}


def lacks(samples, wanted):
    return [f"{name} {labels}: {samples.get((name, tuple(sorted(labels.items()))))}, expected {value}"
            for name, labels, value in wanted
            if samples.get((name, tuple(sorted(labels.items())))) != value]


def counters(prefix, labels):
    """What metrics.c says of all counters: the n-th is 1000 + n."""
    with open(COUNTERS, encoding="utf-8") as file:
        names = re.findall(r"^INC_COUNTER\((\w+),", file.read(), re.M)
    assert len(names) > 50
    for n, name in enumerate(names, 1001):
        name = name.lower()
        if name.startswith("drop_"):
            yield f"{prefix}drops_total", {**labels, "reason": name[5:]}, n
        else:
            yield f"{prefix}{name}_total", labels, n


def ports():
    labels = {"node": "lo", "dev": 'a"b\\c\nd?'}
    for n, what in enumerate(["rx_packets", "rx_bytes", "rx_buffers", "tx_packets", "tx_bytes",
                              "tx_buffers"], 104):
        yield f"inc_port_{what}_total", labels, n


def expressions(node):
    """Every "expr" of a dashboard, wherever it is, and the queries of its variables."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("expr", "query", "definition") and isinstance(value, str):
                yield value
            else:
                yield from expressions(value)
    elif isinstance(node, list):
        for value in node:
            yield from expressions(value)


def dashboard_faults(path, samples):
    with open(path, encoding="utf-8") as file:
        board = json.load(file)
    faults = [f"no {key}" for key in ("title", "uid", "schemaVersion", "panels") if not board.get(key)]
    names = set(re.findall(r"\binc_\w+", " ".join(expressions(board))))
    there = {name for name, _ in samples} | {k for _, labels in samples for k, _ in labels}
    faults += [f"{name}: not exported" for name in sorted(names - there)]
    ids = [panel["id"] for panel in board["panels"]]
    if len(set(ids)) != len(ids):
        faults.append(f"two panels have one id: {ids}")
    for panel in board["panels"]:
        if panel["type"] != "row" and not list(expressions(panel)):
            faults.append(f"panel {panel['title']}: no expression")
    if len(names) < 10:
        faults.append(f"only {len(names)} metrics are named")
    return faults


def main():
    few, all_of_it = samples_of(sys.argv[1]), samples_of(sys.argv[2])
    result("groups and members", lacks(few, WANTED) + lacks(all_of_it, WANTED))
    result("counters of the namespace", lacks(few, counters("inc_", {})))
    result("ports", lacks(few, ports()))
    result("counters of groups, with -s", lacks(all_of_it, counters("inc_group_", NODE)) +
           [f"{key}: without -s" for key in few if key[0] in ("inc_group_drops_total", "inc_member_late_seconds_count")])
    result("lateness as a histogram, with -s", lacks(all_of_it, LATE))
    result("the dashboard names what there is", dashboard_faults(sys.argv[3], all_of_it))
    print("end")


main()
