"""Protobuf by hand, for files that no protobuf library would write, and small valid models to break."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
F32 = TensorProto.FLOAT


def varint(value: int) -> bytes:
    out = bytearray()
    while True:
        out.append((value & 0x7F) | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def field(number: int, payload: bytes, length: int | None = None) -> bytes:
    """A length-delimited field; `length` lies about its size."""
    return varint(number << 3 | 2) + varint(len(payload) if length is None else length) + payload


def info(name: str, shape: list | None = (2, 3), dtype: int = F32) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes: list, inputs: list | None = None, outputs: list | None = None, initializers: list = (), opset: int = OPSET,
          functions: list = (), domains: list = ()) -> onnx.ModelProto:
    """A model around `nodes`; by default x f32[2,3] goes in and y f32[2,3] comes out."""
    graph = helper.make_graph(nodes, "g", [info("x")] if inputs is None else inputs, [info("y")] if outputs is None else outputs,
                              list(initializers))
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=imports, ir_version=9, functions=list(functions))


def relu(**changes) -> onnx.ModelProto:
    """y = Relu(x), with fields of the node replaced."""
    node = helper.make_node("Relu", ["x"], ["y"], name="the_node")
    for key, value in changes.items():
        if isinstance(value, list):
            getattr(node, key)[:] = value
        else:
            setattr(node, key, value)
    return model([node])


def unary(op: str, extra: list = (), outputs: list | None = None, **attributes) -> onnx.ModelProto:
    """y = op(x, constants...), with attributes."""
    constants = [numpy_helper.from_array(np.asarray(v), f"c{i}") for i, v in enumerate(extra)]
    node = helper.make_node(op, ["x"] + [c.name for c in constants], ["y"], name="the_node", **attributes)
    return model([node], initializers=constants, outputs=outputs)


def tensor(dims: list, dtype: int = F32, **fields) -> onnx.ModelProto:
    """y = Add(x, w) with a hand-made initializer w."""
    w = TensorProto(name="w", data_type=dtype, dims=dims)
    for key, value in fields.items():
        if isinstance(value, list):
            getattr(w, key).extend(value)
        else:
            setattr(w, key, value)
    return model([helper.make_node("Add", ["x", "w"], ["y"], name="the_node")], initializers=[w])


def external(**entries) -> onnx.ModelProto:
    """y = Add(x, w) with w f32[2,3] as external data; entries as given (`length_` is a second key of that name)."""
    w = TensorProto(name="w", data_type=F32, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        w.external_data.add(key=key.rstrip("_"), value=str(value))
    return model([helper.make_node("Add", ["x", "w"], ["y"], name="the_node")], initializers=[w])
