"""A quantised network as exporters write it: QuantizeLinear and DequantizeLinear around convolutions and products.

Activations are u8 with zero points or i8 without, weights i8 with a scale for each output channel. The scales are those of a calibration
whose results are known: no activation is clipped, and few of a step's results lie near a half. Weights have 7 bits: on an x86 without VNNI
onnxruntime adds two products of u8 and i8 in 16 bits and saturates (its quantisation guide: reduce_range), so with 8 it would be the one that is wrong.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib

import numpy as np
from onnx import TensorProto, helper

from generate import Builder


def _weight(b: Builder, name: str, shape: tuple[int, ...], axis: int) -> str:
    """Dequantised i8 weights with a scale along `axis`."""
    values = b.rng.integers(-63, 64, shape).astype(np.int8)
    fan = np.prod(shape) / shape[axis]
    scales = (b.rng.uniform(0.5, 1.0, shape[axis]) / (36 * np.sqrt(fan))).astype(np.float32)
    inputs = [b.constant(f"{name}.q", values), b.constant(f"{name}.scale", scales), b.constant(f"{name}.zero", np.zeros(shape[axis], np.int8))]
    return b.op("DequantizeLinear", inputs, name, axis=axis)


def _rounded(b: Builder, x: str, name: str, scale: float, zero: np.generic) -> str:
    ends = [b.constant(f"{name}.scale", np.float32(scale)), b.constant(f"{name}.zero", zero)]
    return b.op("DequantizeLinear", [b.op("QuantizeLinear", [x, *ends], f"{name}.q"), *ends], name)


def quantised(folder: pathlib.Path, name: str = "quantised", size: int = 24) -> pathlib.Path:
    """Input image f32[2, 3, size, size]; output logits f32[2, 10]."""
    b = Builder(folder, name, seed=20171217)
    x = _rounded(b, "image", "image_rounded", 0.04, np.uint8(128))
    x = b.op("Conv", [x, _weight(b, "stem.weight", (16, 3, 3, 3), 0), b.constant("stem.bias", np.linspace(-0.1, 0.1, 16, dtype=np.float32))], "stem",
             kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    x = _rounded(b, b.op("Relu", [x], "stem.relu"), "stem.rounded", 0.02, np.uint8(0))
    x = b.op("Conv", [x, _weight(b, "body.weight", (32, 16, 1, 1), 0)], "body", kernel_shape=[1, 1])
    x = _rounded(b, b.op("Relu", [x], "body.relu"), "body.rounded", 0.02, np.uint8(0))
    x = b.op("Flatten", [b.op("GlobalAveragePool", [x], "pool")], "features", axis=1)
    x = _rounded(b, x, "features.rounded", 0.01, np.int8(0))
    x = b.op("MatMul", [x, _weight(b, "hidden.weight", (32, 64), 1)], "hidden")
    x = _rounded(b, b.op("Add", [x, b.constant("hidden.bias", np.linspace(-0.2, 0.3, 64, dtype=np.float32))], "hidden.sum"), "hidden.rounded", 0.02, np.uint8(100))
    b.op("MatMul", [x, _weight(b, "classifier.weight", (64, 10), 1)], "logits")
    return b.save([helper.make_tensor_value_info("image", TensorProto.FLOAT, [2, 3, size, size])],
                  [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [2, 10])])
