"""The table of symbolic bundles against static ones, and whether it keeps to the limits."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

SLOWER, LARGER = 1.08, 3.0


def ratio(row: dict) -> float | None:
    """Time of the symbolic bundle over that of the static one; none where one failed."""
    return row["symbolic_us"] / row["static_us"] if row.get("symbolic_us") and row.get("static_us") else None


def is_good(results: list[dict]) -> bool:
    """Of what was measured: every row within the limit, right, and replayed from a graph of its own."""
    return bool(results) and all(
        not row.get("failure") and (ratio(row) or SLOWER + 1) <= SLOWER for case in results for row in case["rows"]) and all(
        case["graphs_made"] == len(case["rows"]) and case["graphs_refused"] == 0 for case in results)


def markdown(results: list[dict]) -> str:
    lines = []
    for case in results:
        size = case["bytes"] / case["static_bytes"]
        lines += [f"### {case['name']}", "",
                  f"{case['intervals']}; {case['bytes'] / 1e3:.0f} kB, {size:.1f} times the largest static bundle (its matrices are inputs); compiled in "
                  f"{case['seconds']:.1f} s, a static one in {case['static_seconds']:.1f}; {case['graphs_made']} graphs for {len(case['rows'])} extents", "",
                  "| rows | symbolic us | static us | ratio | |", "|---:|---:|---:|---:|---|"]
        for row in case["rows"]:
            value = ratio(row)
            times = [f"{row[key]:.1f}" if row.get(key) else "-" for key in ("symbolic_us", "static_us")]
            note = row.get("failure") or ("" if value is None or value <= SLOWER else f"more than {SLOWER}")
            lines.append(f"| {row['rows']} | {times[0]} | {times[1]} | {f'{value:.3f}' if value else '-'} | {note} |")
        lines.append("")
    return "\n".join(lines)
