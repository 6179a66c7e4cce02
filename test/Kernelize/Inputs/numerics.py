"""Kernels through --weft-kernelize under several schedules, run by the tile interpreter, against weft-reference on the tg form."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from harness.tile_interpreter import Kernel, split  # noqa: E402
from harness.tile_scalars import DTYPES  # noqa: E402

# (name, result dimensions' tiles and streamed steps to try, symbols, kernel)
KERNELS = [
    ("softmax", [([1, 64], []), ([4, 16], []), ([2, 32], [])], [], """(%x: tensor<5x50xf32>) -> tensor<5x50xf32> {
  %m = tg.reduce max %x axes = [1] keep_dims : tensor<5x50xf32>
  %d = tg.sub %x, %m : tensor<5x50xf32>, tensor<5x1xf32>
  %e = tg.exp %d : tensor<5x50xf32>
  %s = tg.reduce add %e axes = [1] keep_dims : tensor<5x50xf32>
  %r = tg.div %e, %s : tensor<5x50xf32>, tensor<5x1xf32>
  return %r : tensor<5x50xf32>"""),
    ("views", [([1, 8], []), ([8, 64], []), ([2, 4], [])], [], """(%x: tensor<6x7x10xf16>) -> tensor<10x46xf16> {
  %v = tg.constant dense<2.0> : tensor<f16>
  %t = tg.transpose %x [2, 0, 1] : tensor<6x7x10xf16>
  %f = tg.reshape %t : tensor<10x6x7xf16> to tensor<10x42xf16>
  %s = tg.slice %f offsets = [9, 2] strides = [-1, 2] : tensor<10x42xf16> to tensor<10x20xf16>
  %c = tg.concat %s, %s axis = 1 : tensor<10x20xf16>, tensor<10x20xf16>
  %p = tg.pad %c, %v low = [0, 1] high = [0, 5] interior = [0, 0] : tensor<10x40xf16>, tensor<f16>
  return %p : tensor<10x46xf16>"""),
    ("gemm", [([16, 16], [8]), ([32, 64], [64]), ([1, 8], [16]), ([4, 4], [2])], [], """(%a: tensor<20x30xf16>, %b: tensor<30x25xf16>, %c: tensor<25xf16>) -> tensor<20x25xf16> {
  %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<20x30xf16>, tensor<30x25xf16> -> tensor<20x25xf16>
  %1 = tg.add %0, %c : tensor<20x25xf16>, tensor<25xf16>
  return %1 : tensor<20x25xf16>"""),
    ("convolution", [([1, 4, 2, 4], [2, 1, 1]), ([1, 8, 8, 1], [4, 4, 1]), ([2, 1, 4, 4], [1, 1, 4])], [], """(%x: tensor<2x3x7x7xf32>, %w: tensor<5x3x3x3xf32>) -> tensor<2x5x4x4xf32> {
  %v = tg.constant dense<0.0> : tensor<f32>
  %p = tg.pad %x, %v low = [0, 0, 1, 1] high = [0, 0, 1, 1] interior = [0, 0, 0, 0] : tensor<2x3x7x7xf32>, tensor<f32>
  %0 = tg.contract %p, %w [affine_map<(n, o, h, w, c, i, j) -> (n, c, h * 2 + i, w * 2 + j)>, affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>,
       affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>] : tensor<2x3x9x9xf32>, tensor<5x3x3x3xf32> -> tensor<2x5x4x4xf32>
  return %0 : tensor<2x5x4x4xf32>"""),
    ("window_rows", [([1, 8, 8, 4], []), ([1, 8, 8, 8], [])], [], """(%x: tensor<1x14x14x6xf32>, %w: tensor<3x3x6xf32>, %b: tensor<6xf32>) -> (tensor<1x7x7x6xf32>, tensor<1x1x1x6xf32>) {
  %v = tg.constant dense<0.0> : tensor<f32>
  %p = tg.pad %x, %v low = [0, 1, 1, 0] high = [0, 0, 0, 0] interior = [0, 0, 0, 0] : tensor<1x14x14x6xf32>, tensor<f32>
  %0 = tg.contract %p, %w [affine_map<(n, h, w, c, i, j) -> (n, h * 2 + i, w * 2 + j, c)>, affine_map<(n, h, w, c, i, j) -> (i, j, c)>,
       affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>] : tensor<1x15x15x6xf32>, tensor<3x3x6xf32> -> tensor<1x7x7x6xf32>
  %1 = tg.add %0, %b : tensor<1x7x7x6xf32>, tensor<6xf32>
  %2 = tg.reduce add %1 axes = [1, 2] keep_dims : tensor<1x7x7x6xf32>
  return %1, %2 : tensor<1x7x7x6xf32>, tensor<1x1x1x6xf32>"""),
    ("window_rows_past", [([1, 8, 8, 4], []), ([1, 8, 8, 2], [])], [], """(%x: tensor<1x6x6x6xf32>, %w: tensor<3x3x6xf32>) -> (tensor<1x6x6x6xf32>, tensor<1x1x1x6xf32>) {
  %v = tg.constant dense<0.0> : tensor<f32>
  %p = tg.pad %x, %v low = [0, 1, 1, 0] high = [0, 1, 1, 0] interior = [0, 0, 0, 0] : tensor<1x6x6x6xf32>, tensor<f32>
  %0 = tg.contract %p, %w [affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>, affine_map<(n, h, w, c, i, j) -> (i, j, c)>,
       affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>] : tensor<1x8x8x6xf32>, tensor<3x3x6xf32> -> tensor<1x6x6x6xf32>
  %1 = tg.reduce add %0 axes = [1, 2] keep_dims : tensor<1x6x6x6xf32>
  return %0, %1 : tensor<1x6x6x6xf32>, tensor<1x1x1x6xf32>"""),
    ("window_loop", [([1, 4, 4, 8], [1, 1]), ([1, 1, 8, 4], [1, 1])], [], """(%x: tensor<1x7x7x6xf32>, %w: tensor<5x5x6xf32>) -> tensor<1x7x7x6xf32> {
  %v = tg.constant dense<0.0> : tensor<f32>
  %p = tg.pad %x, %v low = [0, 2, 2, 0] high = [0, 2, 2, 0] interior = [0, 0, 0, 0] : tensor<1x7x7x6xf32>, tensor<f32>
  %0 = tg.contract %p, %w [affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>, affine_map<(n, h, w, c, i, j) -> (i, j, c)>,
       affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>] : tensor<1x11x11x6xf32>, tensor<5x5x6xf32> -> tensor<1x7x7x6xf32>
  return %0 : tensor<1x7x7x6xf32>"""),
    ("window_product", [([1, 4, 8, 16], [8]), ([1, 2, 8, 8], [16])], [], """(%x: tensor<1x7x7x12xf32>, %w: tensor<3x3x12xf32>, %u: tensor<10x12xf32>) -> tensor<1x7x7x10xf32> {
  %v = tg.constant dense<0.0> : tensor<f32>
  %p = tg.pad %x, %v low = [0, 1, 1, 0] high = [0, 1, 1, 0] interior = [0, 0, 0, 0] : tensor<1x7x7x12xf32>, tensor<f32>
  %0 = tg.contract %p, %w [affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>, affine_map<(n, h, w, c, i, j) -> (i, j, c)>,
       affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>] : tensor<1x9x9x12xf32>, tensor<3x3x12xf32> -> tensor<1x7x7x12xf32>
  %1 = tg.max %0, %v : tensor<1x7x7x12xf32>, tensor<f32>
  %2 = tg.contract %1, %u [affine_map<(n, h, w, o, c) -> (n, h, w, c)>, affine_map<(n, h, w, o, c) -> (o, c)>, affine_map<(n, h, w, o, c) -> (n, h, w, o)>]
      : tensor<1x7x7x12xf32>, tensor<10x12xf32> -> tensor<1x7x7x10xf32>
  return %2 : tensor<1x7x7x10xf32>"""),
    ("squeeze", [([8, 8], [4]), ([16, 32], [8])], [], """(%x: tensor<9x40xf32>, %m: tensor<40xf32>, %u: tensor<6x40xf32>, %w: tensor<40x6xf32>) -> tensor<9x40xf32> {
  %0 = tg.contract %m, %u [affine_map<(o, k) -> (k)>, affine_map<(o, k) -> (o, k)>, affine_map<(o, k) -> (o)>] : tensor<40xf32>, tensor<6x40xf32> -> tensor<6xf32>
  %1 = tg.sigmoid %0 : tensor<6xf32>
  %2 = tg.mul %0, %1 : tensor<6xf32>, tensor<6xf32>
  %3 = tg.contract %2, %w [affine_map<(o, k) -> (k)>, affine_map<(o, k) -> (o, k)>, affine_map<(o, k) -> (o)>] : tensor<6xf32>, tensor<40x6xf32> -> tensor<40xf32>
  %4 = tg.sigmoid %3 : tensor<40xf32>
  %5 = tg.mul %x, %4 : tensor<9x40xf32>, tensor<40xf32>
  return %5 : tensor<9x40xf32>"""),
    ("squeeze_steps", [([8], [8]), ([16], [4])], [], """(%m: tensor<1100xf32>, %u: tensor<6x1100xf32>, %w: tensor<20x6xf32>) -> tensor<20xf32> {
  %0 = tg.contract %m, %u [affine_map<(o, k) -> (k)>, affine_map<(o, k) -> (o, k)>, affine_map<(o, k) -> (o)>] : tensor<1100xf32>, tensor<6x1100xf32> -> tensor<6xf32>
  %1 = tg.sigmoid %0 : tensor<6xf32>
  %2 = tg.contract %1, %w [affine_map<(o, k) -> (k)>, affine_map<(o, k) -> (o, k)>, affine_map<(o, k) -> (o)>] : tensor<6xf32>, tensor<20x6xf32> -> tensor<20xf32>
  return %2 : tensor<20xf32>"""),
    ("product_rows", [([16], [16, 8]), ([32], [16, 32])], [], """(%x: tensor<9x20xf32>, %w: tensor<40x20xf32>) -> tensor<40xf32> {
  %0 = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<9x20xf32>, tensor<40x20xf32> -> tensor<9x40xf32>
  %1 = tg.exp %0 : tensor<9x40xf32>
  %2 = tg.reduce add %1 axes = [0] : tensor<9x40xf32>
  return %2 : tensor<40xf32>"""),
    ("scan", [([4, 32], []), ([2, 4], [])], [], """(%x: tensor<5x20xi32>) -> tensor<5x20xi32> {
  %0 = tg.scan add %x axis = 1 {exclusive, reverse} : tensor<5x20xi32>
  return %0 : tensor<5x20xi32>"""),
    ("top_k", [([2, 32], [])], [], """(%x: tensor<5x20xi32>) -> (tensor<5x3xi32>, tensor<5x3xi64>) {
  %0, %1 = tg.top_k %x axis = 1 k = 3 {largest} : tensor<5x20xi32>
  return %0, %1 : tensor<5x3xi32>, tensor<5x3xi64>"""),
    ("arg_reduce", [([4, 1], [4]), ([8, 1], [64])], [], """(%x: tensor<5x20xi32>) -> tensor<5x1xi64> {
  %0 = tg.arg_reduce min %x axis = 1 keep_dims {select_last} : tensor<5x20xi32>
  return %0 : tensor<5x1xi64>"""),
    ("gather", [([4, 2, 8], [])], [], """(%d: tensor<4x9xf32>, %i: tensor<5x2xi64>) -> tensor<5x2x9xf32> {
  %0 = tg.gather %d, %i data_map = affine_map<(a, b, c)[s] -> (s, c)> index_maps = [affine_map<(a, b, c) -> (a, b)>] : tensor<4x9xf32>, tensor<5x2xi64> -> tensor<5x2x9xf32>
  return %0 : tensor<5x2x9xf32>"""),
    ("scatter", [([4, 4], [])], [], """(%d: tensor<4x9xf32>, %i: tensor<6xi64>, %u: tensor<6x9xf32>) -> tensor<4x9xf32> {
  %0 = tg.scatter %d, %i, %u data_map = affine_map<(a, c)[s] -> (s, c)> index_maps = [affine_map<(a, c) -> (a)>] {kind = #tg<monoid add>} : tensor<4x9xf32>, tensor<6xi64>, tensor<6x9xf32>
  return %0 : tensor<4x9xf32>"""),
    ("log_sum_exp", [([4, 1], [8]), ([2, 1], [32])], [], """(%x: tensor<5x20xf32>) -> tensor<5x1xf32> {
  %r = tg.fold over affine_map<() -> (20)> init [0xFF800000 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<5x1xf32>, %l: tensor<5x1xf32>):
    %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<5x20xf32>
    %m2 = tg.max %m, %b : tensor<5x1xf32>, tensor<5x1xf32>
    %d = tg.sub %x, %m2 : tensor<5x20xf32>, tensor<5x1xf32>
    %e = tg.exp %d : tensor<5x20xf32>
    %s = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<5x20xf32>
    %c = tg.sub %m, %m2 : tensor<5x1xf32>, tensor<5x1xf32>
    %f = tg.exp %c : tensor<5x1xf32>
    %k = tg.mul %l, %f : tensor<5x1xf32>, tensor<5x1xf32>
    %l2 = tg.add %k, %s : tensor<5x1xf32>, tensor<5x1xf32>
    tg.fold_yield %m2, %l2 : tensor<5x1xf32>, tensor<5x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<5x1xf32>, %l: tensor<5x1xf32>):
    %g = tg.log %l : tensor<5x1xf32>
    %o = tg.add %g, %m : tensor<5x1xf32>, tensor<5x1xf32>
    tg.fold_yield %o : tensor<5x1xf32>
  } : tensor<5x1xf32>
  return %r : tensor<5x1xf32>"""),
]
TOLERANCE = {"f16": 4e-3, "f32": 1e-5}


def parse_tensor(text: str) -> tuple[list[int], str]:
    shape, element = re.match(r"tensor<((?:\d+x)*)(\w+)>", text).groups()
    return [int(extent) for extent in shape.split("x") if extent], element


def reference(kernel: str, inputs: list[np.ndarray], count: int) -> list[np.ndarray]:
    with tempfile.TemporaryDirectory() as folder:
        command = ["weft-reference", "-", "--output", folder]
        for i, array in enumerate(inputs):
            np.save(f"{folder}/input_{i}.npy", array)
            command += ["--input", f"{folder}/input_{i}.npy"]
        subprocess.run(command, input=f"func.func @main{kernel}\n}}", text=True, check=True, timeout=60)
        return [np.load(f"{folder}/output_{i}.npy") for i in range(count)]


def kernelize(kernel: str, tile: list[int], stream: list[int]) -> Kernel:
    steps = f", stream = {stream}" if stream else ""
    module = f"""module attributes {{tg.schedule = #tg.schedule<tile = {tile}{steps}, engine = simt, warps = 1, stages = 1, order = "row",
      persistent = false, split = 1>}} {{\nfunc.func @kernel{kernel}\n}}\n}}"""
    command = ["weft-opt", "-", "--weft-kernelize", "--mlir-print-op-generic"]
    return Kernel(subprocess.run(command, input=module, text=True, check=True, capture_output=True, timeout=60).stdout)


def main() -> None:
    rng = np.random.default_rng(0)
    runs = 0
    for name, schedules, symbols, kernel in KERNELS:
        head = re.match(r"\((.*?)\) -> (.*?) \{\n", kernel, re.S)
        results = [parse_tensor(text) for text in split(head[2].strip("()"))]
        inputs = []
        for shape, element in (parse_tensor(part.split(": ")[1]) for part in split(head[1])):
            draw = rng.integers(-4, 4, shape) if element[0] == "i" else rng.standard_normal(shape)
            inputs.append(draw.astype(DTYPES[element]))
        want = reference(kernel, inputs, len(results))
        for tile, stream in schedules:
            got = [np.zeros(shape, DTYPES[element]) for shape, element in results]
            kernelize(kernel, tile, stream).run(inputs, got, symbols)
            for (_, element), x, y in zip(results, got, want):
                fits = np.array_equal(x, y) if element[0] == "i" else np.allclose(x, y, TOLERANCE[element], TOLERANCE[element])
                assert fits, (name, tile, stream, x, y)
            runs += 1
    print(f"{runs} runs: all equal")


main()
