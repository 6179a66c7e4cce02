#!/usr/bin/env python3
"""Small convolutional models, as they are and as onnxruntime optimises them for this machine: Weft must make the same of both."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

FOLDER = pathlib.Path(sys.argv[1])
FOLDER.mkdir(parents=True, exist_ok=True)
WARNING = "does not say how its weights are blocked"
RNG = np.random.default_rng(0)
# Channels of the stem, of the middle and of the end: no whole blocks, and whole blocks of 16.
SIZES = ((12, 20, 7), (32, 16, 16))
TEXT = """<ir_version: 8, opset_import: ["" : 17]> net (float[n,3,h,w] x) => (y, z)
<float[{a},3,3,3] w0, float[{a},1,3,3] w1, float[{b},{a},1,1] w2, float[{b}] b2, float[{b},{b},3,3] w3, float[{c},{b},1,1] w4> {{
  c0 = Conv<strides=[2,2], pads=[1,1,1,1]>(x, w0) r0 = Relu(c0)
  c1 = Conv<group={a}, pads=[1,1,1,1]>(r0, w1) r1 = HardSigmoid(c1)
  c2 = Conv(r1, w2, b2)
  c3 = Conv<pads=[1,1,1,1]>(c2, w3) s3 = Add(c3, c2) r3 = Relu(s3)
  p3 = AveragePool<kernel_shape=[2,2], strides=[2,2]>(r3)
  y = Conv(p3, w4) z = GlobalAveragePool(r3)
}}"""


def build(a: int, b: int, c: int) -> onnx.ModelProto:
    model = onnx.parser.parse_model(TEXT.format(a=a, b=b, c=c))
    shapes = [[dim.dim_value for dim in info.type.tensor_type.shape.dim] for info in model.graph.value_info]
    for info, shape in zip(model.graph.value_info, shapes):
        weights = RNG.standard_normal(shape).astype(np.float32) * RNG.uniform(0.05, 0.5, (shape[0],) + (1,) * (len(shape) - 1))
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights.astype(np.float32), info.name))
    del model.graph.value_info[:]
    return model


def results(path: pathlib.Path, inputs: pathlib.Path) -> list[np.ndarray]:
    done = subprocess.run(["weft-compile", path, "-o", path.with_suffix(".weft")], check=True, capture_output=True, text=True)
    # Where all channels are whole blocks of 16, only the weights tell what the blocks are.
    assert (WARNING in done.stderr) == (path.name == "1.optimised.onnx"), done.stderr
    names = [path.with_suffix(f".{name}.npy") for name in "yz"]
    subprocess.run(["weft-run", path.with_suffix(".weft"), f"--inputs-npz={inputs}", *(f"--output={name}=@{file}" for name, file in zip("yz", names))],
                   check=True, stdout=subprocess.DEVNULL)
    return [np.load(name) for name in names]


for i, size in enumerate(SIZES):
    plain, optimised, inputs = (FOLDER / f"{i}.{kind}" for kind in ("plain.onnx", "optimised.onnx", "npz"))
    onnx.save(build(*size), plain)
    options = ort.SessionOptions()
    options.log_severity_level, options.optimized_model_filepath = 4, str(optimised)
    ort.InferenceSession(str(plain), options, providers=["CPUExecutionProvider"])
    assert any(node.domain == "com.microsoft.nchwc" for node in onnx.load(optimised).graph.node), "onnxruntime blocked no channels"
    np.savez(inputs, x=RNG.standard_normal((2, 3, 13, 18)).astype(np.float32))
    for want, got in zip(results(plain, inputs), results(optimised, inputs)):
        assert want.shape == got.shape and np.allclose(want, got, rtol=1e-4, atol=1e-4), (size, float(np.abs(want - got).max()))
