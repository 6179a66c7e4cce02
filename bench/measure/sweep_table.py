"""A sweep's summary by kind of case, and its table."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import json
import math
from typing import Callable, Sequence

from cases.case import BYTES_PER_MS, FLOPS_PER_MS
from cases.random_shapes import START, kind_of

from .table import Result

# Dirty lines that the write before each run leaves in the L2 of an H100: nine tenths of it.
DIRTY_BYTES = 47_000_000

# Of what reading as many bytes takes, what a dirty line costs that makes room for another one: seven products of 25 to 97 MB on an H100, ours
# and PyTorch's, after writes and after reads (0.35 to 0.7).
DIRTY_PART = 0.5


def quantile(values: Sequence[float], part: float) -> float:
    """By linear interpolation between the values in order, of which there is one at least."""
    ordered = sorted(values)
    at = part * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


@dataclasses.dataclass
class Summary:
    """Of the cases of a kind: the best peer's time over ours where both were timed, |expected / measured - 1| where the planner has a price;
    None where there is no such case."""

    kind: str
    cases: int
    timed: int
    geomean: float | None = None
    tenth: float | None = None  # percentile
    worst: float | None = None
    priced: int = 0
    error_median: float | None = None
    error_ninetieth: float | None = None


def start_ms(results: Sequence[Result]) -> float:
    """What a run takes from event to event beside what the planner counts for a kernel's start; 0 if nothing says."""
    start = next((r for r in results if r.case == START.name and r.planned_ms and r.ours and r.ours.median), None)
    return start.ours.median - start.planned_ms if start else 0.0


def method_ms(result: Result, start: float) -> float:
    """What the way of measuring adds to the kernels' own time: the start, and, where memory bounds, the dirty lines that are written back
    because others come. (As many as come, up to all; of them, those that the results replace would have been written by the kernels.)"""
    dirty = max(min(result.bytes, DIRTY_BYTES) - result.written, 0)
    return start + (DIRTY_PART * dirty / BYTES_PER_MS if result.bytes / BYTES_PER_MS >= result.flops / FLOPS_PER_MS else 0)


def model_error(result: Result, start: float) -> float | None:
    """Expected over measured, less 1."""
    if not (result.planned_ms and result.ours and result.ours.median):
        return None
    return (result.planned_ms + method_ms(result, start)) / result.ours.median - 1


def summarise(kind: str, results: Sequence[Result], start: float = 0.0) -> Summary:
    ratios = [r.ratio for r in results if r.ratio]
    errors = [abs(e) for e in (model_error(r, start) for r in results) if e is not None]
    summary = Summary(kind, len(results), len(ratios), priced=len(errors))
    if ratios:
        summary.geomean = math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
        summary.tenth, summary.worst = quantile(ratios, 0.1), min(ratios)
    if errors:
        summary.error_median, summary.error_ninetieth = quantile(errors, 0.5), quantile(errors, 0.9)
    return summary


def summaries(results: Sequence[Result]) -> list[Summary]:
    """All cases first, then by kind, in the order of the names; the start is no case."""
    start = start_ms(results)
    counted = [r for r in results if r.case != START.name]
    kinds = sorted({kind_of(r.case) for r in counted})
    return [summarise("all", counted, start)] + [summarise(kind, [r for r in counted if kind_of(r.case) == kind], start) for kind in kinds]


def to_json(results: Sequence[Result], about: dict) -> str:
    start = start_ms(results)
    rows = [{**dataclasses.asdict(r), "kind": kind_of(r.case), "ratio": r.ratio, "method_ms": method_ms(r, start), "model_error": model_error(r, start),
             "best_peer": r.best_peer.candidate if r.best_peer else None} for r in results]
    return json.dumps({"schema": "weft.sweep/1", "about": about, "summary": [dataclasses.asdict(s) for s in summaries(results)], "results": rows},
                      indent=1) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _or_dash(value, text: Callable) -> str:
    return "-" if value is None else text(value)


def _ratio(value: float | None) -> str:
    return _or_dash(value, "{:.2f}".format)


def _percent(value: float | None) -> str:
    return _or_dash(value, "{:.0%}".format)


def _us(ms: float | None) -> str:
    return _or_dash(ms, lambda value: f"{value * 1e3:.1f}")


def markdown(results: Sequence[Result], about: dict) -> str:
    """Summary, every case by its ratio (the worst first), and what was not timed."""
    start = start_ms(results)
    lines = ["# Random shapes: Weft beside PyTorch on one GPU", ""] + [f"* {key}: {value}" for key, value in about.items()]
    lines += ["* ratio: the best peer's time over ours, above 1 Weft is faster; model error: |expected / measured - 1|, expected: what the planner "
              f"said, {start * 1e3:.1f} us for the start, and the write-back of what the L2 holds before a run", "",
              _row(["kind", "cases", "timed", "geomean", "10th percentile", "worst", "priced", "model error, median", "90th percentile"]),
              "|---|" + "---:|" * 8]
    lines += [_row([s.kind, str(s.cases), str(s.timed), _ratio(s.geomean), _ratio(s.tenth), _ratio(s.worst), str(s.priced), _percent(s.error_median),
                    _percent(s.error_ninetieth)]) for s in summaries(results)]
    lines += ["", _row(["case", "weft us", "best peer", "us", "ratio", "planned us", "expected us", "error", "floor us", "kernels"]), "|---|---:|---|" + "---:|" * 7]
    for r in sorted(results, key=lambda r: r.ratio or 0):
        best = r.best_peer
        lines.append(_row([r.case, _us(r.ours.median if r.ours else None), best.candidate if best else "-", _us(best.median if best else None), _ratio(r.ratio),
                           _us(r.planned_ms), _us(r.planned_ms and r.planned_ms + method_ms(r, start)), _or_dash(model_error(r, start), "{:+.0%}".format), _us(r.floor_ms), str(r.kernels or "-")]))
    failures = [f"* {r.case} {t.candidate}: {t.failure}" for r in results for t in r.timings if t.failure]
    return "\n".join(lines + (["", "Not timed:", "", *failures] if failures else [])) + "\n"
