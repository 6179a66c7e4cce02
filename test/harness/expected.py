"""What a suite is known to get wrong on a target: a list that breaks both ways.

The file is {target: {row: how it goes wrong}}, the latter as much of the status as stands before its first colon ("compile exit 3", "error
1.2e-02, ..." without the number). A row has `name` and `status`, which is "ok" or says what went wrong.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import json
import pathlib
from typing import Sequence


def kind(status: str) -> str:
    """The part of a status that does not change from run to run."""
    return "error" if status.startswith("error ") else status.split(":")[0]


def read(path: pathlib.Path, target: str | None) -> dict[str, str]:
    return json.loads(path.read_text()).get(target, {}) if target and path.exists() else {}


def entry_of(name: str, listed: dict[str, str]) -> str | None:
    """The entry of the list that is about the row of this name: its own, or that of what it is a run of ("bert" of "bert 1,16")."""
    return name if name in listed else name.split(" ")[0] if name.split(" ")[0] in listed else None


def write(path: pathlib.Path, target: str, rows: Sequence) -> None:
    """Records these rows; others of the target keep their entries."""
    data = json.loads(path.read_text()) if path.exists() else {}
    entries = data.setdefault(target, {})
    for row in rows:
        entries.pop(entry_of(row.name, entries), None)
        if row.status != "ok":
            entries[row.name] = kind(row.status)
    data = {key: dict(sorted(value.items())) for key, value in sorted(data.items()) if value}
    path.write_text(json.dumps(data, indent=1) + "\n")


def judge(rows: Sequence, listed: dict[str, str]) -> tuple[list, list]:
    """(rows that fail the run, rows that went wrong as listed). A listed row that is right or goes wrong otherwise fails the run."""
    entry = {id(row): entry_of(row.name, listed) for row in rows}
    known = [row for row in rows if entry[id(row)] and row.status != "ok" and kind(row.status) == listed[entry[id(row)]]]
    return [row for row in rows if row not in known and (entry[id(row)] or row.status != "ok")], known


def summary(rows: Sequence, path: pathlib.Path, args: argparse.Namespace) -> tuple[dict[str, int], str]:
    """Counts for a suite's JSON and its last lines, after --update wrote the list anew. `args` has target and update."""
    if args.update:
        write(path, args.target or "cpu", rows)
    listed = read(path, args.target)
    failed, known = judge(rows, listed)
    counts = {"passed": len(rows) - len(failed) - len(known), "failed": len(failed), "skipped": len(known)}
    lines = [f"changed: {row.name}: {row.status}, but is listed as: {listed[entry]}" for row in failed if (entry := entry_of(row.name, listed))]
    lines.append(f"{counts['passed']} passed, {counts['failed']} failed" + (f", {len(known)} wrong or refused as listed in {path.name}" if known else ""))
    return counts, "\n".join(lines)


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--update", action="store_true", help="write the target's list of what does not work anew")
