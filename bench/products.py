"""The matrix products of a model alone: what no fusion can take away.

`write` makes an ONNX model of the MatMul, Gemm and Conv nodes of another: the same weights and shapes, no bias, nothing between them.
Activations of one shape that meet weights are one input, and of each result one element is an output, so that they share memory as in
the model itself. Compiled with --no-fuse, the time of these products is a bound of what fusion gains with the same products:
unfused : fused is at most unfused : products.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import math
import pathlib

import onnx
from onnx import TensorProto, helper

KINDS = ("MatMul", "Gemm", "Conv")


def _shapes(graph: onnx.GraphProto) -> dict[str, tuple[list[int], int]]:
    """Static shapes and element types by value."""
    found = {t.name: (list(t.dims), t.data_type) for t in graph.initializer}
    for value in [*graph.input, *graph.value_info, *graph.output]:
        tensor = value.type.tensor_type
        if value.name not in found and all(d.HasField("dim_value") for d in tensor.shape.dim):
            found[value.name] = [d.dim_value for d in tensor.shape.dim], tensor.elem_type
    return found


def _multiply_adds(node: onnx.NodeProto, left: list[int], right: list[int], out: list[int]) -> int:
    if node.op_type == "Conv":
        return math.prod(out) * math.prod(right[1:])
    transposed = any(a.name == "transA" and a.i for a in node.attribute)
    return math.prod(out) * left[-2 if transposed else -1]


def write(source: pathlib.Path, target: pathlib.Path) -> float:
    """Writes the products of `source` to `target` beside it (its weights are read from there). Returns their GFLOP; 0 where shapes are
    not known, and nothing is written."""
    model = onnx.load(source, load_external_data=False)
    graph = onnx.shape_inference.infer_shapes(model).graph
    shapes, weights = _shapes(graph), {t.name: t for t in graph.initializer}
    nodes, inputs, outputs, used, flops = [], {}, [], {}, 0
    zero, one = (helper.make_tensor(name, TensorProto.INT64, [1], [value]) for name, value in (("zero", 0), ("one", 1)))
    flat = helper.make_tensor("flat", TensorProto.INT64, [1], [-1])
    for node in graph.node:
        if node.op_type not in KINDS:
            continue
        if any(name not in shapes for name in [*node.input[:2], node.output[0]]):
            return 0.0
        operands = []
        for side, name in enumerate(node.input[:2]):
            shape, kind = shapes[name]
            if name in weights:
                used[name] = weights[name]
            else:
                name = f"{'ab'[side]}_{kind}_" + "x".join(map(str, shape))
                if not any(operand in weights for operand in node.input[:2]):
                    name += f"_{len(outputs)}"  # Else the same product as others.
                inputs[name] = helper.make_tensor_value_info(name, kind, shape)
            operands.append(name)
        shape, kind = shapes[node.output[0]]
        flops += 2 * _multiply_adds(node, shapes[node.input[0]][0], shapes[node.input[1]][0], shape)
        n = len(outputs)
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute if a.name not in ("alpha", "beta")}
        nodes += [helper.make_node(node.op_type, operands, [f"y{n}"], name=f"product{n}", **attributes),
                  helper.make_node("Reshape", [f"y{n}", "flat"], [f"flat{n}"]),
                  helper.make_node("Slice", [f"flat{n}", "zero", "one"], [f"z{n}"])]
        outputs.append(helper.make_tensor_value_info(f"z{n}", kind, [1]))
    if not nodes:
        return 0.0
    made = helper.make_graph(nodes, "products", list(inputs.values()), outputs, [*used.values(), zero, one, flat])
    proto = helper.make_model(made, opset_imports=model.opset_import, ir_version=model.ir_version)
    target.write_bytes(proto.SerializeToString())
    return flops * 1e-9
