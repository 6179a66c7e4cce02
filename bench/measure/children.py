"""All cases where the GPU is, by child processes: one that dies, or takes too long, takes its case down and not the run."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import pathlib
import subprocess
import sys
import time
from typing import Sequence

from cases import Case

from . import prepare, run_case, table

ROUNDS = 30
CASE_SECONDS = 240


def add_arguments(parser: argparse.ArgumentParser, out: str, rounds: int = ROUNDS, case_seconds: float = CASE_SECONDS) -> None:
    """The options that `run_case` and this module read, and those of --prepare that go with bundles.add_arguments."""
    parser.add_argument("--compile-seconds", type=float, default=120, help="limit of one compile (default 120)")
    parser.add_argument("--case", help="comma-separated globs of case names (default: all)")
    parser.add_argument("--dtype", default="bf16", choices=("bf16", "f16", "f32"))
    parser.add_argument("--peers", choices=("all", "cached", "none"), default="all", help="time the peers, take known times first, or leave them out")
    parser.add_argument("--cache", type=pathlib.Path, help="JSON file of the peers' times, by GPU and versions")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"timed runs of each candidate (default {rounds})")
    parser.add_argument("--seconds", type=float, default=540, help="begin no case after this long (default 540)")
    parser.add_argument("--case-seconds", type=float, default=case_seconds, help=f"limit of one case (default {case_seconds:g})")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(out), help=f"folder of the results (default {out})")
    parser.add_argument("--worker", type=pathlib.Path, help=argparse.SUPPRESS)


def about(args: argparse.Namespace) -> dict:
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout
    manifest = prepare.read_manifest(args.bundles)
    return {"device": run_case.device_key(), "driver": driver.strip().splitlines()[0] if driver.strip() else "unknown",
            "date": datetime.datetime.now().isoformat(timespec="minutes"), "commit of the bundles": manifest.get("commit", "unknown"),
            "target": manifest.get("target", "unknown"), "element type": args.dtype, "command": " ".join(sys.argv)}


def read(path: pathlib.Path) -> tuple[list[table.Result], str | None]:
    """Results so far, and the case that had begun and not ended."""
    results, open_case = [], None
    for line in path.read_text().splitlines() if path.exists() else []:
        data = json.loads(line)
        open_case = data.get("begin")
        if "result" in data:
            results.append(table.from_dict(data["result"]))
    return results, open_case


def run_child(script: str, flags: Sequence[str], args: argparse.Namespace, names: list[str], lines: pathlib.Path, deadline: float) -> str:
    """Runs a worker over the named cases until its end, or until one case takes too long. Returns how it ended."""
    command = [sys.executable, script, "--worker", str(lines), "--case", ",".join(names), "--bundles", str(args.bundles), "--dtype", args.dtype,
               "--peers", args.peers, "--only-peers", args.only_peers, "--rounds", str(args.rounds), *flags]
    process = subprocess.Popen(command + (["--cache", str(args.cache)] if args.cache else []))
    progress, since = None, time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        size = lines.stat().st_size if lines.exists() else 0
        if size != progress:
            progress, since = size, time.monotonic()
        now = time.monotonic()
        if now - since > args.case_seconds or now > deadline:
            process.kill()
            process.wait()
            return "out of time" if now > deadline else f"no result within {args.case_seconds:g} s"
    return f"the process ended with {process.returncode}"


def run_all(found: Sequence[Case], args: argparse.Namespace, script: str, flags: Sequence[str] = (), *, resume: bool = False) -> list[table.Result]:
    """Results of the cases by workers of `script` (with `flags`, and the options above); a case that took the process down has a failure
    instead of times. `resume`: those that an earlier call has results of are not run again, and one that the end of the time met is."""
    wanted = {case.name: case for case in found}
    lines = args.out / "results.jsonl"
    if not resume:
        lines.unlink(missing_ok=True)
    deadline = time.monotonic() + args.seconds
    while True:
        results = [r for r in read(lines)[0] if r.case in wanted]
        left = [name for name in wanted if name not in {r.case for r in results}]
        if not left or time.monotonic() > deadline:
            return results
        ending = run_child(script, flags, args, left, lines, deadline)
        results, broken = read(lines)
        broken = broken or next((name for name in left if name not in {r.case for r in results}), None)
        if broken and not (resume and ending == "out of time"):
            case = wanted[broken]
            failed = table.Result(broken, args.dtype, case.floor_ms, case.flops, case.bytes, [table.Timing(table.OURS, failure=ending)])
            with open(lines, "a") as out:
                out.write(json.dumps({"result": dataclasses.asdict(failed)}) + "\n")
