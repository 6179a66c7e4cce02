"""Operands and results of unpacked.mlir, beside PREFIX: weights of 4 bits packed two to a byte."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import sys

import numpy as np
from onnx import TensorProto, helper

prefix, draw = sys.argv[1], np.random.default_rng(1)
rows, columns, blocks, block = 5, 37, 10, 64
x, v = draw.standard_normal((rows, blocks * block)).astype("f2"), draw.standard_normal(blocks * block).astype("f2")
w, z = draw.integers(0, 16, (columns, blocks, block)), draw.integers(0, 16, (columns, blocks, 1))
s = draw.uniform(0.005, 0.01, (columns, blocks, 1)).astype("f2")


def weights(zeros):
    return ((w - zeros) * s.astype("f8")).astype("f2").astype("f8").reshape(columns, -1).T


for name, values in dict(x=x, v=v, s=s, y=(x.astype("f8") @ weights(z)).astype("f2"), u=(v.astype("f8") @ weights(8)).astype("f2")).items():
    np.save(f"{prefix}.{name}.npy", values)
for name, values in dict(w=w, z=z).items():
    with open(f"{prefix}.{name}.pb", "wb") as file:
        file.write(helper.make_tensor(name, TensorProto.UINT4, values.shape, values.flatten().tolist()).SerializeToString())
