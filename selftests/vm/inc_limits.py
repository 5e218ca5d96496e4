# SPDX-License-Identifier: GPL-2.0-only
"""Limits as the inc tool shows them, other limits for a while, and other users."""
import os

import inc_abi as abi
from inc_abi import wait_until
from inc_proc import libc

NOBODY = 65534


def accounts(ns):
    return abi.show(ns, "limits")


def one(ns, name, uid=None):
    """
    What there is of one limit: of the namespace, or of a user (0 of everything if he has nothing).
    """
    for account in accounts(ns):
        if account.get("uid") == uid:
            return account[name]
    return {"use": 0, "refused": 0}


def use(ns, name, uid=None):
    return one(ns, name, uid)["use"]


class Limit:
    """Another limit for a while."""

    def __init__(self, ns, name, value, user=False):
        self.ns, self.name, self.words = ns, name, ("user",) if user else ()
        self.before = one(ns, name.replace("-", "_"), 0 if user else None)["max"]
        self.set(value)

    def set(self, value):
        abi.tool("inc", "-n", self.ns, "limits", "set", *self.words, self.name, str(value))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.set(self.before)


def nothing_used():
    """Every namespace and every user has given back everything."""
    left = []
    for ns in "sw", "h1", "h2", "h3":
        for account in accounts(ns):
            left += [(ns, account.get("uid", "netns"), name, v["use"])
                     for name, v in account.items()
                     if isinstance(v, dict) and v["use"]]
    return left


def all_back():
    """Groups that have failed stay for two dead limits."""
    wait_until(lambda: not nothing_used(), lambda: f"all is given back: {nothing_used()}")


def enter(ns):
    """For a child that stays there."""
    fd = os.open(f"/run/netns/{ns}", os.O_RDONLY)
    if libc.setns(fd, 0x40000000):
        raise OSError(abi.ctypes.get_errno(), f"setns {ns}")
