# SPDX-License-Identifier: GPL-2.0-only
"""Packets that tc copies, or sends by another device, at a device's way in or out."""
import contextlib
import re

from inc_abi import tool

# UDP that has not come by here: its time to live is changed, which the copy has, too, so that this
# is not copied in its turn.
UNCOPIED = "u32 match u8 64 0xff at 8 match u8 17 0xff at 9 " \
    "action pedit ex munge ip ttl set 63 pipe csum ip pipe"


class Mirred:
    """What `tc filter` on that way has done; @where: namespace, device, ingress or egress."""

    def __init__(self, *where):
        self.where = where

    def packets(self):
        ns, dev, way = self.where
        shown = tool("tc", "-n", ns, "-s", "filter", "show", "dev", dev, way)
        return sum(int(n) for n in re.findall(r"mirred \(.*?Sent \d+ bytes (\d+) pkt", shown, re.S))


@contextlib.contextmanager
def mirred(ns, dev, way, action, *, protocol="ip", match="matchall"):
    """@action: words behind `action mirred`"""
    words = f"dev {dev} {way} protocol {protocol} pref 1 {match} action mirred {action}"
    tool("tc", "-n", ns, "qdisc", "add", "dev", dev, "clsact")
    try:
        tool("tc", "-n", ns, "filter", "add", *words.split())
        yield Mirred(ns, dev, way)
    finally:
        tool("tc", "-n", ns, "qdisc", "del", "dev", dev, "clsact")


class Duplicates:
    """What netem has duplicated; @where: namespace, device."""

    def __init__(self, *where):
        self.where = where

    def packets(self):
        ns, dev = self.where
        shown = tool("tc", "-n", ns, "-s", "qdisc", "show", "dev", dev, "root")
        return int(re.search(r"Sent \d+ bytes (\d+) pkt", shown).group(1)) // 2


@contextlib.contextmanager
def duplicated(ns, dev):
    tool("tc", "-n", ns, "qdisc", "add", "dev", dev, "root", "netem", "duplicate", "100%")
    try:
        yield Duplicates(ns, dev)
    finally:
        tool("tc", "-n", ns, "qdisc", "del", "dev", dev, "root")


@contextlib.contextmanager
def copied(ns, dev, way):
    """
    All of UDP goes there twice. New kernels mirror nothing to the device and direction that it has:
    what goes out is netem's to duplicate, and what comes in comes once more by another device.
    """
    if way == "egress":
        with duplicated(ns, dev) as copies:
            yield copies
        return
    tool("ip", "-n", ns, "link", "add", "copies", "up", "type", "dummy")
    try:
        with mirred(ns, "copies", "ingress", f"ingress redirect dev {dev}"), \
                mirred(ns, dev, way, "ingress mirror dev copies", match=UNCOPIED) as copies:
            yield copies
    finally:
        tool("ip", "-n", ns, "link", "del", "copies")
