"""DequantizeLinear of blocks in front of MatMul and Gemm, with extents that no tile divides: where the plan has the weights, and the result on
the emulator against onnxruntime.

    packed_layouts.py FOLDER
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
draw = np.random.default_rng(7)
ROWS, DEPTH, COLUMNS, BLOCK = 3, 560, 202, 16


def run(*command):
    done = subprocess.run([*command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def packed(name, kind, shape):
    """Numbers of 4 bits, any of them."""
    return helper.make_tensor(name, kind, shape, draw.bytes(int(np.prod(shape)) // 2), raw=True)


def model(path, along, signed, zeros):
    kind = TensorProto.INT4 if signed else TensorProto.UINT4
    shape, blocks = (DEPTH, COLUMNS), (DEPTH // BLOCK, COLUMNS)
    if along:
        shape, blocks = shape[::-1], blocks[::-1]
    made = [packed("w", kind, shape),
            numpy_helper.from_array(draw.uniform(0.003, 0.006, blocks).astype("f2"), "s")]
    if zeros:
        made.append(packed("z", kind, blocks))
    nodes = [helper.make_node("DequantizeLinear", [tensor.name for tensor in made], ["d"], axis=int(along), block_size=BLOCK),
             helper.make_node("Gemm", ["x", "d"], ["y"], transB=1) if along else helper.make_node("MatMul", ["x", "d"], ["y"])]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT16, [ROWS, width]) for name, width in (("x", DEPTH), ("y", COLUMNS))]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], made)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


for along in (False, True):
    for signed, zeros in ((True, False), (False, True)):
        name = f"{'along' if along else 'across'} {'int4' if signed else 'uint4'}{' with zero points' if zeros else ''}"
        path = folder / f"{name.replace(' ', '-')}.onnx"
        model(path, along, signed, zeros)
        run("weft-compile", str(path), "--target=sm_80", "--compile-to=plan", "--quiet", "-o", str(path.with_suffix(".mlir")))
        plan = path.with_suffix(".mlir").read_text()
        weight = next(line for line in plan.splitlines() if "tg.weight" in line and f"tensor<{COLUMNS}x{DEPTH}x" in line)
        where = "as stored" if path.name in weight else "in a file of its own"
        x = draw.standard_normal((ROWS, DEPTH)).astype("f2")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        y = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        np.save(folder / "x.npy", x)
        np.save(folder / "y.npy", y)
        bundle = str(path.with_suffix(".weft"))
        run("weft-compile", str(path), "--target=sm_80", "--quiet", "-o", bundle)
        run("weft-run", bundle, "--device=emu:sm_80,sanitizer=on", f"--input=x=@{folder}/x.npy", f"--expected-output=y=@{folder}/y.npy",
            "--rtol=2e-3", "--atol=2e-3")
        print(f"{name}: rows along the sum, {where}, right on sm_80")
