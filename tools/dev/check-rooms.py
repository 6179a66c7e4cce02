#!/usr/bin/env python3
"""Dependencies between rooms, and between the folders of a room, go one way (room_graph.py). Rooms that follow the plan decide nothing:
they include no header of the Plan room. And no room but Target knows an architecture by its number: what it can do is a field of the table
(weft/Target/Device.h). Nor does one know what a GPU takes: seconds, clocks and rates are fields of the table, too, which `weft calibrate`
measures.
Exit 1 with one line for each breach.

    check-rooms.py [ROOT]
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib
import re
import sys

import room_graph

FOLLOWERS = ("Kernelize", "Schedule", "Lower", "Emit")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<](weft/Plan/[^">]+|(?:\.\./)+Plan/[^">]+)[">]', re.M)
ARCHITECTURE = re.compile(r'\bcomputeVersion\b|(?:[=!]=|starts_with\(|contains\(|\.Case\()\s*"sm_\d')
# What is named by a unit and is a number, unless it is none at all; what is written as seconds or as so many in a second. Powers of ten alone
# turn one unit into another.
UNIT = re.compile(r"\b(?:(?!timeout)\w*(?:Seconds|Clocks|Latency|PerClock|PerSecond|Bandwidth|Flops|Rate)|(?:seconds|clocks|latency|bandwidth|flops|rate)(?:[A-Z]\w*)?)"
                  r"\s*(?:=|\{)\s*(?!0*\.?0*\s*[,;})])\d[\d.]*(?:e[+-]?\d+)?\s*[,;})]")
SECONDS = re.compile(r"(?<![\w.])(?!1e|1\.0*e)\d+(?:\.\d+)?e(?:-6|-9|-12|\+?9|\+?12)(?![\w.])|=\s*1(?:\.0*)?e-(?:6|9|12)(?![\w.])")
PRICING = ("Plan", "Schedule", "Kernelize", "Pipelines")


def find_figures(root: pathlib.Path) -> list[str]:
    """Places where code has a GPU's seconds, clocks or rates."""
    breaches = []
    for folder in (root / "lib", root / "include/weft"):
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix not in (".h", ".cpp") or "/Target/" in f"/{name}":
                continue
            isPricing = path.relative_to(folder).parts[0] in PRICING
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line).split("//")[0]
                if match := UNIT.search(code) or (SECONDS.search(code) if isPricing else None):
                    breaches.append(f"{name}:{number}: {match[0].strip()}: expected a field of Device, which `weft calibrate` measures, got a number")
    return breaches


def find_architectures(root: pathlib.Path) -> list[str]:
    """Places where code asks for an architecture's number or name."""
    breaches = []
    for folder in (root / "lib", root / "include/weft"):
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix not in (".h", ".cpp") or "/Target/" in f"/{name}":
                continue
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if match := ARCHITECTURE.search(line.split("//")[0]):
                    breaches.append(f"{name}:{number}: {match[0]}: expected a field of Device's Capabilities, got a test for an architecture")
    return breaches


def find_breaches(root: pathlib.Path) -> list[str]:
    breaches = []
    for room in FOLLOWERS:
        for folder in (root / "lib" / room, root / "include/weft" / room):
            for path in sorted(folder.rglob("*")):
                if path.suffix not in (".h", ".cpp"):
                    continue
                text = path.read_text(errors="replace")
                for match in INCLUDE.finditer(text):
                    line = text.count("\n", 0, match.start(1)) + 1
                    breaches.append(f"{path.relative_to(root)}:{line}: {match[1]}: {room} follows the plan, and takes nothing from that "
                                    "room; decide it there and read it from the IR")
    return breaches


if __name__ == "__main__":
    tree = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    found = room_graph.find_breaches(tree) + find_breaches(tree) + find_architectures(tree) + find_figures(tree)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
