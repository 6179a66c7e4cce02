#!/usr/bin/env python3
"""Size budgets and documentation of the tree; exit 1 with one line for each breach.

    C++ and Python file  600 lines, more only with a reason in size-exceptions.txt; 1,000 at most
    C++ function         100 lines
    .td file             500 lines
    test file            400 lines
    source file          the licence line on a line of its own; the head in plain lines, no banner
    every op             summary and a description with an example
    every pass           summary, description, and a test of its name: NAME.mlir, where NAME is the pass's less `weft-`, or in the test
                         folder of its room also less the room's own word (weft-cpu-tile: test/Lower/Cpu/tile.mlir)
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys

from cpp_functions import functions

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXCEPTIONS = pathlib.Path(__file__).with_name("size-exceptions.txt")
SOURCE_SOFT, SOURCE_HARD, FUNCTION, TABLEGEN, TEST = 600, 1000, 100, 500, 400
LICENCE = re.compile(r"^(//|#|/\*| \*) ?SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception( \*/)?$", re.M)
TABLEGEN_TOOL = "/usr/lib/llvm-22/bin/llvm-tblgen"


def tracked() -> list[pathlib.Path]:
    out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [pathlib.Path(p) for p in out.split("\0") if p and (ROOT / p).is_file()]


def read_exceptions() -> dict[str, str]:
    """Lines of "path: reason"."""
    pairs = {}
    for line in EXCEPTIONS.read_text().splitlines() if EXCEPTIONS.exists() else []:
        if line.strip() and not line.startswith("#"):
            path, _, reason = line.partition(":")
            pairs[path.strip()] = reason.strip()
    return pairs


def check_file(path: pathlib.Path, exceptions: dict[str, str]) -> list[str]:
    text = (ROOT / path).read_text(errors="replace")
    lines = text.count("\n")
    if path.suffix == ".td":
        return [f"{path}: {lines} lines, at most {TABLEGEN} in a .td file"] if lines > TABLEGEN else []
    if path.parts[0] == "test" and path.suffix in (".mlir", ".test"):
        return [f"{path}: {lines} lines, at most {TEST} in a test"] if lines > TEST else []
    if path.suffix not in (".cpp", ".h", ".c", ".py"):
        return []
    breaches = []
    if text.strip() and not LICENCE.search(text[:4000]):
        breaches.append(f"{path}: no line of its own for SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception")
    if text.startswith(("//===", "/*===")):
        breaches.append(f"{path}: a banner as head; expected a line that says what the file is, the licence, then its reasons")
    if lines > SOURCE_HARD:
        breaches.append(f"{path}: {lines} lines, at most {SOURCE_HARD}")
    elif lines > SOURCE_SOFT and not exceptions.get(str(path)):
        breaches.append(f"{path}: {lines} lines; above {SOURCE_SOFT} a reason must stand in {EXCEPTIONS.name}")
    if path.suffix != ".py":
        breaches += [f"{path}:{f.first}: function {f.name} has {f.lines} lines, at most {FUNCTION}"
                     for f in functions(text) if f.lines > FUNCTION]
    return breaches


def records(path: pathlib.Path) -> dict:
    """All TableGen records of a file, as llvm-tblgen reads them."""
    command = [TABLEGEN_TOOL, "-dump-json", "-I", "include", "-I", "/usr/lib/llvm-22/include", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"check-sizes: {path}: {done.stderr.strip().splitlines()[0]}")
    return json.loads(done.stdout)


def check_ops(path: pathlib.Path) -> list[str]:
    table = records(path)
    breaches = []
    for name in table["!instanceof"].get("Op", []):
        op = table[name]
        if not op.get("summary"):
            breaches.append(f"{path}: {name} has no summary")
        if "```" not in (op.get("description") or ""):
            breaches.append(f"{path}: {name} has no description with an example")
    return breaches


def check_passes(path: pathlib.Path, tests: list[pathlib.Path]) -> list[str]:
    """`path` is include/weft/ROOM/Passes.td; `tests` are all lit tests."""
    table = records(path)
    room = path.parent.relative_to("include/weft")
    stems, own = {p.stem for p in tests}, {p.stem for p in tests if p.parent == "test" / room}
    breaches = []
    for name in table["!instanceof"].get("PassBase", []):
        record = table[name]
        argument = record["argument"]
        if not record.get("summary") or not (record.get("description") or "").strip():
            breaches.append(f"{path}: pass {argument} needs a summary and a description")
        name = argument.removeprefix("weft-")
        if not {argument, name} & stems and name.removeprefix(f"{room.name.lower()}-") not in own:
            breaches.append(f"{path}: pass {argument} has no test named {name}.mlir")
    return breaches


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    files, exceptions = tracked(), read_exceptions()
    breaches = [line for path in files for line in check_file(path, exceptions)]
    for path in exceptions:
        if not (ROOT / path).is_file() or (ROOT / path).read_text().count("\n") <= SOURCE_SOFT:
            breaches.append(f"{EXCEPTIONS.name}: {path} needs no exception")
    tests = [p for p in files if p.parts[0] == "test" and p.suffix == ".mlir"]
    for path in files:
        if path.name == "TileGraph.td":
            breaches += check_ops(path)
        elif path.name == "Passes.td":
            breaches += check_passes(path, tests)
    print("\n".join(breaches) if breaches else f"{len(files)} files within their budgets")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
