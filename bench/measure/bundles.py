"""Folders of bundles that are made where the compiler is and run where the GPU is: their options, the library in them, the commit."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = "libweft_runtime.so"


def add_arguments(parser: argparse.ArgumentParser, name: str, *, target: bool) -> None:
    """--prepare, --build and --bundles (default build/NAME); with `target`, --target too."""
    parser.add_argument("--prepare", action="store_true", help="compile the bundles")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder, for --prepare (default build)")
    parser.add_argument("--bundles", type=pathlib.Path, default=ROOT / "build" / name, help=f"folder of the bundles (default build/{name})")
    if target:
        parser.add_argument("--target", default="sm_90a", help="what --prepare compiles for (default sm_90a)")


def commit() -> str:
    """Of the tree, for manifests; empty where git does not know."""
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def finish(args: argparse.Namespace) -> str:
    """Puts the runtime library into the folder; returns what the folder takes."""
    shutil.copy((args.build / "lib" / LIBRARY).resolve(), args.bundles / LIBRARY)
    return f"{sum(path.stat().st_size for path in args.bundles.iterdir() if path.is_file()) / 1e6:.1f} MB"
