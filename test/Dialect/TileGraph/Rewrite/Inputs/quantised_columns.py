"""A product of dequantised values whose weights have so many columns that their zero points, all 0, lie outside of the IR."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

COLUMNS = 3000
rng = np.random.default_rng(0)
constants = {"w": rng.integers(-128, 128, (8, COLUMNS)).astype(np.int8), "ws": rng.uniform(0.1, 1, COLUMNS).astype(np.float32),
             "wz": np.zeros(COLUMNS, np.int8), "xs": np.float32(0.5), "xz": np.uint8(7)}
nodes = [helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["a"]), helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["b"], axis=1),
         helper.make_node("MatMul", ["a", "b"], ["y"])]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.UINT8, [5, 8])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [5, COLUMNS])],
                          [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
