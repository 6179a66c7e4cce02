"""Writes a model of one MatMulNBits: 8 rows by weights of 4 bits."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

K, N, BLOCK = 2048, 4096, 32
weights = numpy_helper.from_array(np.arange(N * K // 2, dtype=np.uint32).astype(np.uint8).reshape(N, K // BLOCK, BLOCK // 2), "w")
scales = numpy_helper.from_array(np.full(N * K // BLOCK, 0.01, np.float16), "s")
node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], name="product", domain="com.microsoft", K=K, N=N, bits=4, block_size=BLOCK)
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT16, [8, extent]) for name, extent in (("x", K), ("y", N)))
graph = helper.make_graph([node], "packed", [x], [y], [weights, scales])
opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), sys.argv[1])
