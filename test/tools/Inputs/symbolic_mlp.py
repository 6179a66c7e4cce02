"""Writes a model of two linear layers over a symbolic batch, with weights, and an input of five rows: FOLDER/mlp.onnx and x.npy."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER, rng = pathlib.Path(sys.argv[1]), np.random.default_rng(0)


def weight(name: str, *shape: int) -> onnx.TensorProto:
    return numpy_helper.from_array((rng.standard_normal(shape) / shape[0] ** 0.5).astype(np.float32), name)


nodes = [helper.make_node("MatMul", ["x", "w1"], ["sums"]), helper.make_node("Add", ["sums", "b1"], ["biased"]), helper.make_node("Relu", ["biased"], ["hidden"]),
         helper.make_node("MatMul", ["hidden", "w2"], ["logits"]), helper.make_node("Softmax", ["logits"], ["y"], axis=-1)]
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", extent]) for name, extent in (("x", 37), ("y", 10)))
graph = helper.make_graph(nodes, "mlp", [x], [y], [weight("w1", 37, 129), weight("b1", 129), weight("w2", 129, 10)])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), FOLDER / "mlp.onnx")
np.save(FOLDER / "x.npy", rng.standard_normal((5, 37)).astype(np.float32))
