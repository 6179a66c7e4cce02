"""What the Python suites compile and run with: Weft as a user calls it, or onnxruntime in its place to try the suite itself.

A backend has
  compile(model, bundle, binds=, extra=, timeout=, memory_mb=) -> Outcome     a process of its own; 0 is success
  session(bundle, threads=) and outputs(session, feeds) -> arrays in the order of the model's outputs
  run(bundle, feeds)                                                          both in one; called inside an isolated child
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import pathlib
import shutil
import sys
from typing import Mapping, Sequence

import numpy as np

from . import limits
from .reference import ReferenceBackend

ROOT = pathlib.Path(__file__).resolve().parents[2]


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """--target and --device of a suite: `--target=sm_80` alone means the emulator of that GPU."""
    parser.add_argument("--target", help="what to compile for: cpu (default), or a GPU such as sm_80 or sm_90a")
    parser.add_argument("--device", help="what to run on: cpu, emu:GPU[,option=value...] or cuda[:N] (default: cpu, or the target's emulator)")
    parser.add_argument("--prepare", type=pathlib.Path, help="compile only, into this archive (.zip)")
    parser.add_argument("--prepared", type=pathlib.Path, help="run the bundles of this archive on --device, without a compiler")


def from_options(args: argparse.Namespace, extra: Sequence[str] = (), weights: pathlib.Path | None = None):
    """The backend that the options ask for. `extra`: flags of compiles for an archive; `weights`: folder of external weights."""
    if args.prepare or args.prepared:
        from . import prepared
        if args.prepared:
            return prepared.Prepared(args.prepared, args.device or "cuda", weights)
        return prepared.Recorder(args.prepare, args.build, args.target or "cpu", extra)
    return WeftBackend(args.build, **target_options(args))


def target_options(args: argparse.Namespace) -> dict[str, str]:
    """The two of them, with their defaults, as WeftBackend takes them."""
    target = args.target or "cpu"
    return {"target": target, "device": args.device or ("cpu" if target == "cpu" else f"emu:{target}")}


def binding(value: np.ndarray) -> str:
    """An array as --bind takes it: `2x3:0,1,2,...`, a scalar without a shape."""
    kind = float if np.issubdtype(value.dtype, np.floating) else int
    numbers = ",".join(repr(kind(v)) for v in value.ravel())
    return f"{'x'.join(map(str, value.shape))}:{numbers}" if value.ndim else numbers


class WeftBackend:
    """`weft-compile` of a build folder, and the Python package over its runtime library.

    `target` is what to compile for ("cpu", "sm_80", ...), `device` what to run on ("cpu", "emu:sm_80", "cuda").
    """

    name = "weft"

    def __init__(self, build: pathlib.Path, target: str = "cpu", device: str = "cpu"):
        self.build = pathlib.Path(build).resolve()
        self.compiler = self.build / "bin" / "weft-compile"
        self.target, self.device = target, device

    def missing(self) -> str | None:
        """Why this backend cannot work, or None."""
        return None if self.compiler.exists() else f"{self.compiler} is not built"

    def compile(self, model: pathlib.Path, bundle: pathlib.Path, binds: Mapping[str, np.ndarray] | None = None,
                extra: Sequence[str] = (), timeout: float = 60, memory_mb: int | None = None) -> limits.Outcome:
        command = [str(self.compiler), str(model), "-o", str(bundle)]
        command += [f"--target={self.target}"] if self.target != "cpu" else []
        command += [f"--bind={name}={binding(value)}" for name, value in (binds or {}).items()]
        return limits.run(command + list(extra), timeout=timeout, memory_mb=memory_mb)

    def package(self):
        """The Python package over the build's runtime library (imported here: only children load it)."""
        package = str(ROOT / "kernels-runtime" / "python")
        if package not in sys.path:
            sys.path.insert(0, package)
        import weft
        weft.load_library(self.build)
        return weft

    def session(self, bundle: pathlib.Path, threads: int = 1):
        return self.package().Session(str(bundle), device=self.device, threads=threads)

    @staticmethod
    def outputs(session, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        return list(session.run(dict(feeds)).values())

    def run(self, bundle: pathlib.Path, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        return self.outputs(self.session(bundle), feeds)


class OrtBackend:
    """onnxruntime in Weft's place: what the suites report then is known, so it tests the suites."""

    name = "ort"

    def __init__(self, build: pathlib.Path | None = None):
        del build

    def missing(self) -> str | None:
        return None

    def compile(self, model: pathlib.Path, bundle: pathlib.Path, binds: Mapping[str, np.ndarray] | None = None,
                extra: Sequence[str] = (), timeout: float = 60, memory_mb: int | None = None) -> limits.Outcome:
        del binds, extra, memory_mb

        def load() -> None:
            self.session(model)

        result = limits.isolated(load, timeout=timeout)
        code = 0
        if result.error:
            code = 3
        elif result.signal:
            code = -result.signal
        else:
            shutil.copy(model, bundle)
        return limits.Outcome(code, result.timed_out, "", result.error or "", result.seconds, result.peak_mb)

    def session(self, model: pathlib.Path, threads: int = 1):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    @staticmethod
    def outputs(session, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        return list(session.run(None, dict(feeds)))

    def run(self, bundle: pathlib.Path, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        return self.outputs(self.session(bundle), feeds)


BACKENDS = {backend.name: backend for backend in (WeftBackend, OrtBackend)}
BACKENDS[ReferenceBackend.name] = lambda build: ReferenceBackend(build, binding)
