"""Draws docs/pictures/pipeline.svg: the passes that run over a small model on its way to a CPU and to a GPU, as weft-opt says them when it runs them."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import html
import pathlib
import re
import subprocess

MODEL = """func.func @main(%x: tensor<256x512xf16>, %w: tensor<512x1024xf16>, %b: tensor<1024xf16>) -> tensor<256x1024xf16> {
  %0 = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<256x512xf16>, tensor<512x1024xf16> -> tensor<256x1024xf16>
  %1 = tg.add %0, %b : tensor<256x1024xf16>, tensor<1024xf16>
  return %1 : tensor<256x1024xf16>
}
"""
NORMALIZE = ["--weft-normalize"]
CPU = [*NORMALIZE, "--weft-plan", "--weft-outline-kernels", "--weft-lower-cpu"]
GPU = [*NORMALIZE, "--weft-plan=gpu=true target=H100", "--weft-outline-kernels", "--weft-lower-gpu=target=H100"]

WIDTH, GAP, LINE, HEAD = 560, 24, 16, 22


def passes_that_run(opt: pathlib.Path, flags: list[str], known: dict[str, tuple[str, str]]) -> list[str]:
    """Weft's own passes in the order in which they end; each once, where it runs first. Those that only run others are in no TableGen file."""
    done = subprocess.run([str(opt), *flags, "--mlir-print-ir-after-all", "-o", "/dev/null"], input=MODEL, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"draw_pipeline: {opt}: {done.stderr.strip()[-300:]}")
    return [flag for flag in dict.fromkeys(re.findall(r"IR Dump After .*? \((weft-[\w-]+)\)", done.stderr)) if flag in known]


def read_passes(root: pathlib.Path) -> dict[str, tuple[str, str]]:
    """Flag of each pass -> its room and its summary, from the TableGen files."""
    found = {}
    for path in sorted(root.glob("include/weft/**/*Passes.td")):
        room = str(path.parent.relative_to(root / "include" / "weft"))
        for flag, body in re.findall(r'Pass<"(weft-[\w-]+)"[^{]*\{(.*?)let description', path.read_text(), re.S):
            summary = re.search(r'let summary = ((?:"[^"]*"\s*)+)', body)
            found[flag] = (room, "".join(re.findall(r'"([^"]*)"', summary[1])) if summary else "")
    return found


@dataclasses.dataclass
class Box:
    title: str
    lines: list[tuple[str, str]]

    @property
    def height(self) -> int:
        return HEAD + LINE * len(self.lines) + (8 if self.lines else 4)


def boxes_of(flags: list[str], known: dict[str, tuple[str, str]]) -> list[Box]:
    """Neighbouring passes of one room are a box."""
    boxes: list[Box] = []
    for flag in flags:
        room, summary = known[flag]
        if not boxes or boxes[-1].title != room:
            boxes.append(Box(room, []))
        boxes[-1].lines.append((flag, summary))
    return boxes


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3].rsplit(" ", 1)[0] + " ..."


class Picture:
    def __init__(self):
        self.parts: list[str] = []
        self.bottom = GAP

    def text(self, x: int, y: int, text: str, style: str) -> None:
        self.parts.append(f'<text x="{x}" y="{y}" class="{style}">{html.escape(text)}</text>')

    def box(self, x: int, y: int, width: int, box: Box) -> None:
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{box.height}" rx="5"/>')
        self.text(x + 10, y + 16, box.title, "room")
        room = (width - 220) // 6
        for i, (flag, summary) in enumerate(box.lines):
            self.text(x + 10, y + HEAD + LINE * i + 12, flag, "pass")
            self.text(x + 200, y + HEAD + LINE * i + 12, cut(summary, room), "summary")
        self.bottom = max(self.bottom, y + box.height)

    def arrow(self, x: int, y: int, to: int) -> None:
        self.parts.append(f'<path d="M{x} {y} V{to - 5}" marker-end="url(#head)"/>')

    def column(self, x: int, y: int, boxes: list[Box]) -> int:
        for box in boxes:
            self.arrow(x + WIDTH // 2, y - GAP, y)
            self.box(x, y, WIDTH, box)
            y += box.height + GAP
        return y - GAP

    def svg(self) -> str:
        width, height = 2 * WIDTH + 3 * GAP, self.bottom + GAP
        style = ("rect{fill:#f3f6fb;stroke:#51709c}path{stroke:#51709c;fill:none}text{font-family:sans-serif;font-size:11px;fill:#1d2735}"
                 ".room{font-weight:bold;font-size:13px}.pass{font-family:monospace}.summary{fill:#566274}.side{font-weight:bold;font-size:15px}")
        head = '<defs><marker id="head" viewBox="0 0 6 6" refX="3" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L6 3L0 6Z" style="fill:#51709c"/></marker></defs>'
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
                f'<style>{style}</style>{head}<rect width="{width}" height="{height}" style="fill:#fff;stroke:none"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


def draw(opt: pathlib.Path, root: pathlib.Path) -> str:
    known = read_passes(root)
    common = passes_that_run(opt, NORMALIZE, known)
    picture, both = Picture(), 2 * WIDTH + GAP
    y = GAP
    for title, flags in (("Import/Onnx: model.onnx becomes tg ops", []), ("Normalize: composites become primitives", common)):
        if flags:
            picture.arrow(GAP + both // 2, y - GAP, y)
        box = Box(title, [(flag, known[flag][1]) for flag in flags])
        picture.box(GAP, y, both, box)
        y += box.height + GAP
    ends = []
    for column, (name, flags) in enumerate((("CPU", CPU), ("GPU", GPU))):
        x = GAP + column * (WIDTH + GAP)
        picture.text(x + 10, y + 2, name, "side")
        mine = [flag for flag in passes_that_run(opt, flags, known) if flag not in common]
        ends.append(picture.column(x, y + GAP // 2, boxes_of(mine, known)))
    for column, (end, text) in enumerate(zip(ends, ("Emit: native code by LLVM and lld", "Emit: PTX, for the driver to assemble"))):
        x = GAP + column * (WIDTH + GAP)
        picture.arrow(x + WIDTH // 2, end, max(ends) + GAP)
        picture.box(x, max(ends) + GAP, WIDTH, Box(text, []))
    y = picture.bottom + GAP
    for column in range(2):
        picture.arrow(GAP + column * (WIDTH + GAP) + WIDTH // 2, y - GAP, y)
    picture.box(GAP, y, both, Box("one bundle: programs, kernels, weights -> kernels-runtime", []))
    return picture.svg()
