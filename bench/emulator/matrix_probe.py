#!/usr/bin/env python3
"""Measures how the matrix units of a GPU round, and says which parameters of the emulator's model fit bit for bit.

    matrix_probe.py run OUT.npz [NAME...]       on the GPU: needs libcuda, numpy; OUT holds inputs and outputs
    matrix_probe.py analyse OUT.npz [NAME...]   anywhere: a line per instruction; exit code 1 when the table of the emulator is wrong
    matrix_probe.py simulate OUT.npz [NAME...]  outputs by the table itself: analyse must then find the table's parameters
    matrix_probe.py ptx DIR                     the kernels as PTX files

NAME selects instructions whose name contains it. The table is read from kernels-runtime/src/Emulator/Numerics/MatrixModel.cpp.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import itertools
import pathlib
import re
import sys

import numpy

import probe_kernels
import probe_model
from driver import Card
from probe_kernels import Form
from probe_model import Model

TABLE = pathlib.Path(__file__).resolve().parents[2] / "kernels-runtime/src/Emulator/Numerics/MatrixModel.cpp"
ROW = re.compile(r"\{(\d+), MatrixUnit::(\w+), ElementClass::(\w+), (\w+), \{(\d+), (\d+), (-\d+), (\d+), k(\w+), (\w+)\}\}")


class Prober(Card):
    def multiply(self, form: Form, a: numpy.ndarray, b: numpy.ndarray, c: numpy.ndarray) -> numpy.ndarray:
        module = self.load(probe_kernels.ptx(form).encode())
        words = probe_kernels.pack_d(form, c)
        buffers = [self.upload(x) for x in (probe_kernels.pack_a(form, a), probe_kernels.pack_b(form, b), words)]
        self.launch(self.function(module, "probe"), (len(a), 1, 1), (32 * form.warps, 1, 1), [bytes(x) for x in buffers])
        out = numpy.frombuffer(self.download(buffers[2], words.nbytes), words.dtype).reshape(words.shape)
        for buffer in buffers:
            self.free(buffer)
        self.unload(module)
        return probe_kernels.unpack_d(form, out, len(a))


def table_model(form: Form, architecture: int = 90) -> Model | None:
    """The emulator's parameters for a floating-point form."""
    if not probe_model.is_float(form):
        return None
    element = {"tf32": "TF32", "e4m3": "Fp8", "e5m2": "Fp8"}.get(form.a, "Half")
    for row in ROW.findall(TABLE.read_text()):
        if int(row[0]) <= architecture and row[1].lower() == form.unit and row[2] == element \
                and (row[3] == "true") == (form.accumulator == "f16"):
            pairs = row[8] == "Pairs"
            return Model(form.depth // 2 if pairs else min(int(row[4]), form.depth), int(row[5]), int(row[6]), int(row[7]),
                         row[8].lower(), row[9] == "true")
    raise LookupError(f"{TABLE.name} has no row for {form.name}")


def selected(names: list[str]) -> list[Form]:
    return [form for form in probe_kernels.forms() if not names or any(name in form.name for name in names)]


def styles_of(form: Form) -> tuple[str, ...]:
    return probe_model.STYLES if probe_model.is_float(form) else probe_model.STYLES[:1]


def collect(path: str, names: list[str], multiply, name: str) -> int:
    arrays, failures = {"card": numpy.array(name)}, 0
    for form in selected(names):
        try:
            for style in styles_of(form):
                a, b, c = probe_model.inputs(form, style, probe_model.tiles_of(form))
                for key, value in (("a", a), ("b", b), ("c", c), ("d", multiply(form, a, b, c))):
                    arrays[f"{form.name}/{style}/{key}"] = value
        except RuntimeError as error:
            failures += 1
            print(f"{form.name}: {error}")
    numpy.savez_compressed(path, **arrays)
    print(f"{name}: {len(selected(names)) - failures} instructions, {path}")
    return failures


def mismatches(form: Form, model: Model | None, data: dict[str, tuple]) -> dict[str, int]:
    return {style: int((probe_model.expected(form, model, a, b, c) != d).sum()) for style, (a, b, c, d) in data.items()}


def search(form: Form, table: Model, data: dict[str, tuple]) -> Model:
    """The parameters with the fewest mismatches: first those that ordinary numbers show, then those of the ends."""
    main = {style: tuple(x[:2] for x in data[style]) for style in ("normal", "wide", "powers", "cancel") if style in data}

    def best(candidates, samples):
        return min(candidates, key=lambda model: sum(mismatches(form, model, samples).values()))

    blocks = [size for size in (4, 8, 16, 32) if size <= form.depth]
    shapes = [(size, "consecutive") for size in blocks] + ([(form.depth // 2, "pairs")] if form.depth >= 8 else [])
    results = ((table.result, False),) if form.accumulator == "f16" else ((23, False), (23, True), (13, False), (13, True))
    found = best([Model(block, bits, table.minimum, result, order, late, nearest) for (block, order), bits, late, (result, nearest)
                  in itertools.product(shapes, (table.bits, 13, 24, 25), (False, True), results)], main)
    replace = probe_model.dataclasses.replace
    found = best([found] + [replace(found, bits=bits) for bits in range(8, 33)], main)
    found = best([found] + [replace(found, result=bits) for bits in range(9, 24) if form.accumulator == "f32"], main)
    found = best([found, replace(found, zeros_count=not found.zeros_count)], data)
    return best([found] + [replace(found, minimum=minimum) for minimum in (*range(-150, -110), *range(-40, -10), -500)], data)


def analyse(path: str, names: list[str]) -> int:
    archive = numpy.load(path)
    wrong = 0
    print(f"GPU: {archive['card']}")
    for form in selected(names):
        data = {style: tuple(archive[f"{form.name}/{style}/{key}"] for key in "abcd") for style in styles_of(form)
                if f"{form.name}/{style}/d" in archive}
        if not data:
            continue
        table = table_model(form)
        by_table = mismatches(form, table, data)
        total = sum(value[3].size for value in data.values())
        if not sum(by_table.values()):
            print(f"{form.name}: table fits, all {total} results; {table or 'exact'}")
            continue
        wrong += 1
        print(f"{form.name}: TABLE DIFFERS in {sum(by_table.values())} of {total} {by_table}; {table or 'exact'}")
        if table is None:
            continue
        found = search(form, table, data)
        by_found = mismatches(form, found, data)
        print(f"  best fit: {sum(by_found.values())} differ {by_found}; {found}")
        for style, (a, b, c, d) in data.items():
            guess = probe_model.expected(form, found, a, b, c)
            for tile, row, column in numpy.argwhere(guess != d)[:2]:
                print(f"    {style}: a {' '.join(f'{x:x}' for x in a[tile, row])} | b {' '.join(f'{x:x}' for x in b[tile, column])} | "
                      f"c {c[tile, row, column]:x} GPU {d[tile, row, column]:x} fit {guess[tile, row, column]:x}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "analyse", "simulate", "ptx"))
    parser.add_argument("path")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.command == "ptx":
        folder = pathlib.Path(arguments.path)
        folder.mkdir(parents=True, exist_ok=True)
        for form in selected(arguments.names):
            (folder / f"{form.name}.ptx").write_text(probe_kernels.ptx(form))
        return 0
    if arguments.command == "run":
        card = Prober()
        return 1 if collect(arguments.path, arguments.names, card.multiply, card.name) else 0
    if arguments.command == "simulate":
        def multiply(form, a, b, c):
            # Through the fragments and back, so that the packing is tried too.
            words = probe_kernels.pack_d(form, probe_model.expected(form, table_model(form), a, b, c))
            return probe_kernels.unpack_d(form, words, len(a))
        return 1 if collect(arguments.path, arguments.names, multiply, "the table") else 0
    return 1 if analyse(arguments.path, arguments.names) else 0


if __name__ == "__main__":
    sys.exit(main())
