"""Which of the compiler's and the runtime's counters a case reaches, on a build of the preset `coverage`.

With WEFT_COVERAGE=FOLDER in the environment, `recording(suite, case)` has every process of the case write its counters (clang's instrumentation,
one for each region of the code) and keeps, in FOLDER/SUITE/CASE.npz, the indices of those that are not zero. tools/dev/cover.py chooses cases by them.
Without it nothing happens.

The raw file of llvm/ProfileData/InstrProfData.inc, version 10: a header of 16 words; the ids of the binary; a record for each function; the counters.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import _ctypes
import contextlib
import os
import pathlib
import shutil
import sys
import tempfile
import time
from typing import Iterator

import numpy as np

MAGIC = 0xFF6C70726F667281
VERSION = 10
VERSION_MASK = (1 << 56) - 1  # Above it: variants of instrumentation.


def counters(path: pathlib.Path) -> tuple[str, np.ndarray]:
    """(a name of the binary that is the same in every run, the indices of its counters that are not zero)"""
    data = path.read_bytes()
    header = np.frombuffer(data, np.uint64, 16)
    if int(header[0]) != MAGIC or int(header[1]) & VERSION_MASK != VERSION:
        raise ValueError(f"{path.name}: expected a raw profile of version {VERSION}, got magic {int(header[0]):#x}, version {int(header[1]) & VERSION_MASK}")
    _, _, ids, records, before, number, after, bitmap, after_bitmap, names = (int(word) for word in header[:10])
    # What is behind the counters has its size in the header, value profiles aside, which plain instrumentation does not write.
    behind = after + bitmap + after_bitmap + names + -names % 8
    start = len(data) - behind - 8 * number
    if start < 128 + ids + before + 40 * records:
        raise ValueError(f"{path.name}: {len(data)} bytes do not hold {number} counters of {records} functions")
    values = np.frombuffer(data, np.uint64, number, start)
    return f"{records}-{number}-{names}", np.flatnonzero(values)


@contextlib.contextmanager
def recording(suite: str, case: str) -> Iterator[None]:
    """Keeps what the processes that start inside of it reach."""
    folder = os.environ.get("WEFT_COVERAGE")
    if not folder:
        yield
        return
    raw, before, start = tempfile.mkdtemp(prefix="weft-coverage-"), os.environ.get("LLVM_PROFILE_FILE"), time.monotonic()
    os.environ["LLVM_PROFILE_FILE"] = f"{raw}/%p-%m.profraw"
    try:
        yield
    finally:
        os.environ.pop("LLVM_PROFILE_FILE")
        if before is not None:
            os.environ["LLVM_PROFILE_FILE"] = before
        reached: dict[str, np.ndarray] = {}
        for path in pathlib.Path(raw).glob("*.profraw"):
            if path.stat().st_size:  # A process that was killed leaves an empty one.
                binary, found = counters(path)
                reached[binary] = np.union1d(reached[binary], found) if binary in reached else found
        shutil.rmtree(raw, ignore_errors=True)
        target = pathlib.Path(folder) / suite
        target.mkdir(parents=True, exist_ok=True)
        seconds = np.float64(time.monotonic() - start)
        np.savez_compressed(target / f"{case.replace('/', '_')}.npz", seconds=seconds, case=np.str_(case), **reached)


def leave(code: int = 0) -> None:
    """Ends a forked child at once. Where counters are kept the runtime's library is closed first, which writes its own; the handlers of other
    libraries must not run: they would wait for threads that the parent has."""
    library = getattr(sys.modules.get("weft._library"), "_library", None) if os.environ.get("WEFT_COVERAGE") else None
    if library is not None:
        _ctypes.dlclose(library._handle)
    os._exit(code)
