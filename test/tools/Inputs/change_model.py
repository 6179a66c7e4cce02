"""change_model.py MODEL CHANGED BROKEN: the model with other numbers in its last weight, and one with an op that nobody has."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import sys

import onnx
from onnx import numpy_helper

source, changed, broken = sys.argv[1:]
model = onnx.load(source)
weight = model.graph.initializer[-1]
weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * 1.5, weight.name))
onnx.save(model, changed)
model = onnx.load(source)
model.graph.node[1].op_type, model.graph.node[1].domain = "Sigmoidal", "of.nobody"
model.opset_import.append(onnx.helper.make_opsetid("of.nobody", 1))
onnx.save(model, broken)
