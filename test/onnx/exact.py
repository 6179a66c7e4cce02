"""The exact value of a node case: its graph evaluated in f64. It decides between our result and the case's data where they differ.

ONNX's data are themselves computed, some in the storage type step by step, so they hold roundings that another right implementation
does not repeat. A result is *nearer* if at every element where it leaves the tolerance it is closer to the exact value than the data.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

NARROW = {TensorProto.FLOAT16, TensorProto.FLOAT}


def _widen_tensor(tensor: TensorProto) -> None:
    if tensor.data_type in NARROW:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def _widen_graph(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for value in list(graph.input) + list(graph.output) + list(graph.value_info):
        if value.type.tensor_type.elem_type in NARROW:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _widen_tensor(attribute.t)
            if attribute.HasField("g"):
                _widen_graph(attribute.g)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i in NARROW:
                attribute.i = TensorProto.DOUBLE


def outputs(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The graph's outputs with every f16 and f32 in it made f64."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    _widen_graph(wide.graph)
    return ReferenceEvaluator(wide).run(None, {n: v.astype(np.float64) if v.dtype.kind == "f" else v for n, v in feeds.items()})


def compare(got: list[np.ndarray], data: list[np.ndarray], exact: list[np.ndarray], rtol: float, atol: float) -> str | None:
    """None unless every value beyond the tolerance is nearer to the exact one than the data are; else the figures that show it."""
    far_got, far_data = [], []
    for ours, theirs, truth in zip(got, data, exact):
        if ours.dtype.kind != "f" or not (ours.shape == theirs.shape == truth.shape and np.isfinite(truth).all()):
            return None
        beyond = ~np.isclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True)
        far_got.append(np.abs(ours[beyond].astype(np.float64) - truth[beyond]))
        far_data.append(np.abs(theirs[beyond].astype(np.float64) - truth[beyond]))
    a, b = np.concatenate(far_got), np.concatenate(far_data)
    if not a.size or not (a < b).all():
        return None
    return f"{a.size} values beyond the tolerance, each nearer to the exact value: ours at most {a.max():.2e} away, the data {b.max():.2e}"
