#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds documents against the sources: every text of troubleshooting.rst is one that a program or the
kernel prints, and each refusal is there, every tracepoint and field of tracing.rst is in kernel/core/trace.h, the commands of
howto.rst are those that a test runs.

Prints "ok - NAME" and "not ok - NAME", and "end" at the end.
"""
import glob
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENTS = os.path.join(TOP, "Documentation")


def result(name, complaints):
    print(f"{'not ok' if complaints else 'ok'} - documents: {name}")
    for line in complaints:
        print(f"# {line}")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def literals():
    """All strings of the C sources, those that stand behind one another as one."""
    out = []
    for pattern in ("kernel/**/*.[ch]", "userspace/**/*.[ch]", "uapi/linux/*.h"):
        for path in glob.glob(os.path.join(TOP, pattern), recursive=True):
            text = re.sub(r"/\*.*?\*/", "", read(path), flags=re.S)
            for run in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', text):
                out.append("".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', run)))
    return "\0".join(out)


def printed_texts():
    keys = re.findall(r"^``([^`\n]+)``\n    ", read(DOCUMENTS, "troubleshooting.rst"), re.M)
    said = literals()
    complaints = [f"'{key}': nothing prints it" for key in keys if key not in said]
    if len(keys) < 40:
        complaints.append(f"only {len(keys)} texts: expected 40 or more")
    if len(set(keys)) != len(keys):
        complaints.append("a text is there twice")
    result("what troubleshooting.rst names is printed", complaints)


def tracepoints():
    fields = {}
    for name, body in re.findall(r"TRACE_EVENT\((\w+),(.*?)TP_fast_assign", read(TOP, "kernel/core/trace.h"), re.S):
        fields[name] = set(re.findall(r"__field\(\w+, (\w+)\)", body))
    complaints, named = [], set()
    text = read(DOCUMENTS, "tracing.rst")
    for line in re.findall(r"^\tbpftrace -e '(.*)'$", text, re.M):
        parts = re.split(r"tracepoint:netinc:(\w+)", line)[1:]
        for name, program in zip(parts[::2], parts[1::2]):
            named.add(name)
            lacks = set(re.findall(r"args->(\w+)", program)) - fields.get(name, set())
            if lacks or name not in fields:
                complaints.append(f"{name}: {', '.join(sorted(lacks)) or 'no such tracepoint'}")
    complaints += [f"{name}: not in the table" for name in fields if f"\n``{name}``" not in text]
    if len(named) < 4 or len(fields) < 5:
        complaints.append(f"{len(named)} of {len(fields)} tracepoints are used: expected 4 of 5")
    result("what tracing.rst looks at is there", complaints)


def reasons():
    """The numbers that tracing.rst gives as examples."""
    names = re.findall(r"^INC_COUNTER\((\w+),", read(TOP, "uapi/linux/inc_counters.h"), re.M)
    text = read(DOCUMENTS, "tracing.rst")
    wrong = [f"{n} is {names[int(n) - 1]}, not {name}"
             for n, name in re.findall(r"\((\d+) is (DROP_\w+)\)", text) if names[int(n) - 1] != name]
    result("reasons of drops have the numbers that tracing.rst says",
           wrong if re.search(r"\d+ is DROP_", text) else ["there is no example"])


def recipes():
    said = subprocess.run([sys.executable, "-B", os.path.join(TOP, "tools", "docs", "recipes"), "--check"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    lines = said.stdout.splitlines()
    result("recipes of howto.rst are run by a test, as they stand there",
           lines or ([f"exit status {said.returncode}"] if said.returncode else []))


def body_of(path, start):
    """From a line that begins like this to the brace that ends it."""
    return re.search(rf"^{re.escape(start)}.*?^}}", read(TOP, path), re.M | re.S).group()


def refusals():
    """Why a join, an operation, a question to a node has failed: what is said of each."""
    out = re.findall(r'INC_ERROR\(\w+,\s*"(.*)"\)', read(TOP, "uapi/linux/inc_names.h"))
    out += re.findall(r'return "(.*)";', body_of("userspace/libinc/join.c", "static const char *refusal_text("))
    out += re.findall(r'return "(.*)";', body_of("userspace/libinc/join.c", "static const char *meeting_text("))
    out += re.findall(r'return "(.*)";', body_of("userspace/libinc/opts.c", "static const char *why_no_place("))
    out += re.findall(r'"([^"\n]* [^"\n]*)"', body_of("userspace/libinc/join.c", "int inc_join_failed("))
    out += re.findall(r'return "(.*)";', body_of("userspace/libinc/text.c", "const char *inc_strerror("))
    out += re.findall(r'\[ANSWER_\w+\] = { "[a-z-]+", "(.*)" }', read(TOP, "userspace/inc/ping.c"))
    # "success" and "node" are no refusals; two are parts of texts, or nothing but places for them
    return [text for text in out if re.search("[a-z]{3}", text) and text not in ("success", "node")
            and not text.startswith(("%s group %u as", "inc parent set ADDR, or"))]


def told_texts():
    keys = re.findall(r"^``([^`\n]+)``(?=\n)", read(DOCUMENTS, "troubleshooting.rst"), re.M)
    texts = refusals()
    complaints = [f"'{text}': not in troubleshooting.rst" for text in texts if not any(key in text for key in keys)]
    if len(texts) < 45:
        complaints.append(f"only {len(texts)} refusals are found: expected 45 or more")
    result("troubleshooting.rst has each refusal", complaints)


# Read by inc run's own way to its hosts; the name of a macro in an error text.
NO_SETTINGS = {"INC_RUN_HOSTS", "INC_IN_PLACE"}


def environment():
    """Names of variables are strings of their own, whatever reads them."""
    read_by = {}
    for path in glob.glob(os.path.join(TOP, "userspace/**/*"), recursive=True):
        if re.search(r"\.(c|h|cpp|hpp|py)$", path):
            for name in re.findall(r"""["'](INC_[A-Z0-9_]*[A-Z0-9])["']""", read(path)):
                read_by.setdefault(name, os.path.relpath(path, TOP))
    page = read(TOP, "userspace/inc/inc.7")
    page = page[page.index(".SH ENVIRONMENT"):]
    told = set()
    for line in re.findall(r"^\.TP\n\.BR? (.*)$", page[:page.index("\n.SH ", 1)], re.M):
        told |= set(re.findall(r"INC_[A-Z0-9_]+", line))
    complaints = [f"{name} ({path}): not in inc(7)" for name, path in sorted(read_by.items())
                  if name not in told | NO_SETTINGS]
    complaints += [f"{name}: in inc(7), but nothing reads it" for name in sorted(told - set(read_by))]
    complaints += [f"{name}: no longer there" for name in sorted(NO_SETTINGS - set(read_by))]
    if len(told) < 20:
        complaints.append(f"only {len(told)} variables: expected 20 or more")
    result("inc(7) has each variable of the environment that is read", complaints)


def versions():
    """It is said in one place, and what cannot read it there says the same."""
    version = re.search(r'^#define INC_VERSION "(.*)"$', read(TOP, "userspace/libinc/internal.h"), re.M).group(1)
    said = {}
    for path, pattern in {
            "debian/changelog": r"\Ainc-linux \((.*?)(?:-\d+)?\)",
            "packaging/inc-linux.spec": r"^Version: +(\S+)$",
            "userspace/python/inc/__init__.py": r'^__version__ = "(.*)"$',
            "CHANGELOG.md": r"^## \[(.*?)\] - ",
    }.items():
        found = re.search(pattern, read(TOP, path), re.M)
        said[path] = found.group(1) if found else "nothing"
    result("the version is the same everywhere",
           [f"{path} says {text}, libinc {version}" for path, text in said.items() if text != version])


printed_texts()
versions()
told_texts()
environment()
tracepoints()
reasons()
recipes()
print("end")
