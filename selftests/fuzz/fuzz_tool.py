#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""fuzz_tool.py PROGRAM DIR...: what fuzz_tool makes the inc tool print under -j for all inputs there is JSON to python."""
import json
import os
import subprocess
import sys
import tempfile


def main(program, *inputs):
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([program, "-runs=0", *inputs], env={**os.environ, "INC_FUZZ_JSON": file.name}, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        documents = file.read().split(b"\0")[:-1]
    for document in documents:
        try:
            json.loads(document.decode("utf-8"))
        except ValueError as err:
            print(f"{err}: {document!r}")
            return 1
    print(f"{len(documents)} documents are JSON")
    return 0 if documents else 1


sys.exit(main(*sys.argv[1:]))
