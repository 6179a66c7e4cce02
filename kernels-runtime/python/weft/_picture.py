"""A plan as a picture (SVG): a box for each kernel with the nodes in it, a line for what goes from one kernel to another."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import collections
import html
import textwrap

_MOST_KERNELS, _MOST_LINES = 400, 6  # of a picture; of the nodes in a box
_COLUMN, _LINE, _GAP = 84, 16, 28  # of a line of text in characters; heights in pixels
_LEFT, _WIDTH, _STEP = 16, 540, 24  # of the boxes; between lines that pass kernels
_COLORS = {"memory": "#b03a2e", "L2": "#2e7d32"}


def amount(value: float, unit: str) -> str:
    for prefix in ("", "k", "M", "G"):
        if value < 1000:
            break
        value /= 1000
    else:
        prefix = "T"
    return f"{value:.3g} {prefix}{unit}"


def _between(program, count: int) -> dict[tuple[int, int], tuple[int, str]]:
    """(from, to) -> bytes and the level from which the reader gets most of them; a tensor counts once, however many ops read it."""
    tensors = {(edge.producer, edge.consumer, edge.producer_node): edge for edge in program.edges
               if edge.reason is not None and 0 <= edge.producer < edge.consumer < count}
    found: dict[tuple[int, int], collections.Counter] = collections.defaultdict(collections.Counter)
    for (source, target, _), edge in tensors.items():
        found[source, target][edge.level] += edge.bytes
    return {pair: (sum(levels.values()), levels.most_common(1)[0][0]) for pair, levels in sorted(found.items())}


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}"{style}>{html.escape(words)}</text>'


def _box(number: int, kernel, inside: collections.Counter, y: float) -> tuple[list[str], float]:
    lines = textwrap.wrap(", ".join(kernel.nodes) or kernel.name, _COLUMN)
    lines = lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES - 1], f"{lines[_MOST_LINES - 1]} …"]
    kept = ", ".join(f"{count} in {level}" for level, count in sorted(inside.items()))
    facts = f"{amount(kernel.flops, 'FLOP')}, {amount(kernel.read_bytes + kernel.written_bytes, 'B')}" + (f"; tensors that stay inside: {kept}" if kept else "")
    height = _LINE * (len(lines) + 1) + 10
    said = "\n".join((f"{number}  {kernel.name}", " ".join(kernel.ops), " ".join(kernel.shapes)))
    return [f'<g><title>{html.escape(said)}</title><rect x="{_LEFT}" y="{y:g}" width="{_WIDTH}" height="{height}" rx="5" fill="#eef3fb" stroke="#5b7db1"/>',
            *(_text(_LEFT + 8, y + _LINE * (i + 1), line, ' font-weight="bold"') for i, line in enumerate(lines)),
            _text(_LEFT + 8, y + _LINE * (len(lines) + 1), facts, ' fill="#555"'), "</g>"], height


def _line(source: int, target: int, size: int, level: str, lane: int, boxes: list[tuple[float, float]]) -> list[str]:
    """To the next kernel straight down, to a later one around those between."""
    color = _COLORS.get(level, "#555")
    style, label = f'stroke="{color}" fill="none"', f"{amount(size, 'B')} by {'DRAM' if level == 'memory' else level}"
    start, end = boxes[source][0] + boxes[source][1], boxes[target][0]
    if target == source + 1:
        x = _LEFT + 40
        return [f'<path d="M{x},{start:g}V{end:g}m-4,-7l4,7l4,-7" {style}/>', _text(x + 8, (start + end) / 2 + 4, label, f' fill="{color}"')]
    right, start, end = _LEFT + _WIDTH, start - 10, end + 10
    out = right + _STEP * (lane + 1)
    return [f'<path d="M{right},{start:g}H{out}V{end:g}H{right}m7,-4l-7,4l7,4" {style}/>',
            _text(out + 5, start + 12 + (end - start) / 2, label, f' fill="{color}"')]


def draw(program) -> str:
    """Of a `weft.explain(...).programs[i]`. The first 400 kernels; the rest is said."""
    kernels, inside = program.kernels[:_MOST_KERNELS], collections.defaultdict(collections.Counter)
    for edge in program.edges:
        if edge.producer == edge.consumer:
            inside[edge.producer][edge.level] += 1
    parts, boxes, y = [], [], 4.0
    for number, kernel in enumerate(kernels):
        box, height = _box(number, kernel, inside[number], y)
        parts += box
        boxes.append((y, height))
        y += height + _GAP
    lanes: list[int] = []  # the kernel at which each line beside the boxes ends
    for (source, target), (size, level) in _between(program, len(kernels)).items():
        lane = next((i for i, end in enumerate(lanes) if end <= source), len(lanes))
        if target > source + 1:
            lanes[lane:lane + 1] = [target]
        parts += _line(source, target, size, level, lane, boxes)
    if len(program.kernels) > len(kernels):
        parts.append(_text(_LEFT, y, f"and {len(program.kernels) - len(kernels)} more kernels"))
        y += _LINE
    width = _LEFT + _WIDTH + _STEP * len(lanes) + 120
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y:g}" width="{width}" height="{y:g}" font-family="sans-serif" font-size="11">\n'
            f'<rect width="{width}" height="{y:g}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")
