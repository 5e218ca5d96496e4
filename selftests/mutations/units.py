# SPDX-License-Identifier: GPL-2.0-only
"""What finds faults in files of the glue without a kernel: unit tests that contain such a file, and
the little of Linux that it needs.
"""
import concurrent.futures
import os
import re
import subprocess
import time

from programs import CORE, FLAGS, OUT, SANITIZE, TOP, Objects, is_vector, read, sources, tool

STUBS = ["-idirafter", "selftests/unit/stub"]


def units_of(file):
    """The names of the tests that contain the file, or what it is the header of."""
    inside = os.path.relpath(file, "kernel").rsplit(".", 1)[0]
    return [os.path.basename(s)[:-2] for s in sources("selftests/unit/test_*.c")
            if re.search(rf'^#include "{inside}\.c"', read(f"{TOP}/{s}"), re.M)]


class Units:
    """These tests, with files of one tree. Engine and reduction are those without a fault."""

    def __init__(self, top, patience):
        self.top = top
        self.patience = patience    # seconds for a test of which nobody knows how long it takes
        self.took = {}
        self.core = None

    def archive(self):
        """Engine and reduction, compiled when they are needed."""
        if not self.core:
            os.makedirs(OUT, exist_ok=True)
            objects = Objects()
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                made = objects.all([s for s in CORE if not is_vector(s)], ["-O1", *SANITIZE], pool)
                made |= objects.all([s for s in CORE if is_vector(s)], ["-O1"], pool)
            self.core = f"{self.top}/core.a"
            tool(["ar", "rcs", self.core, *made.values()])
        return self.core

    def fails(self, name, limit):
        """Does it? Its build is no test: what it says of that is no failure."""
        program = f"{self.top}/{name}"
        command = ["gcc", *FLAGS, *STUBS, "-O1", *SANITIZE, "-o", program,
                   f"selftests/unit/{name}.c", self.archive(), "-lpthread", "-lm"]
        if subprocess.run(command, cwd=self.top, stderr=subprocess.DEVNULL, check=False).returncode:
            return False
        began = time.monotonic()
        try:
            status = subprocess.run([program], env=dict(os.environ, KTAP_SEED="1"), timeout=limit,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    check=False).returncode
        except subprocess.TimeoutExpired:
            return True
        self.took[name] = time.monotonic() - began
        return bool(status)

    def first_failure(self, names, limits):
        """The first of them that fails; None: all pass."""
        return next((n for n in names if self.fails(n, limits.get(n, self.patience))), None)
