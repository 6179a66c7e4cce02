"""Two rewrites of ONNX files that the model suite needs: an f16 model in f32, and the part of a graph between tensors."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.external_data_helper import ExternalDataInfo

F16, F32 = TensorProto.FLOAT16, TensorProto.FLOAT


def _external_bytes(tensor: TensorProto, folder: pathlib.Path) -> bytes:
    info = ExternalDataInfo(tensor)
    with open(folder / info.location, "rb") as file:
        file.seek(info.offset or 0)
        return file.read(info.length)


def _widen_tensor(tensor: TensorProto, folder: pathlib.Path, out, location: str) -> None:
    """Make an f16 tensor f32, in place; external bytes go to the stream `out`."""
    if tensor.data_type != F16:
        return
    if tensor.data_location != TensorProto.EXTERNAL:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))
        return
    values = np.frombuffer(_external_bytes(tensor, folder), np.float16).astype(np.float32)
    entries = {"location": location, "offset": str(out.tell()), "length": str(values.nbytes)}
    out.write(values.tobytes())
    tensor.data_type = F32
    del tensor.external_data[:]
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)


def _widen_graph(graph: onnx.GraphProto, folder: pathlib.Path, out, location: str) -> None:
    for tensor in graph.initializer:
        _widen_tensor(tensor, folder, out, location)
    for value in list(graph.input) + list(graph.output) + list(graph.value_info):
        if value.type.tensor_type.elem_type == F16:
            value.type.tensor_type.elem_type = F32
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _widen_tensor(attribute.t, folder, out, location)
            if attribute.HasField("g"):
                _widen_graph(attribute.g, folder, out, location)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == F16:
                attribute.i = F32


def widen(model: pathlib.Path, target: pathlib.Path) -> list[pathlib.Path]:
    """Write `model` to `target` with every f16 as f32: the same graph without its roundings. Returns the files written."""
    proto = onnx.load(model, load_external_data=False)
    weights = target.with_suffix(".weights.bin")
    with open(weights, "wb") as out:
        _widen_graph(proto.graph, model.parent, out, weights.name)
    onnx.save(proto, target)
    return [target, weights]


def extract(proto: onnx.ModelProto, sources: list[str], targets: list[str]) -> onnx.ModelProto:
    """The part of the graph that computes `targets` from `sources`; external weights stay where they are."""
    graph = proto.graph
    producer = {name: node for node in graph.node for name in node.output}
    needed, todo = set(), list(targets)
    while todo:
        name = todo.pop()
        if name in sources or name not in producer:
            continue
        node = producer[name]
        if id(node) not in needed:
            needed.add(id(node))
            todo += [n for n in node.input if n]
    inferred = onnx.shape_inference.infer_shapes(proto).graph
    types = {v.name: v for v in list(inferred.value_info) + list(inferred.input) + list(inferred.output)}
    nodes = [node for node in graph.node if id(node) in needed]
    used = {n for node in nodes for n in node.input}
    part = onnx.helper.make_graph(
        nodes, graph.name, [types[n] for n in sources], [types[n] for n in targets],
        [t for t in graph.initializer if t.name in used])
    return onnx.helper.make_model(part, opset_imports=proto.opset_import, ir_version=proto.ir_version)


def frontiers(proto: onnx.ModelProto) -> list[tuple[int, list[str]]]:
    """For each place between two nodes, the tensors that cross it: (index of the next node, tensors that depend on an input).

    A place is listed where nothing but those tensors and weights is read later, so the graph can be cut there.
    """
    graph = proto.graph
    weights = {t.name for t in graph.initializer}
    last_use = {name: index for index, node in enumerate(graph.node) for name in node.input if name}
    last_use.update({value.name: len(graph.node) for value in graph.output})
    live = {v.name for v in graph.input if v.name not in weights}
    varying = set(live)
    places = []
    for index, node in enumerate(graph.node):
        if any(name in varying for name in node.input):
            varying |= set(node.output)
            live |= {name for name in node.output if name in last_use}
        live = {name for name in live if last_use.get(name, -1) > index}
        places.append((index + 1, sorted(live)))
    return places


def cuts(proto: onnx.ModelProto) -> list[tuple[list[str], list[str]]]:
    """Two (from, to) pairs: the middle half of the graph between single tensors, and a part that starts from two tensors."""
    places = frontiers(proto)
    total = len(places)

    def nearest(index: int, width: int) -> tuple[int, list[str]]:
        fitting = [p for p in places if len(p[1]) == width and 0 < p[0] < total]
        return min(fitting, key=lambda p: abs(p[0] - index))

    first, second = nearest(total // 4, 1), nearest(3 * total // 4, 1)
    pair = nearest(total // 3, 2)
    after = min((p for p in places if len(p[1]) == 1 and p[0] > pair[0] + total // 10), key=lambda p: p[0])
    return [(first[1], second[1]), (pair[1], after[1])]
