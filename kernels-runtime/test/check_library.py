#!/usr/bin/env python3
"""Checks libweft_runtime.so: what it needs, how large it is, and what it exports.

usage: check_library.py LIBRARY RUNTIME_H
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MAX_BYTES = 1_500_000
MAX_GLIBC = (2, 27)
LIBC_FAMILY = re.compile(r"^(libc|libm|libdl|libpthread|librt|ld-linux[\w-]*)\.so\.\d+$")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def find_tool(name: str) -> str:
    for candidate in (name, f"/usr/lib/llvm-22/bin/llvm-{name}", f"llvm-{name}"):
        if found := shutil.which(candidate):
            return found
    raise SystemExit(f"check_library: {name} was not found")


def main() -> int:
    library, header = sys.argv[1], pathlib.Path(sys.argv[2]).read_text()
    failures = []
    needed = re.findall(r"NEEDED\)?\s+(?:Shared library: \[)?([^\]\s]+)", output(find_tool("readelf"), "-d", library))
    failures += [f"needs {name}, expected the libc family only" for name in needed if not LIBC_FAMILY.match(name)]
    if not needed:
        failures.append("readelf shows no needed library")
    versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", output(find_tool("readelf"), "-V", library))
    failures += [f"asks for GLIBC_{a}.{b}, expected {MAX_GLIBC[0]}.{MAX_GLIBC[1]} at most (src/OldGlibc.c)"
                 for a, b in sorted({(int(a), int(b)) for a, b in versions}) if (a, b) > MAX_GLIBC]
    if not versions:
        failures.append("readelf shows no versions of glibc")
    declared = set(re.findall(r"WEFT_EXPORT[^;(]*?\b(weft_\w+)\s*\(", header))
    symbols = output(find_tool("nm"), "-D", "--defined-only", library).split("\n")
    exported = {line.split()[-1].split("@")[0] for line in symbols if line and " A " not in line}
    failures += [f"exports {name}, which runtime.h does not declare" for name in sorted(exported - declared)]
    failures += [f"does not export {name} of runtime.h" for name in sorted(declared - exported)]
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped.so")
        subprocess.run([find_tool("strip"), "-o", stripped, library], check=True)
        size = os.path.getsize(stripped)
    if size > MAX_BYTES:
        failures.append(f"{size} bytes stripped, expected at most {MAX_BYTES}")
    for failure in failures:
        print(f"{library}: {failure}")
    print(f"{len(exported)} functions, {size} bytes stripped, needs {' '.join(needed)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
