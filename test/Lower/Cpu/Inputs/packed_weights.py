"""Products by stored integers of 2, 4 and 8 bits against numpy in f64, for each CPU level that the machine has: MatMulNBits and DequantizeLinear in
front of a product, blocks of 12 to 256 places, zero points or none, `g_idx`, sums that are no whole number of blocks, prime and panelled columns,
one row, a few, many, and a symbolic number of rows that one bundle serves."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import itertools
import pathlib
import subprocess
import tempfile

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

RNG = np.random.default_rng(11)
DEVICE_REFUSED = 4
ROOM = {np.dtype(np.float32): 2e-6, np.dtype(np.float16): 2e-3}  # Relative L2: f16 rounds each weight, and the result.
TYPES = {"int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4, "int8": np.int8, "uint8": np.uint8}


def fields(packed, bits, count):
    """The numbers of each row of bytes, the lowest bits first."""
    numbers = packed[..., None] >> np.arange(0, 8, bits, dtype=np.uint8) & np.uint8(2**bits - 1)
    return numbers.reshape(packed.shape[0], -1)[:, :count].astype(np.float64)


class Model:
    """One graph of all cases; a case whose rows are symbolic has an input of its own length."""

    def __init__(self):
        self.nodes, self.inputs, self.outputs, self.constants, self.cases = [], [], [], [], []

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def operand(self, depth, rows, kind, symbol):
        index = len(self.cases)
        value = RNG.standard_normal((rows, depth)).astype(kind)
        element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        self.inputs.append(helper.make_tensor_value_info(f"x{index}", element, [symbol or rows, depth]))
        self.outputs.append(helper.make_tensor_value_info(f"y{index}", element, None))
        return f"x{index}", value

    def finish(self, text, value, weight):
        """`weight`: [depth, columns] in f64."""
        self.cases.append((text, value, value.astype(np.float64) @ weight))

    def by_blocks(self, rows, depth, columns, bits=4, block=32, zeros=False, groups=False, kind=np.float32, symbol=None):
        blocks = -(-depth // block)
        packed = RNG.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8)
        scales = RNG.uniform(0.01, 0.02, (columns, blocks)).astype(kind)
        zero = np.full((columns, blocks), 2.0 ** (bits - 1))
        x, value = self.operand(depth, rows, kind, symbol)
        operands = [x, self.constant(packed), self.constant(scales), "", ""]
        if zeros:
            points = RNG.integers(0, 256, (columns, -(-blocks * bits // 8))).astype(np.uint8)
            operands[3], zero = self.constant(points), fields(points, bits, blocks)
        group = np.arange(depth) // block
        if groups:
            group = RNG.permutation(group)
            operands[4] = self.constant(group.astype(np.int32))
        while not operands[-1]:
            operands.pop()
        self.nodes.append(helper.make_node("MatMulNBits", operands, [f"y{len(self.cases)}"], domain="com.microsoft", K=depth, N=columns, bits=bits, block_size=block))
        numbers = fields(packed.reshape(columns, -1), bits, depth)
        self.finish(f"MatMulNBits {rows}x{depth}x{columns} bits={bits} block={block} zeros={zeros} groups={groups} {np.dtype(kind)} {symbol}", value,
                    ((numbers - zero[:, group]) * scales.astype(np.float64)[:, group]).T)

    def spelled(self, rows, depth, columns, name="int4", block=0, zeros=False, is_turned=False, symbol=None):
        """DequantizeLinear of [columns, depth] (`is_turned`) or [depth, columns]; without a block a scale for each column."""
        low = {"int4": -8, "uint4": 0, "int8": -128, "uint8": 0}[name]
        high = low + (16 if name.endswith("4") else 256)
        blocks = -(-depth // block) if block else 1
        numbers, points = RNG.integers(low, high, (depth, columns)), RNG.integers(low, high, (blocks, columns))
        scales = RNG.uniform(0.01, 0.02, (blocks, columns)).astype(np.float32)
        x, value = self.operand(depth, rows, np.float32, symbol)
        stored = [numbers.astype(TYPES[name]), scales, points.astype(TYPES[name])]
        if not block:
            stored[1:] = [array[0] for array in stored[1:]]
        operands = [self.constant(np.ascontiguousarray(array.T if is_turned else array)) for array in (stored if zeros else stored[:2])]
        index, axis = len(self.cases), int(is_turned) if block else 1 - int(is_turned)
        self.nodes.append(helper.make_node("DequantizeLinear", operands, [f"d{index}"], axis=axis, **({"block_size": block} if block else {})))
        self.nodes.append(helper.make_node("Gemm", [x, f"d{index}"], [f"y{index}"], transB=int(is_turned)))
        widen = (lambda array: np.repeat(array, block, 0)[:depth]) if block else (lambda array: array)
        self.finish(f"DequantizeLinear {rows}x{depth}x{columns} {name} block={block} zeros={zeros} turned={is_turned} {symbol}", value,
                    (numbers - (widen(points) if zeros else 0)) * widen(scales.astype(np.float64)))

    def save(self, path):
        graph = helper.make_graph(self.nodes, "g", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def draw(model, symbolic):
    """The cases; with `symbolic` those of a run-time number of rows, of that many."""
    if symbolic:
        for i, (bits, columns, zeros) in enumerate(((4, 131, True), (8, 128, False), (2, 67, True), (4, 192, False))):
            model.by_blocks(symbolic, 150, columns, bits=bits, zeros=zeros, symbol=f"m{i}")
        model.spelled(symbolic, 77, 66, "int4", 16, symbol="m4")
        return
    for bits, block, zeros in itertools.product((2, 4, 8), (16, 32, 64, 128, 256), (False, True)):
        rows, columns = int(RNG.choice([1, 2, 5, 7])), int(RNG.choice([1, 3, 61, 64, 127, 128, 193]))
        model.by_blocks(rows, block * int(RNG.integers(1, 3)) + int(RNG.integers(0, block)), columns, bits, block, zeros)
    for rows, columns in itertools.product((1, 2, 3, 4, 6, 7, 16, 17, 33), (97, 128)):
        model.by_blocks(rows, 301, columns, zeros=columns == 97)
    for kind, rows in itertools.product((np.float32, np.float16), (1, 9)):
        model.by_blocks(rows, 160, 129, groups=True, kind=kind)
        model.by_blocks(rows, 130, 64, zeros=True, kind=kind)
    for name, turned, block in itertools.product(("int4", "uint4", "int8", "uint8"), (False, True), (0, 12, 16, 20, 33)):
        model.spelled(int(RNG.choice([1, 4, 19])), 131, int(RNG.choice([45, 128])), name, block, zeros=bool(RNG.integers(2)), is_turned=turned)


def run(folder, model):
    """Failures, and levels that the machine has."""
    model.save(folder / "m.onnx")
    flags, failures, levels = [], 0, 0
    for i, (_, value, _) in enumerate(model.cases):
        np.save(folder / f"x{i}.npy", value)
        flags += [f"--input=x{i}=@{folder}/x{i}.npy", f"--output=y{i}=@{folder}/y{i}.npy"]
    for level in ("x86-64-v2", "x86-64-v3", "x86-64-v4"):
        subprocess.run(["weft-compile", folder / "m.onnx", "-o", folder / "m.weft", "--quiet", f"--cpu={level}"], check=True)
        done = subprocess.run(["weft-run", folder / "m.weft", *flags], stdout=subprocess.DEVNULL)
        if done.returncode == DEVICE_REFUSED:
            continue
        done.check_returncode()
        levels += 1
        for i, (text, value, want) in enumerate(model.cases):
            got = np.load(folder / f"y{i}.npy").astype(np.float64)
            error = np.linalg.norm(got - want) / np.linalg.norm(want) if got.shape == want.shape else np.inf
            if not error <= ROOM[value.dtype]:
                failures += 1
                print(f"FAIL {level} {text}: error {error}")
    return failures, levels


def main():
    count = failures = levels = 0
    for rows in (0, 1, 3, 40):
        model = Model()
        draw(model, rows)
        with tempfile.TemporaryDirectory() as name:
            wrong, reached = run(pathlib.Path(name), model)
        count, failures, levels = count + len(model.cases), failures + wrong, levels + reached
    print(f"{count} cases, {'some' if levels else 'no'} levels, {failures} failures")
    raise SystemExit(failures != 0)


if __name__ == "__main__":
    main()
