"""Bundles of cases, made where the compiler is, and what its models say of them."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
from typing import Sequence

from cases import Case

from . import bundles

MANIFEST = "manifest.json"


def read_manifest(folder: pathlib.Path) -> dict:
    path = folder / MANIFEST
    return json.loads(path.read_text()) if path.exists() else {}


def _plan(build: pathlib.Path, bundle: pathlib.Path) -> dict:
    """The kernels of one run with the time that the planner expected, and of all of them; without it where one has none."""
    done = subprocess.run([build / "bin" / "weft-explain", bundle, "--json"], capture_output=True, text=True, check=True)
    dispatches = json.loads(done.stdout)["programs"][-1]["dispatches"]
    kernels = [{"ops": " ".join(d["ops"])[:200], "schedule": d.get("schedule", ""), "us": round(d.get("planned_seconds", 0) * 1e6, 3)} for d in dispatches]
    times = [kernel["us"] for kernel in kernels]
    return {"kernels": kernels, **({"planned_us": round(sum(times), 3)} if all(times) else {})}


def _compile(case: Case, weft, bundle: pathlib.Path, args: argparse.Namespace) -> dict:
    """What the manifest says of it. The bundle refers to external weights by their place below its own folder, so the model lies beside it
    for now."""
    import onnx
    model, external = bundle.with_suffix(".onnx"), case.weights != "inputs"
    bundle.unlink(missing_ok=True)
    onnx.save(case.model(args.dtype), model)
    weights = case.write_weights(args.dtype, bundle.parent) if external else model
    outcome = weft.compile(model, bundle, extra=["--weights=external"] if external else [], timeout=args.compile_seconds)
    for path in {model, weights}:
        path.unlink()
    entry = {"seconds": round(outcome.seconds, 2), "code": outcome.code}
    if outcome.code:
        bundle.unlink(missing_ok=True)
        entry["message"] = "timeout" if outcome.timed_out else " | ".join(outcome.stderr.strip().splitlines()[:3])[:400]
        return entry
    return {**entry, **_plan(args.build, bundle)}


def prepare(found: Sequence[Case], args: argparse.Namespace) -> int:
    """Bundles of all cases, but for those that this compiler has made before. A case that does not compile is in the manifest with the
    compiler's message."""
    from harness import backends

    weft = backends.WeftBackend(args.build, target=args.target)
    args.bundles.mkdir(parents=True, exist_ok=True)
    manifest = read_manifest(args.bundles)
    stamp = weft.compiler.stat().st_mtime_ns
    is_same = (manifest.get("compiler"), manifest.get("target")) == (stamp, args.target)
    manifest.update(commit=bundles.commit(), target=args.target, compiler=stamp)
    entries = manifest["cases"] = manifest.get("cases", {}) if is_same else {}
    for case in found:
        name = f"{case.name}.{args.dtype}"
        bundle = args.bundles / f"{name}.weft"
        if name in entries and bundle.exists():
            continue
        entry = entries[name] = _compile(case, weft, bundle, args)
        size = f"{bundle.stat().st_size / 1e6:.2f} MB" if bundle.exists() else entry["message"]
        planned = f"{entry['planned_us']:9.1f} us planned" if "planned_us" in entry else ""
        print(f"{name:50} {entry['seconds']:6.1f} s  {size}  {planned}", flush=True)
        (args.bundles / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    print(f"{args.bundles}: {bundles.finish(args)}")
    return 0
