#!/usr/bin/env python3
"""Rooms that follow the plan decide nothing: they include no header of the Plan room but the traversals, which are arithmetic on
the numbers of tiles. Exit 1 with one line for each include beyond that.

    check-rooms.py [ROOT]
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib
import re
import sys

FOLLOWERS = ("Kernelize", "Schedule", "Lower", "Emit")
ALLOWED = ("weft/Plan/Traversal/",)
INCLUDE = re.compile(r'^\s*#\s*include\s*["<](weft/Plan/[^">]+|(?:\.\./)+Plan/[^">]+)[">]', re.M)


def find_breaches(root: pathlib.Path) -> list[str]:
    breaches = []
    for room in FOLLOWERS:
        for folder in (root / "lib" / room, root / "include/weft" / room):
            for path in sorted(folder.rglob("*")):
                if path.suffix not in (".h", ".cpp"):
                    continue
                text = path.read_text(errors="replace")
                for match in INCLUDE.finditer(text):
                    if not match[1].startswith(ALLOWED):
                        line = text.count("\n", 0, match.start(1)) + 1
                        breaches.append(f"{path.relative_to(root)}:{line}: {match[1]}: {room} follows the plan, and takes "
                                        "only traversals from that room; decide it there and read it from the IR")
    return breaches


if __name__ == "__main__":
    found = find_breaches(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
