"""Operands and result of unpacked-warpgroups.mlir, beside PREFIX: weights of 4 bits packed two to a byte."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import sys

import numpy as np
from onnx import TensorProto, helper

prefix, draw = sys.argv[1], np.random.default_rng(1)
rows, columns, blocks, block = 100, 200, 10, 64
x, w = draw.standard_normal((rows, blocks * block)).astype("f2"), draw.integers(0, 16, (columns, blocks, block))
s = draw.uniform(0.005, 0.01, (columns, blocks, 1)).astype("f2")
weights = ((w - 8) * s.astype("f8")).astype("f2").astype("f8").reshape(columns, -1)
for name, values in dict(x=x, s=s, y=(x.astype("f8") @ weights.T).astype("f2")).items():
    np.save(f"{prefix}.{name}.npy", values)
with open(f"{prefix}.w.pb", "wb") as file:
    file.write(helper.make_tensor("w", TensorProto.UINT4, w.shape, w.flatten().tolist()).SerializeToString())
