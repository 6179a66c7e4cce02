#!/usr/bin/env python3
"""Hostile and broken models and bundles: each must be refused within a second and 256 MB, by the message that golden.json holds.

    run_hostile.py [--build=build] [--filter=GLOB,...] [--slack=1] [--update]
    run_hostile.py --target=sm_90a           the models alone, compiled for a GPU: the same messages

A refusal is exit 3 (unsupported), 5 (invalid) or 6 (limit) with text on stderr that holds no control characters. Time is processor time,
which other work on the machine does not stretch. --slack=N multiplies both bounds, for sanitizer builds. --update writes golden.json anew; read its diff.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import fnmatch
import json
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test"), str(ROOT / "test" / "models")]

import bundles  # noqa: E402
import generate  # noqa: E402
import models  # noqa: E402
from harness import backends, limits  # noqa: E402

GOLDEN = HERE / "golden.json"
CPU_SECONDS, PEAK_MB, WALL_SECONDS = 1.0, 256, 30
REFUSALS = (3, 5, 6)


@dataclasses.dataclass
class Result:
    name: str
    exit: int
    message: str
    problems: list[str]


def judge(name: str, outcome: limits.Outcome, folder: pathlib.Path, slack: float) -> Result:
    lines = [line for line in outcome.stderr.replace(f"{folder}/", "").splitlines() if line.strip()]
    message = lines[0][:400] if lines else ""
    problems = []
    if outcome.timed_out:
        problems.append(f"hang: over {WALL_SECONDS} s")
    elif outcome.code not in REFUSALS:
        problems.append(f"expected exit 3, 5 or 6, got {outcome.code}")
    if outcome.cpu_seconds > CPU_SECONDS * slack:
        problems.append(f"took {outcome.cpu_seconds:.1f} s")
    if outcome.peak_mb > PEAK_MB * slack:
        problems.append(f"took {outcome.peak_mb:.0f} MB")
    if not message:
        problems.append("no message")
    if re.search(r"[^\n\x20-\x7e\u00a0-\u1fff\u2030-\uffff]", outcome.stderr):
        problems.append("control characters in the message")
    if len(outcome.stderr) > 16384:
        problems.append(f"{len(outcome.stderr)} bytes of messages")
    return Result(name, outcome.code, message, problems)


class Suite:
    def __init__(self, build: pathlib.Path, slack: float, target: str):
        self.slack = slack
        self.weft = backends.WeftBackend(build, target=target)
        self.runner = self.weft.build / "bin" / "weft-run"
        self._bundle: bytes | None = None

    def good_bundle(self) -> bytes:
        if self._bundle is None:
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                generate.example(folder)
                outcome = self.weft.compile(folder / "example.onnx", folder / "example.weft")
                if outcome.code:
                    raise SystemExit(f"run_hostile: the good model does not compile: {outcome.stderr}")
                self._bundle = (folder / "example.weft").read_bytes()
        return self._bundle

    def model(self, name: str) -> Result:
        with tempfile.TemporaryDirectory(prefix="weft-hostile-") as path:
            folder = pathlib.Path(path)
            (folder / "model.onnx").write_bytes(models.CASES[name](folder))
            outcome = self.weft.compile(folder / "model.onnx", folder / "model.weft", timeout=WALL_SECONDS)
            result = judge(f"model {name}", outcome, folder, self.slack)
            if (folder / "model.weft").exists():
                result.problems.append("a bundle was written")
            return result

    def bundle(self, name: str) -> Result:
        with tempfile.TemporaryDirectory(prefix="weft-hostile-") as path:
            folder = pathlib.Path(path)
            good = self.good_bundle()
            broken = bundles.CASES[name](good)
            (folder / "broken.weft").write_bytes(broken)
            outcome = limits.run([str(self.runner), str(folder / "broken.weft")], timeout=WALL_SECONDS)
            result = judge(f"bundle {name}", outcome, folder, self.slack)
            # The format and what the good bundle holds besides code may grow: golden.json names both, it does not hold them.
            minor = bundles.minor_version(good)
            result.message = result.message.replace(f"reads format 1.0 to 1.{minor};", "reads format 1.0 to 1.MINOR;")
            result.message = re.sub(rf"(bundle format (?:0|99))\.{minor},", r"\1.MINOR,", result.message)
            result.message = result.message.replace(f"a file of {len(good)} bytes, got {len(broken)}", "a file of GOOD bytes, got BROKEN")
            return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--target", default="cpu", help="what to compile for: cpu (default), or a GPU such as sm_90a")
    parser.add_argument("--filter", default="*", help="comma-separated globs of case names")
    parser.add_argument("--slack", type=float, default=1, help="factor on the bounds of time and memory")
    parser.add_argument("--update", action="store_true", help="write golden.json anew")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts here")
    args = parser.parse_args()
    suite = Suite(args.build, args.slack, args.target)
    if suite.weft.missing():
        print(f"run_hostile: {suite.weft.missing()}", file=sys.stderr)
        return 2

    def wanted(name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, g) for g in args.filter.split(","))

    work = [(suite.model, n) for n in models.CASES if wanted(n)] + [(suite.bundle, n) for n in bundles.CASES if wanted(n) and args.target == "cpu"]
    if any(step == suite.bundle for step, _ in work):
        suite.good_bundle()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda item: item[0](item[1]), work))

    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    if args.update:
        golden = {**({} if args.filter == "*" else golden), **{r.name: {"exit": r.exit, "message": r.message} for r in results}}
        GOLDEN.write_text(json.dumps(dict(sorted(golden.items())), indent=1) + "\n")
    for r in results:
        expected = golden.get(r.name)
        if expected != {"exit": r.exit, "message": r.message}:
            r.problems.append(f"expected {expected}, got exit {r.exit}")
    failed = [r for r in results if r.problems]
    for r in failed:
        print(f"{r.name}: {'; '.join(r.problems)}\n    {r.message}")
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    if args.json:
        args.json.write_text(json.dumps({"passed": len(results) - len(failed), "failed": len(failed), "skipped": 0}) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
