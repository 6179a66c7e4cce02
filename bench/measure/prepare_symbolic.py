"""Bundles with a symbol, and static ones for each of its values."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import json
import pathlib
import subprocess

import onnx

from . import bundles, symbolic

MANIFEST = "symbolic-manifest.json"


def bundle_name(case: symbolic.SymbolicCase, dtype: str, rows: int | None) -> str:
    return f"{case.name}.{dtype}.{symbolic.SYMBOL if rows is None else rows}.weft"


def compile_flags(model: pathlib.Path, bundle: pathlib.Path, target: str, rows: int | None) -> list[str]:
    return [str(model), f"--target={target}", "-o", str(bundle), *([] if rows is None else [f"--dim={symbolic.SYMBOL}={rows}"])]


def _compile(build: pathlib.Path, flags: list[str]) -> float:
    """Seconds that it took."""
    import time
    begin = time.monotonic()
    subprocess.run([str(build / "bin" / "weft-compile"), *flags, "--quiet"], check=True)
    return time.monotonic() - begin


def intervals(explained: dict) -> str:
    """What weft-explain --json says of the programs of one bundle."""
    found = [program.get("interval", "") for program in explained["programs"]]
    return ", ".join(found) if len(found) > 1 else f"{symbolic.SYMBOL}: one plan"


def prepare(args: argparse.Namespace) -> int:
    args.bundles.mkdir(parents=True, exist_ok=True)
    manifest = {"commit": bundles.commit(), "target": args.target, "dtype": args.dtype, "cases": {}}
    for case in args.cases:
        model = args.bundles / f"{case.name}.onnx"
        onnx.save(case.model(args.dtype), model)
        entry = {"static": {}}
        for rows in [None, *args.rows]:
            bundle = args.bundles / bundle_name(case, args.dtype, rows)
            seconds = _compile(args.build, compile_flags(model, bundle, args.target, rows))
            each = {"seconds": round(seconds, 2), "bytes": bundle.stat().st_size}
            if rows is None:
                explained = subprocess.run([str(args.build / "bin" / "weft-explain"), str(bundle), "--json"], capture_output=True, text=True, check=True)
                entry.update(each, intervals=intervals(json.loads(explained.stdout)))
            else:
                entry["static"][str(rows)] = each
        model.unlink()
        manifest["cases"][case.name] = entry
        most = max(each["bytes"] for each in entry["static"].values())
        print(f"{case.name:24} {entry['seconds']:6.1f} s  {entry['bytes'] / 1e3:8.0f} kB, {entry['bytes'] / most:.1f} times a static one  {entry['intervals']}",
              flush=True)
        (args.bundles / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    print(f"{args.bundles}: {bundles.finish(args)}")
    return 0
