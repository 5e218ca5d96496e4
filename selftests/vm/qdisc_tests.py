# SPDX-License-Identifier: GPL-2.0-only
"""
Runs the tests of sch_inc; started by 40-qdisc.sh. Arguments choose tests by words of their names,
and so does ONLY, a regular expression, in the environment.
"""

import os
import re
import sys
import time
import traceback

# by being imported they add their tests, in this order
# pylint: disable=unused-import
import qdisc_options
import qdisc_classes
import qdisc_service
import qdisc_queues
import qdisc_split
import qdisc_devices
import qdisc_module
from qdisc_lab import TESTS, Lab, Skip, default_qdisc, neighbours


def main():
    only = os.environ.get("ONLY", "")
    chosen = [t
              for t in TESTS if re.search(only, t[0])
              and (not sys.argv[1:] or any(w in t[0] for w in sys.argv[1:]))]
    if not chosen and only:
        print(f"1..0 # SKIP no name here matches ONLY='{only}'")
        sys.exit(4)
    if not chosen:
        sys.exit(f"qdisc_tests.py: no test has {' or '.join(sys.argv[1:])} in its name")
    failed = 0
    print(f"1..{len(chosen)}", flush=True)
    lab = Lab()
    neighbours()
    for number, (name, function) in enumerate(chosen, 1):
        verdict, note, begin = "ok", "", time.monotonic()
        try:
            function(lab)
        except Skip as skip:
            note = f" # SKIP {skip}"
        except Exception:               # whatever it is, the other tests go on
            verdict, failed = "not ok", failed + 1
            print("# " + traceback.format_exc().rstrip().replace("\n", "\n# "))
        finally:
            lab.stop_floods()
            lab.clear()                 # what still waits must not leave while the next test looks
        if time.monotonic() - begin > 5:
            print(f"# {time.monotonic() - begin:.1f} s")
        print(f"{verdict} {number} - {name}{note}", flush=True)
    sys.exit(1 if failed else 0)


with default_qdisc("pfifo_fast"):
    main()
