# SPDX-License-Identifier: GPL-2.0-only
"""Options of sch_inc: set, dumped, refused."""

import qdisc_packets as pk
import qdisc_rtnl as nl
from qdisc_lab import DEV, equal, run, test


@test("plain tc adds it with the default options")
def t_plain(lab):
    lab.clear()
    run(f"tc qdisc add dev {DEV} root inc")
    equal(lab.rtnl.options(),
          {"share": 80, "limit": 1000, "port": pk.INC_PORT, "target": 2000, "control": 90},
          "options")
    lab.expect(control={"packets": 0, "bytes": 0}, contrib={"packets": 0, "bytes": 0},
               other={"packets": 0, "bytes": 0}, blocks=0)


@test("all options are set, changed one by one, and dumped")
def t_options(lab):
    want = {"share": 99, "limit": 1, "port": 65535, "target": 1, "control": 1, "rate": 10 ** 15}
    lab.fresh(**want)
    equal(lab.rtnl.options(), want, "options given at add")
    for name, value in (("share", 1), ("limit", 1000000), ("port", 1), ("target", 10000000),
                        ("share", 50),
                        ("control", 99), ("rate", 1000)):
        lab.rtnl.set(lab.coded({name: value}))
        want[name] = value
        equal(lab.rtnl.options(), want, f"options after {name} {value}")
    lab.rtnl.set([], nested=False)
    equal(lab.rtnl.options(), want, "options after an empty change")
    lab.rtnl.set(lab.coded({"share": 2}), nl.NLM_F_CREATE | nl.NLM_F_REPLACE)
    equal(lab.rtnl.options()["share"], 2, "share after replace")


BAD = (([(nl.SHARE, nl.u32(0))], "sch_inc: share 0: expected 1..99"),
       ([(nl.SHARE, nl.u32(100))], "sch_inc: share 100: expected 1..99"),
       ([(nl.SHARE, nl.u32(0xFFFFFFFF))], "sch_inc: share 4294967295: expected 1..99"),
       ([(nl.LIMIT, nl.u32(0))], "sch_inc: limit 0: expected 1..1000000"),
       ([(nl.LIMIT, nl.u32(1000001))], "sch_inc: limit 1000001: expected 1..1000000"),
       ([(nl.PORT, nl.u16(0))], "sch_inc: port 0: expected 1..65535"),
       ([(nl.SHARE, nl.u32(10)), (nl.LIMIT, nl.u32(0))], "sch_inc: limit 0: expected 1..1000000"),
       ([(nl.SHARE, nl.u16(10))], None),
       ([(nl.SHARE, nl.u32(10) + b"\0\0\0\0")], None),
       ([(nl.PORT, nl.u32(10))], None),
       ([(nl.SHARE, b"")], None),
       ([(nl.TARGET, nl.u32(0))], "sch_inc: target 0: expected 1..10000000"),
       ([(nl.TARGET, nl.u32(10000001))], "sch_inc: target 10000001: expected 1..10000000"),
       ([(nl.CONTROL, nl.u32(0))], "sch_inc: control 0: expected 1..99"),
       ([(nl.CONTROL, nl.u32(100))], "sch_inc: control 100: expected 1..99"),
       ([(nl.RATE, nl.u64(999))], "sch_inc: rate 999: expected 0 or 1000..1000000000000000"),
       ([(nl.RATE, nl.u64(10 ** 15 + 1))],
        "sch_inc: rate 1000000000000001: expected 0 or 1000..1000000000000000"),
       ([(nl.RATE, nl.u32(1000))], None),
       ([(nl.WEIGHTS, nl.u32(1))], "sch_inc: weights of 4 bytes: expected a multiple of 8"),
       ([(nl.WEIGHTS, nl.u32(5) + nl.u32(0))], "sch_inc: weight 0: expected 1..256"),
       ([(nl.WEIGHTS, nl.u32(5) + nl.u32(2) + nl.u32(6) + nl.u32(257))],
        "sch_inc: weight 257: expected 1..256"),
       ([(nl.WEIGHTS, (nl.u32(5) + nl.u32(2)) * 2)],
        "sch_inc: group 5 has two weights: expected one"),
       ([(nl.WEIGHTS, b"".join(nl.u32(g) + nl.u32(1) for g in range(65)))], None),
       ([(9, nl.u32(1))], None))


@test("bad options are refused with the value and the range, and change nothing")
def t_bad_change(lab):
    lab.fresh(share=33, limit=44, port=5555)
    for options, text in BAD:
        try:
            lab.rtnl.set(options)
        except nl.Refused as refused:
            assert refused.text and (text is None or refused.text == text), \
                f"{options}: {refused}, expected {text!r}"
            equal(lab.rtnl.options(),
                  {"share": 33, "limit": 44, "port": 5555, "target": 2000, "control": 90},
                  f"options after {options}")
        else:
            raise AssertionError(f"{options} was accepted")


@test("bad options at add leave no qdisc behind")
def t_bad_add(lab):
    lab.clear()
    for options, _ in BAD:
        try:
            lab.rtnl.set(options, nl.NLM_F_CREATE | nl.NLM_F_EXCL)
        except nl.Refused:
            kinds = [kind for _, kind, _ in lab.rtnl.qdiscs().values()]
            assert "inc" not in kinds, f"{options} was refused, but there is {kinds}"
        else:
            raise AssertionError(f"{options} was accepted")
