#!/usr/bin/env python3
"""Whether groups of ops pay as one kernel, by measured times: records which `weft compile --records=FILE` reads (docs/records.md).

    weft bench fused.weft --device=cuda --kernels=10000 --json > fused.json
    weft bench apart.weft --device=cuda --kernels=10000 --json > apart.json        the same model compiled otherwise (--no-fuse, another --planner)
    record_groups.py --bundle=fused.weft --bench=fused.json --apart=apart.weft --apart-bench=apart.json --device=H100 -o records.jsonl

A record is added for each kernel of several ops, with the choice `fused` or `apart` where both bundles compute the same nodes. Bundles must have kept
their explanation, and each launch one kernel (--merge-launches=off). Schedules of kernels are recorded by `weft tune`.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
from typing import Any, Iterable, Mapping, Sequence

SCHEMA = "weft.records/1"
Record = dict[str, Any]


def times_of(bench: Mapping[str, Any]) -> dict[str, float]:
    """Seconds of one start of each kernel, by its name."""
    if not isinstance(bench, dict) or bench.get("schema") != "weft.bench/1" or not bench.get("kernels"):
        raise ValueError("expected the output of weft bench --json --kernels=N")
    return {kernel["kernel"]: kernel["ms"] / 1e3 / max(kernel["dispatches"], 1) for kernel in bench["kernels"]}


def timed(dispatches: Sequence[Mapping[str, Any]], times: Mapping[str, float]) -> Iterable[tuple[Mapping[str, Any], float]]:
    for dispatch in dispatches:
        if times.get(dispatch["kernel"], 0) > 0:
            yield dispatch, times[dispatch["kernel"]]


def seconds_apart(nodes: set[str], apart: Sequence[tuple[Mapping[str, Any], float]]) -> float | None:
    """What kernels of these nodes and no others take; none where they do not compute all of them."""
    inside = [(set(dispatch["nodes"]), seconds) for dispatch, seconds in apart if dispatch["nodes"] and set(dispatch["nodes"]) <= nodes]
    return sum(seconds for _, seconds in inside) if set().union(*(names for names, _ in inside)) == nodes else None


def make_records(dispatches: Sequence[Mapping[str, Any]], times: Mapping[str, float], device: str,
                 apart: Sequence[tuple[Mapping[str, Any], float]] = ()) -> list[Record]:
    records: list[Record] = []
    for dispatch, seconds in timed(dispatches, times):
        base = {"device": device, "seconds": seconds, "kernel": dispatch["kernel"]}
        if dispatch.get("subgraph"):
            record = {"subgraph": dispatch["subgraph"], "shapes": dispatch["shapes"], **base}
            other = seconds_apart(set(dispatch["nodes"]), apart) if len(dispatch["ops"]) > 1 else None
            if other is not None:
                record |= {"apart_seconds": other, "choice": "fused" if seconds <= other else "apart"}
            records.append(record)
    return records


def explain(tool: pathlib.Path, bundle: str, target: str) -> list[Mapping[str, Any]]:
    command = [str(tool), bundle, "--json"] + ([f"--target={target}"] if target else [])
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode:
        raise ValueError(outcome.stderr.strip())
    programs = json.loads(outcome.stdout)["programs"]
    if len(programs) != 1:
        raise ValueError(f"{bundle}: expected one program, or --target, got {len(programs)}")
    return programs[0]["dispatches"]


def merge(old: str, records: Sequence[Record]) -> str:
    """The text of a file of records with more of them."""
    lines = old.splitlines() or [json.dumps({"schema": SCHEMA})]
    head = json.loads(lines[0])
    if not isinstance(head, dict) or head.get("schema") != SCHEMA:
        raise ValueError(f"expected schema {SCHEMA} in the first line of the file to add to, got {lines[0][:60]}")
    added = [line for line in (json.dumps(record) for record in records) if line not in lines]
    return "\n".join(lines + added) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--bench", type=pathlib.Path, required=True, help="weft bench --json --kernels=N of the bundle")
    parser.add_argument("--apart", required=True)
    parser.add_argument("--apart-bench", type=pathlib.Path, required=True)
    parser.add_argument("--device", required=True, help="as in lib/Target/Device.cpp, or cpu")
    parser.add_argument("--target", default="", help="of bundles with several programs")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1] / "build")
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    tool = args.build / "bin" / "weft-explain"
    try:
        apart = list(timed(explain(tool, args.apart, args.target), times_of(json.loads(args.apart_bench.read_text()))))
        records = make_records(explain(tool, args.bundle, args.target), times_of(json.loads(args.bench.read_text())), args.device, apart)
        text = merge(args.out.read_text() if args.out.exists() else "", records)
    except (ValueError, KeyError, OSError) as error:
        print(f"record_groups.py: {error}", file=sys.stderr)
        return 5
    args.out.write_text(text)
    print(f"{len(records)} records of {args.bundle}, {text.count(chr(10)) - 1} in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
