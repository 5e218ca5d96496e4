# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Makes the wheel of the package `inc`, as PEP 517 has it: pip calls build_wheel() and build_sdist(). Files of pure Python
need no compiler and no build system, and so there is nothing to be fetched.

    python3 backend.py DIRECTORY            puts the package there, with what tells pip of it: for `make install`
    python3 backend.py --wheel DIRECTORY    makes the wheel there and prints its path: for `make wheel`
"""
import base64
import hashlib
import io
import os
import re
import sys
import tarfile
import zipfile
from typing import Any, Dict, Iterator, Optional, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "inc"
EPOCH = (1980, 1, 1, 0, 0, 0)  # of all files: the same sources give the same bytes


def version() -> str:
    with open(os.path.join(HERE, NAME, "__init__.py"), encoding="utf-8") as file:
        found = re.search(r'^__version__ = "(.*)"$', file.read(), re.MULTILINE)
    if not found:
        raise SystemExit(f"{NAME}/__init__.py: expected a line __version__ = \"...\"")
    return found[1]


def metadata() -> str:
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version()}\n"
            "Summary: In-network collectives: libinc for Python\n"
            "License: LGPL-2.1-or-later\nRequires-Python: >=3.9\n")


def sources() -> Iterator[Tuple[str, bytes]]:
    for name in sorted(os.listdir(os.path.join(HERE, NAME))):
        if name.endswith(".py") or name == "py.typed":
            with open(os.path.join(HERE, NAME, name), "rb") as file:
                yield f"{NAME}/{name}", file.read()


def installed() -> Iterator[Tuple[str, bytes]]:
    """Paths below site-packages, and what is in these files; the record of them all comes last."""
    info = f"{NAME}-{version()}.dist-info"
    files = list(sources())
    files.append((f"{info}/METADATA", metadata().encode()))
    files.append((f"{info}/WHEEL", b"Wheel-Version: 1.0\nGenerator: inc\nRoot-Is-Purelib: true\nTag: py3-none-any\n"))
    record = io.StringIO()
    for path, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.write(f"{path},sha256={digest},{len(data)}\n")
    record.write(f"{info}/RECORD,,\n")
    yield from files
    yield f"{info}/RECORD", record.getvalue().encode()


def build_wheel(wheel_directory: str, config_settings: Optional[Dict[str, Any]] = None,
                metadata_directory: Optional[str] = None) -> str:
    name = f"{NAME}-{version()}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in installed():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return name


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    top = f"{NAME}-{version()}"
    files = list(sources()) + [("PKG-INFO", metadata().encode())]
    for name in ("pyproject.toml", "backend.py"):
        with open(os.path.join(HERE, name), "rb") as file:
            files.append((name, file.read()))
    with tarfile.open(os.path.join(sdist_directory, top + ".tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, data in files:
            entry = tarfile.TarInfo(f"{top}/{path}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return top + ".tar.gz"


def install(directory: str) -> None:
    for path, data in installed():
        target = os.path.join(directory, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(data)


def main() -> None:
    args = sys.argv[1:]
    if len(args) == 2 and args[0] == "--wheel":
        os.makedirs(args[1], exist_ok=True)
        print(os.path.join(args[1], build_wheel(args[1])))
    elif len(args) == 1 and not args[0].startswith("-"):
        install(args[0])
    else:
        raise SystemExit("usage: backend.py [--wheel] DIRECTORY")


if __name__ == "__main__":
    main()
