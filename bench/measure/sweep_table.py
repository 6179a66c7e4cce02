"""A sweep's summary by kind of case, and its table."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import json
import math
from typing import Callable, Sequence

from cases.random_shapes import kind_of

from .table import Result


def quantile(values: Sequence[float], part: float) -> float:
    """By linear interpolation between the values in order, of which there is one at least."""
    ordered = sorted(values)
    at = part * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


@dataclasses.dataclass
class Summary:
    """Of the cases of a kind: the best peer's time over ours where both were timed, |planned / measured - 1| where the planner has a price;
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


def summarise(kind: str, results: Sequence[Result]) -> Summary:
    ratios = [r.ratio for r in results if r.ratio]
    errors = [abs(r.model_error) for r in results if r.model_error is not None]
    summary = Summary(kind, len(results), len(ratios), priced=len(errors))
    if ratios:
        summary.geomean = math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
        summary.tenth, summary.worst = quantile(ratios, 0.1), min(ratios)
    if errors:
        summary.error_median, summary.error_ninetieth = quantile(errors, 0.5), quantile(errors, 0.9)
    return summary


def summaries(results: Sequence[Result]) -> list[Summary]:
    """All cases first, then by kind, in the order of the names."""
    kinds = sorted({kind_of(r.case) for r in results})
    return [summarise("all", results)] + [summarise(kind, [r for r in results if kind_of(r.case) == kind]) for kind in kinds]


def to_json(results: Sequence[Result], about: dict) -> str:
    rows = [{**dataclasses.asdict(r), "kind": kind_of(r.case), "ratio": r.ratio, "model_error": r.model_error,
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
    lines = ["# Random shapes: Weft beside PyTorch on one GPU", ""] + [f"* {key}: {value}" for key, value in about.items()]
    lines += ["* ratio: the best peer's time over ours, above 1 Weft is faster; model error: |planned / measured - 1|", "",
              _row(["kind", "cases", "timed", "geomean", "10th percentile", "worst", "priced", "model error, median", "90th percentile"]),
              "|---|" + "---:|" * 8]
    lines += [_row([s.kind, str(s.cases), str(s.timed), _ratio(s.geomean), _ratio(s.tenth), _ratio(s.worst), str(s.priced), _percent(s.error_median),
                    _percent(s.error_ninetieth)]) for s in summaries(results)]
    lines += ["", _row(["case", "weft us", "best peer", "us", "ratio", "planned us", "error", "floor us", "kernels"]), "|---|---:|---|" + "---:|" * 6]
    for r in sorted(results, key=lambda r: r.ratio or 0):
        best = r.best_peer
        lines.append(_row([r.case, _us(r.ours.median if r.ours else None), best.candidate if best else "-", _us(best.median if best else None), _ratio(r.ratio),
                           _us(r.planned_ms), _or_dash(r.model_error, "{:+.0%}".format), _us(r.floor_ms), str(r.kernels or "-")]))
    failures = [f"* {r.case} {t.candidate}: {t.failure}" for r in results for t in r.timings if t.failure]
    return "\n".join(lines + (["", "Not timed:", "", *failures] if failures else [])) + "\n"
