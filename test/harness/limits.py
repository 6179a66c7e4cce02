"""Processes with a time and a memory limit, so that a crash or a hang of the code under test is a result like any other."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import os
import pickle
import resource
import select
import signal
import subprocess
import tempfile
import time
import traceback
from typing import Any, Callable, Sequence

from . import coverage


@dataclasses.dataclass
class Outcome:
    """How a process ended. `code` is its exit status, or minus the signal that killed it."""

    code: int
    timed_out: bool
    stdout: str
    stderr: str
    seconds: float
    peak_mb: float
    cpu_seconds: float = 0

    @property
    def crashed(self) -> bool:
        return self.code < 0 and not self.timed_out


def _limit(memory_mb: int | None) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_mb:
        resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))


def _wait(pid: int, timeout: float) -> tuple[int, Any, bool]:
    """Reap `pid`; kill its process group when it runs longer than `timeout` seconds. (wait status, rusage, timed out)."""
    fd = os.pidfd_open(pid)
    try:
        ready, _, _ = select.select([fd], [], [], timeout)
    finally:
        os.close(fd)
    if not ready:
        os.killpg(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    return status, usage, not ready


def run(command: Sequence[str], timeout: float = 60, memory_mb: int | None = None, cwd: str | None = None) -> Outcome:
    """Run a command to its end. Its output is kept; nothing is raised for a failing command."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            list(command), stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd,
            preexec_fn=lambda: _limit(memory_mb), start_new_session=True)
        status, usage, timed_out = _wait(process.pid, timeout)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Outcome(process.returncode, timed_out, out.read().decode(errors="replace"),
                       err.read().decode(errors="replace"), time.monotonic() - start, usage.ru_maxrss / 1024,
                       usage.ru_utime + usage.ru_stime)


@dataclasses.dataclass
class Isolated:
    """Result of a function run in a child process: its value, or the error text, or the signal that ended it."""

    value: Any = None
    error: str | None = None
    signal: int | None = None
    timed_out: bool = False
    seconds: float = 0
    peak_mb: float = 0


def isolated(function: Callable[[], Any], timeout: float = 60, memory_mb: int | None = None) -> Isolated:
    """Call `function` in a forked child. The value must pickle. An exception comes back as its text."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as channel:
        pid = os.fork()
        if pid == 0:
            _child(function, channel, memory_mb)
        try:
            os.setpgid(pid, pid)
        except (PermissionError, ProcessLookupError):
            pass  # The child did so first, or has ended.
        status, usage, timed_out = _wait(pid, timeout)
        result = Isolated(seconds=time.monotonic() - start, peak_mb=usage.ru_maxrss / 1024, timed_out=timed_out)
        code = os.waitstatus_to_exitcode(status)
        if timed_out:
            return result
        if code < 0:
            result.signal = -code
            return result
        channel.seek(0)
        try:
            result.value, result.error = pickle.load(channel)
        except EOFError:
            result.error = f"child exited with {code} and no result"
        return result


def direct(function: Callable[[], Any], timeout: float = 60, memory_mb: int | None = None) -> Isolated:
    """Call `function` here, without limits: for what is dear to set up in every child (a GPU's context). A crash is this process's."""
    del timeout, memory_mb
    start = time.monotonic()
    result = Isolated()
    try:
        result.value = function()
    except Exception as error:
        result.error = "".join(traceback.format_exception_only(type(error), error)).strip()
    result.seconds = time.monotonic() - start
    return result


def _child(function: Callable[[], Any], channel: Any, memory_mb: int | None) -> None:
    """Body of the forked child: never returns."""
    try:
        os.setpgid(0, 0)
        _limit(memory_mb)
        try:
            answer = (function(), None)
        except Exception as error:  # The text is the result; a crash does not come this way.
            lines = traceback.format_exception_only(type(error), error)
            answer = (None, "".join(lines).strip())
        pickle.dump(answer, channel, protocol=pickle.HIGHEST_PROTOCOL)
        channel.flush()
    finally:
        coverage.leave()
