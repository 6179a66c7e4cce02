"""Parts of a model: some of its nodes as a model of their own."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from typing import Iterable, Mapping

import numpy as np
import onnx

from ._programs import Model, names_read

# A tensor of so few integers may be a shape: as an input it would be another model.
MOST_SHAPE_ELEMENTS = 64


def known_types(proto: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    """Values whose element type and rank are known."""
    try:
        proto = onnx.shape_inference.infer_shapes(proto, data_prop=True)
    except Exception:  # A model above 2 GB, or one that inference refuses: what is declared remains.
        pass
    graph = proto.graph
    return {value.name: value for value in [*graph.value_info, *graph.input, *graph.output]
            if value.type.tensor_type.elem_type and value.type.tensor_type.HasField("shape")}


def has_known_extents(value: onnx.ValueInfoProto) -> bool:
    return all(dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim)


class Cutter:
    """Makes models of nodes of `model`. Tensors that come from nodes that are left out become inputs, of the extents that are inferred or of
    those `values` has; small integers that it has become constants."""

    def __init__(self, model: Model, values: Mapping[str, np.ndarray]):
        self.model, self.values = model, values
        self.types = known_types(model.proto)
        self.nodes = list(model.proto.graph.node)
        self.reads = [names_read(node) for node in self.nodes]
        self.inputs = {value.name: value for value in model.proto.graph.input}
        self.initializers = {tensor.name: tensor for tensor in model.proto.graph.initializer}

    def cut(self, kept: Iterable[int], outputs: Iterable[str] | None = None) -> onnx.ModelProto | None:
        """None: a tensor that would become an input has no known type. `outputs`: of those that the part has."""
        kept = sorted(kept)
        made = {name for i in kept for name in self.nodes[i].output if name}
        read = set().union(*(self.reads[i] for i in kept)) if kept else set()
        results = [name for name in self.model.tensors if name in made and (name in self.model.outputs or name not in read)]
        if outputs is not None:
            results = [name for name in results if name in set(outputs)]
        proto = onnx.ModelProto()
        proto.CopyFrom(self._shell())
        graph = proto.graph
        for name in sorted(read - made):
            if name in self.initializers:
                graph.initializer.append(self.initializers[name])
            elif name in self.inputs:
                pass
            elif (value := self.values.get(name)) is not None and value.dtype.kind in "iub" and value.size <= MOST_SHAPE_ELEMENTS:
                graph.initializer.append(onnx.numpy_helper.from_array(value, name))
            elif (info := self._describe(name)) is not None:
                graph.input.append(info)
            else:
                return None
        graph.input.extend(value for name, value in self.inputs.items() if name in read and name not in made)
        graph.node.extend(self.nodes[i] for i in kept)
        graph.output.extend(self.types.get(name) or self._describe(name) or onnx.ValueInfoProto(name=name) for name in results)
        return proto if results else None

    def _shell(self) -> onnx.ModelProto:
        source = self.model.proto
        shell = onnx.ModelProto(ir_version=source.ir_version, producer_name="weft-reduce")
        shell.opset_import.extend(source.opset_import)
        shell.functions.extend(source.functions)
        shell.graph.name = source.graph.name or "graph"
        return shell

    def _describe(self, name: str) -> onnx.ValueInfoProto | None:
        info, value = self.types.get(name), self.values.get(name)
        if info is not None and (has_known_extents(info) or value is None):
            return info
        if value is None:
            return None
        return onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
