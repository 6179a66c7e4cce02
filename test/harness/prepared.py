"""Bundles made where the compiler is, run where the GPU is: two backends that share one archive.

`Recorder` compiles as WeftBackend does and keeps each answer (bundle, exit code, messages); a suite run with it runs nothing. `Prepared` gives
the same answers from the archive, on a machine without the compiler. What was compiled is found by its content: graph, operator sets,
flags; so the two runs of a suite need not agree on anything else. The archive holds the runtime library, too.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import atexit
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import tempfile
import zipfile
from typing import Mapping, Sequence

import numpy as np
import onnx

from . import limits
from .backends import WeftBackend, binding

LIBRARY = "libweft_runtime.so"


def key_of(model: pathlib.Path, binds: Mapping[str, np.ndarray] | None, extra: Sequence[str]) -> str:
    """A name for one compile. Producer, documentation and version numbers of the file do not count."""
    proto = onnx.load(model, load_external_data=False)
    digest = hashlib.sha256(proto.graph.SerializeToString(deterministic=True))
    for part in [*proto.functions, *proto.opset_import]:
        digest.update(part.SerializeToString(deterministic=True))
    flags = [f"{name}={binding(value)}" for name, value in sorted((binds or {}).items())] + [f for f in extra if f != "--weights=external"]
    digest.update("\0".join(flags).encode())
    return digest.hexdigest()[:32]


class Recorder(WeftBackend):
    """Compiles into a folder of loose files (workers of a suite write there side by side); `close` makes the archive of them."""

    def __init__(self, archive: pathlib.Path, build: pathlib.Path, target: str, extra: Sequence[str] = ()):
        super().__init__(build, target=target, device="none")
        self.archive, self.always = pathlib.Path(archive), list(extra)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-prepare-"))

    def compile(self, model: pathlib.Path, bundle: pathlib.Path, binds: Mapping[str, np.ndarray] | None = None,
                extra: Sequence[str] = (), timeout: float = 60, memory_mb: int | None = None) -> limits.Outcome:
        key = key_of(model, binds, extra)
        beside = model.parent / f"{key}.weft"  # External weights must lie below the bundle's folder.
        outcome = super().compile(model, beside, binds, [*extra, *self.always], timeout, memory_mb)
        if outcome.code == 0:
            shutil.copy(beside, self.folder)
            shutil.move(beside, bundle)
        (self.folder / f"{key}.json").write_text(json.dumps(dataclasses.asdict(outcome)))
        return outcome

    def close(self) -> str:
        """Writes the archive; returns what is in it."""
        self.archive.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(self.archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
            out.write((self.build / "lib" / LIBRARY).resolve(), LIBRARY)
            for path in sorted(self.folder.iterdir()):
                out.write(path, path.name)
        answers, bundles = (len(list(self.folder.glob(f"*.{kind}"))) for kind in ("json", "weft"))
        shutil.rmtree(self.folder)
        return f"{self.archive}: {bundles} bundles, {answers - bundles} refusals or failures, {self.archive.stat().st_size / 1e6:.1f} MB"


class Prepared(WeftBackend):
    """Answers from an archive; runs on `device`. `weights`: the folder of external weights.

    The first session stays open: a GPU's context, which takes up to a second to make where many do so at once, goes with its last session.
    """

    def __init__(self, archive: pathlib.Path, device: str, weights: pathlib.Path | None = None):
        super().__init__(pathlib.Path(tempfile.mkdtemp(prefix="weft-prepared-")), target="as prepared", device=device)
        self.weights, self.first = weights, None
        self.archive = zipfile.ZipFile(archive)
        self.archive.extract(LIBRARY, self.build)
        os.chmod(self.build / LIBRARY, 0o755)
        self.names = set(self.archive.namelist())
        self.path, self.owner = pathlib.Path(archive), os.getpid()
        atexit.register(self._clean, os.getpid())

    def _clean(self, owner: int) -> None:
        if os.getpid() == owner:  # Not in forked workers.
            shutil.rmtree(self.build, ignore_errors=True)

    def missing(self) -> str | None:
        return None

    def _read(self, name: str) -> bytes:
        if os.getpid() != self.owner:  # A forked worker shares the file's position: it opens the archive itself.
            self.archive, self.owner = zipfile.ZipFile(self.path), os.getpid()
        return self.archive.read(name)

    def compile(self, model: pathlib.Path, bundle: pathlib.Path, binds: Mapping[str, np.ndarray] | None = None,
                extra: Sequence[str] = (), timeout: float = 60, memory_mb: int | None = None) -> limits.Outcome:
        del timeout, memory_mb
        key = key_of(model, binds, extra)
        if f"{key}.json" not in self.names:
            return limits.Outcome(1, False, "", f"{model.name} is not in {self.path.name}: prepare it again", 0, 0)
        if f"{key}.weft" in self.names:
            bundle.write_bytes(self._read(f"{key}.weft"))
        return limits.Outcome(**json.loads(self._read(f"{key}.json")))

    def session(self, bundle: pathlib.Path, threads: int = 1):
        weft = self.package()
        session = weft.Session(weft.Bundle(str(bundle), weights_folder=self.weights), device=self.device, threads=threads)
        self.first = self.first or session
        return session
