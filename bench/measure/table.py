"""Results of the GPU benchmark: what was timed, the ratio to the best peer, the cache of peers' times, and the table."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import json
import pathlib
import statistics
from typing import Sequence

OURS = "weft"


@dataclasses.dataclass
class Timing:
    """Times of one candidate in ms, in the order they were taken; or the reason why there are none.

    error   relative L2 error against the reference, of the worst output
    cached  the day on which a peer was timed, when that was another run
    """

    candidate: str
    ms: list[float] = dataclasses.field(default_factory=list)
    error: float | None = None
    failure: str | None = None
    cached: str | None = None

    @property
    def median(self) -> float | None:
        return statistics.median(self.ms) if self.ms else None

    @property
    def spread(self) -> float | None:
        """Distance of the quartiles over the median: differences below it are noise."""
        if len(self.ms) < 4:
            return None
        low, _, high = statistics.quantiles(self.ms, n=4)
        return (high - low) / self.median


@dataclasses.dataclass
class Result:
    """One case: our timing and the peers', the least time that the machine allows, and what the bundle is."""

    case: str
    dtype: str
    floor_ms: float
    flops: int
    bytes: int
    timings: list[Timing] = dataclasses.field(default_factory=list)
    kernels: int | None = None  # of one run of ours
    replayed: bool | None = None  # whether our runs were replays of a CUDA graph
    planned_ms: float | None = None  # what the planner expected of our kernels together, where it prices them all
    written: int = 0  # of `bytes`

    def of(self, candidate: str) -> Timing | None:
        return next((t for t in self.timings if t.candidate == candidate), None)

    @property
    def ours(self) -> Timing | None:
        return self.of(OURS)

    @property
    def best_peer(self) -> Timing | None:
        timed = [t for t in self.timings if t.candidate != OURS and t.median]
        return min(timed, key=lambda t: t.median, default=None)

    @property
    def ratio(self) -> float | None:
        """The best peer's time over ours: above 1 we are faster."""
        if not (self.best_peer and self.ours and self.ours.median):
            return None
        return self.best_peer.median / self.ours.median


def accept(timing: Timing, error: float, tolerance: float) -> bool:
    """Records the error; a candidate beyond the tolerance (or NaN) must not be timed."""
    timing.error = error
    if not error <= tolerance:
        timing.failure = f"wrong: relative L2 error {error:.1e}, at most {tolerance:.0e} allowed"
    return timing.failure is None


def to_json(results: Sequence[Result], about: dict) -> str:
    return json.dumps({"schema": "weft.bench-gpu/1", "about": about, "results": [
        {**dataclasses.asdict(r), "ratio": r.ratio, "best_peer": r.best_peer.candidate if r.best_peer else None} for r in results]}, indent=1) + "\n"


def from_dict(data: dict) -> Result:
    fields = {f.name for f in dataclasses.fields(Result)}
    result = Result(**{k: v for k, v in data.items() if k in fields})
    result.timings = [Timing(**t) for t in data["timings"]]
    return result


class PeerCache:
    """Peers' times of earlier runs, by device and versions: {key: {case/dtype/candidate: timing}}.

    Valid for one GPU type, driver and PyTorch only; the table marks what comes from here, since clocks differ from run to run.
    """

    def __init__(self, path: pathlib.Path | None, key: str):
        self.path, self.key = path, key
        self.data = json.loads(path.read_text()) if path and path.exists() else {}

    def get(self, case: str, dtype: str, candidate: str) -> Timing | None:
        found = self.data.get(self.key, {}).get(f"{case}/{dtype}/{candidate}")
        return Timing(**found) if found else None

    def put(self, case: str, dtype: str, timing: Timing, day: str) -> None:
        if self.path and timing.cached is None:
            entry = {**dataclasses.asdict(timing), "cached": day}
            self.data.setdefault(self.key, {})[f"{case}/{dtype}/{timing.candidate}"] = entry
            self.path.write_text(json.dumps(self.data, indent=1) + "\n")


def _ms(timing: Timing | None) -> str:
    if timing is None:
        return "-"
    if timing.median is None:
        return "failed"
    return f"{timing.median:.4f}" + ("\\*" if timing.cached else "")


def _rate(result: Result, ms: float) -> str:
    """By what bounds the case: TFLOP/s or GB/s."""
    is_compute = result.flops / 800e9 >= result.bytes / 3e9
    return f"{result.flops / ms / 1e9:.0f} TFLOP/s" if is_compute else f"{result.bytes / ms / 1e6:.0f} GB/s"


def _row(result: Result, peers: Sequence[str]) -> str:
    ours, best = result.ours, result.best_peer
    cells = [result.case, _ms(ours), *(_ms(result.of(p)) for p in peers)]
    cells.append(f"{best.candidate}" if best else "-")
    cells.append(f"**{result.ratio:.2f}**" if result.ratio else "-")
    timed = ours.median if ours else None
    cells.append(_rate(result, timed) if timed else "-")
    cells += [f"{result.floor_ms:.4f}", f"{timed / result.floor_ms:.2f}" if timed else "-"]
    cells.append(f"{ours.error:.1e}" if ours and ours.error is not None else "-")
    cells.append(str(result.kernels) if result.kernels else "-")
    return "| " + " | ".join(cells) + " |"


def markdown(results: Sequence[Result], about: dict) -> str:
    """The table; failures below it, each with its reason."""
    peers = sorted({t.candidate for r in results for t in r.timings if t.candidate != OURS})
    head = ["case", "weft ms", *peers, "best peer", "best / ours", "ours", "floor ms", "ours / floor", "rel. L2", "kernels"]
    lines = ["# Weft beside PyTorch on one GPU", ""] + [f"* {key}: {value}" for key, value in about.items()]
    lines += ["* method: median of CUDA graph replays in ms, L2 cold (256 MiB written before each), candidates in turn; \"best / ours\" above 1: "
              "Weft is faster; floor: max(FLOPs / 800 TFLOP/s, compulsory bytes / 3.0 TB/s)"]
    if any(t.cached for r in results for t in r.timings):
        days = sorted({t.cached for r in results for t in r.timings if t.cached})
        lines.append(f"* \\* timed in another run on the same kind of GPU ({', '.join(days)}), not beside ours")
    lines += ["", "| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    lines += [_row(r, peers) for r in results]
    slow = [r.case for r in results if r.replayed is False]
    if slow:
        lines += ["", f"Weft without CUDA graph (not recorded, or refused): {', '.join(slow)}"]
    failures = [f"* {r.case} {t.candidate}: {t.failure}" for r in results for t in r.timings if t.failure]
    if failures:
        lines += ["", "Not timed:", ""] + failures
    return "\n".join(lines) + "\n"
