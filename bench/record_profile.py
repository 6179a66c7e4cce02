#!/usr/bin/env python3
"""Measured times of a bundle's kernels as a profile, which `weft compile --profile=FILE` reads (docs/profile.md).

    weft bench fused.weft --device=cuda --kernels=10000 --json > fused.json
    record_profile.py --bundle=fused.weft --bench=fused.json --device=H100 -o profile.json
        [--apart=apart.weft --apart-bench=apart.json]     the same model compiled otherwise (--no-fuse): what it takes in several kernels

Records are added to the file; of several of one subgraph, device and shapes the compiler takes the fastest. Each dispatch gives two records: one of the
group of ops, with the choice `fused` or `apart` where both bundles compute the same nodes, and one of the kernel as it was planned, with its schedule.
Bundles must have kept their explanation, and each launch one kernel (--merge-launches=off).
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
from typing import Any, Iterable, Mapping, Sequence

SCHEMA = "weft.profile/1"
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
        if dispatch.get("kernel_subgraph") and dispatch.get("schedule"):
            records.append({"subgraph": dispatch["kernel_subgraph"], "shapes": dispatch["kernel_shapes"], **base, "schedule": dispatch["schedule"]})
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


def merge(old: Mapping[str, Any] | None, records: Sequence[Record]) -> dict[str, Any]:
    found = old.get("schema") if isinstance(old, dict) else None
    if old is not None and (found != SCHEMA or not isinstance(old.get("records"), list)):
        raise ValueError(f"expected records of schema {SCHEMA} in the file to add to, got {found}")
    known = list(old["records"]) if old else []
    return {"schema": SCHEMA, "records": known + [record for record in records if record not in known]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--bench", type=pathlib.Path, required=True, help="weft bench --json --kernels=N of the bundle")
    parser.add_argument("--apart")
    parser.add_argument("--apart-bench", type=pathlib.Path)
    parser.add_argument("--device", required=True, help="as in lib/Target/Device.cpp, or cpu")
    parser.add_argument("--target", default="", help="of bundles with several programs")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1] / "build")
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    if bool(args.apart) != bool(args.apart_bench):
        parser.error("expected --apart and --apart-bench together")
    tool = args.build / "bin" / "weft-explain"
    try:
        apart = []
        if args.apart:
            apart = list(timed(explain(tool, args.apart, args.target), times_of(json.loads(args.apart_bench.read_text()))))
        records = make_records(explain(tool, args.bundle, args.target), times_of(json.loads(args.bench.read_text())), args.device, apart)
        profile = merge(json.loads(args.out.read_text()) if args.out.exists() else None, records)
    except (ValueError, KeyError, OSError) as error:
        print(f"record_profile.py: {error}", file=sys.stderr)
        return 5
    args.out.write_text(json.dumps(profile, indent=1) + "\n")
    print(f"{len(records)} records of {args.bundle}, {len(profile['records'])} in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
