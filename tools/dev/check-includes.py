#!/usr/bin/env python3
"""Every source includes what it uses: parsed without the precompiled headers, which would bring most headers along.

    tools/dev/check-includes.py [--build=build] [--chosen] [--rotation=N] [--json=FILE] [FILE...]

Takes the commands of BUILD/compile_commands.json, without the precompiled header and with -fsyntax-only. A file takes some 7 s, so --chosen takes a
slice of the files: as many runs as there are slices take all of them (test/harness/selection.py).
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import concurrent.futures
import json
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test"))

from harness import selection  # noqa: E402

SLICES = 32


def command_of(entry: dict) -> list[str]:
    """The entry's command, parsing only and without ccache, the precompiled header and its outputs."""
    words, kept = shlex.split(entry["command"]), []
    skip = 0
    for word in words[1:] if pathlib.Path(words[0]).name == "ccache" else words:
        if skip:
            skip -= 1
        elif word in ("-include-pch", "-o", "-MF", "-MT"):
            skip = 1
        elif word not in ("-c", "-MD", "-Winvalid-pch"):
            kept.append(word)
    return [*kept, "-fsyntax-only", "-w"]


def sources(build: pathlib.Path) -> dict[str, dict]:
    """The tree's own files that are compiled with a precompiled header, by their path in it."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(ROOT) and not path.is_relative_to(build) and "-include-pch" in entry["command"]:
            found[str(path.relative_to(ROOT))] = entry
    return dict(sorted(found.items()))


def check(name: str, entry: dict) -> str:
    """What the compiler says of the file; empty if nothing."""
    done = subprocess.run(command_of(entry), cwd=entry["directory"], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{name}: {done.stderr.strip()[:1500]}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts here")
    parser.add_argument("files", nargs="*", help="files of the tree (default: all that are compiled with precompiled headers)")
    selection.add_options(parser)
    args = parser.parse_args()
    known = sources(args.build.resolve())
    if unknown := [name for name in args.files if name not in known]:
        print(f"check-includes: expected a file that {args.build} compiles with a precompiled header, got '{unknown[0]}'", file=sys.stderr)
        return 2
    names = args.files or list(known)
    chosen = selection.choose(args, "includes", names, SLICES)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda name: check(name, known[name]), [name for name in names if name in chosen]))
    failed = sum(map(bool, said))
    print("".join(said) + f"{len(said)} files parsed without precompiled headers, {failed} do not include what they use")
    if args.json:
        args.json.write_text(json.dumps({"schema": "weft.includes/1", "passed": len(said) - failed, "failed": failed, "skipped": 0}) + "\n")
    return 1 if failed or not said else 0


if __name__ == "__main__":
    sys.exit(main())
