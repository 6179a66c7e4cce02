"""Runs a bundle (or a model, through onnxruntime) in a child process, timed, and stores its outputs."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib
import time

import numpy as np

from harness import limits

RUN_SECONDS = 300


def _timed_run(backend, path: pathlib.Path, feeds: list[dict], repeats: int, store: pathlib.Path) -> list[float]:
    session = backend.session(path, threads=2)
    times, arrays = [], {}
    for index, feed in enumerate(feeds):
        best = float("inf")
        for _ in range(repeats + 1):  # The first run is the warm-up.
            start = time.perf_counter()
            outputs = backend.outputs(session, feed)
            best = min(best, time.perf_counter() - start)
        times.append(best * 1e3)
        arrays.update({f"{index}.{i}": np.asarray(o) for i, o in enumerate(outputs)})
    np.savez(store, **arrays)
    return times


def execute(backend, path: pathlib.Path, feeds: list[dict], repeats: int, store: pathlib.Path) -> tuple[list[float], str | None]:
    """Run each of `feeds` with two threads; outputs go to the npz `store` as "<feed>.<output>".

    Returns the best time of each in ms and None, or [] and what went wrong.
    """
    result = limits.isolated(lambda: _timed_run(backend, path, feeds, repeats, store), timeout=RUN_SECONDS)
    if result.timed_out:
        return [], f"hang: over {RUN_SECONDS} s"
    if result.signal:
        return [], f"crash: signal {result.signal}"
    return (result.value or []), (f"run error: {result.error}" if result.error else None)
