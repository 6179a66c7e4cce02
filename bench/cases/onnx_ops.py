"""The operations of the cases as ONNX nodes, spelled as PyTorch's exporter (2.11, dynamo) spells them at that opset."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import math
from typing import Sequence

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

_TYPES = {"f32": (TensorProto.FLOAT, np.float32), "f16": (TensorProto.FLOAT16, np.float16), "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16)}


@dataclasses.dataclass(frozen=True)
class Spec:
    """An input or weight. kind: "normal" (with mean and standard deviation), or "cos" or "sin" of rotary angles [position, feature]."""

    shape: tuple[int, ...]
    kind: str = "normal"
    std: float = 1.0
    mean: float = 0.0


class Value:
    """A tensor of the graph."""

    def __init__(self, ops: OnnxOps, name: str, shape: Sequence[int]):
        self.ops, self.name, self.shape = ops, name, tuple(int(n) for n in shape)

    def _binary(self, kind: str, other, swapped: bool = False) -> Value:
        other = other if isinstance(other, Value) else self.ops.scalar(other)
        a, b = (other, self) if swapped else (self, other)
        return self.ops.node(kind, [a, b], np.broadcast_shapes(a.shape, b.shape))

    def __add__(self, other) -> Value:
        return self._binary("Add", other)

    def __radd__(self, other) -> Value:
        return self._binary("Add", other, swapped=True)

    def __mul__(self, other) -> Value:
        return self._binary("Mul", other)

    def __neg__(self) -> Value:
        return self.ops.node("Neg", [self], self.shape)


class OnnxOps:
    """Collects nodes, shapes and FLOPs. Outputs are `Value`s by name.

    input(name, shape, **spec), weight(name, shape, **spec)   declare a tensor of the case (see Spec; a weight's std is 1 / sqrt(fan-in)
                                                              unless given)
    linear(x[..., K], w[N, K], bias[N])                       y[..., N]
    attention(q[B, H, T, D], k[B, G, S, D], v)                softmax(q k^T / sqrt D + bias) v; H a multiple of G; causal: aligned at the start; the
                                                              bias is stretched to [B, H, T, S]
    layer_norm, rms_norm                                      over the last dimension; w None: without scale and bias
    conv(x[N, C, H, W], w[O, C/groups, R, S])                 stride, padding and dilation the same along all dimensions, of which there may be three
    """

    def __init__(self, name: str, opset: int, dtype: str):
        self.name, self.opset = name, opset
        self.element, self.numpy = _TYPES[dtype]
        self.input_specs: dict[str, Spec] = {}
        self.weight_specs: dict[str, Spec] = {}
        self.outputs: dict[str, Value] = {}
        self.flops = 0
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[tuple, Value] = {}
        self._initializers: list[onnx.TensorProto] = []

    # Declarations.

    def input(self, name: str, shape, **spec) -> Value:
        self.input_specs[name] = Spec(tuple(shape), **spec)
        return Value(self, name, shape)

    def weight(self, name: str, shape, **spec) -> Value:
        if "std" not in spec:
            spec["std"] = 1 / math.sqrt(math.prod(shape[1:])) if len(shape) > 1 else 0.1
        self.weight_specs[name] = Spec(tuple(shape), **spec)
        return Value(self, name, shape)

    def output(self, name: str, value: Value) -> None:
        self.outputs[name] = self.node("Identity", [value], value.shape, name) if value.name in self.input_specs else value
        if self.outputs[name].name != name:
            self._rename(value.name, name)

    def _rename(self, old: str, new: str) -> None:
        for node in self._nodes:
            for names in (node.input, node.output):
                for index, name in enumerate(names):
                    if name == old:
                        names[index] = new
        value = next(v for v in self.outputs.values() if v.name == old)
        value.name = new

    def model(self, weights: Sequence[onnx.TensorProto]) -> onnx.ModelProto:
        """The graph with `weights` as initializers; declared weights that are not among them become inputs."""
        held = {tensor.name for tensor in weights}
        ports = {**self.input_specs, **{n: s for n, s in self.weight_specs.items() if n not in held}}
        graph = helper.make_graph(
            self._nodes, self.name, [helper.make_tensor_value_info(n, self.element, s.shape) for n, s in ports.items()],
            [helper.make_tensor_value_info(n, self.element, v.shape) for n, v in self.outputs.items()], [*weights, *self._initializers])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10, producer_name="weft-bench")

    # Building blocks.

    def node(self, kind: str, operands: Sequence[Value | None], shape, name: str | None = None, **attributes) -> Value:
        """One node with one result."""
        name = name or f"{kind.lower()}_{len(self._nodes)}"
        inputs = [v.name if v is not None else "" for v in operands]
        self._nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return Value(self, name, shape)

    def scalar(self, number: float) -> Value:
        return self.constant(np.asarray(number, self.numpy))

    def constant(self, array: np.ndarray) -> Value:
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._constants:
            name = f"val_{len(self._constants)}"
            self._initializers.append(onnx.numpy_helper.from_array(array, name))
            self._constants[key] = Value(self, name, array.shape)
        return self._constants[key]

    def _indices(self, numbers: Sequence[int]) -> Value:
        return self.constant(np.asarray(numbers, np.int64))

    # Data movement.

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        total = math.prod(x.shape)
        known = math.prod(n for n in shape if n != -1)
        shape = [total // known if n == -1 else n for n in shape]
        return self.node("Reshape", [x, self._indices(shape)], shape, allowzero=1)

    def swap(self, x: Value, a: int, b: int) -> Value:
        order = list(range(len(x.shape)))
        order[a], order[b] = order[b], order[a]
        return self.node("Transpose", [x], [x.shape[i] for i in order], perm=order)

    def cat(self, values: Sequence[Value], axis: int) -> Value:
        shape = list(values[0].shape)
        shape[axis] = sum(v.shape[axis] for v in values)
        return self.node("Concat", values, shape, axis=axis)

    def split(self, x: Value, sizes: Sequence[int], axis: int) -> list[Value]:
        index = len(self._nodes)
        names = [f"split_{index}_{i}" for i in range(len(sizes))]
        self._nodes.append(helper.make_node("Split", [x.name, self._indices(sizes).name], names, name=f"split_{index}", axis=axis))
        shapes = [[size if i == axis % len(x.shape) else n for i, n in enumerate(x.shape)] for size in sizes]
        return [Value(self, name, shape) for name, shape in zip(names, shapes)]

    # Elementwise.

    def sigmoid(self, x: Value) -> Value:
        return self.node("Sigmoid", [x], x.shape)

    def silu(self, x: Value) -> Value:
        return x * self.sigmoid(x)

    def relu(self, x: Value) -> Value:
        return self.node("Relu", [x], x.shape)

    def relu6(self, x: Value) -> Value:
        return self.node("Clip", [x, self.scalar(0), self.scalar(6)], x.shape)

    def gelu(self, x: Value, approximate: str = "none") -> Value:
        return self.node("Gelu", [x], x.shape, approximate=approximate)

    # Rows.

    def softmax(self, x: Value) -> Value:
        return self.node("Softmax", [x], x.shape, axis=-1)

    def rms_norm(self, x: Value, w: Value, eps: float) -> Value:
        if self.opset >= 23:
            return self.node("RMSNormalization", [x, w], x.shape, axis=-1, epsilon=eps, stash_type=1)
        square = self.node("Pow", [x, self.scalar(2)], x.shape)
        mean = self.node("ReduceMean", [square, self._indices([-1])], (*x.shape[:-1], 1), keepdims=1, noop_with_empty_axes=0)
        root = self.node("Sqrt", [mean + eps], mean.shape)
        return x * self.node("Reciprocal", [root], mean.shape) * w

    def layer_norm(self, x: Value, w: Value | None, bias: Value | None, eps: float) -> Value:
        scale = w or self.constant(np.ones(x.shape[-1], self.numpy))
        return self.node("LayerNormalization", [x, scale, *([bias] if bias else [])], x.shape, axis=-1, epsilon=eps, stash_type=1)

    def group_norm(self, x: Value, groups: int, w: Value, bias: Value, eps: float) -> Value:
        flat = self.reshape(x, [x.shape[0], groups, -1])
        ones, zeros = (self.constant(np.full(groups, n, self.numpy)) for n in (1, 0))
        y = self.node("InstanceNormalization", [flat, ones, zeros], flat.shape, epsilon=eps)
        y = self.reshape(y, x.shape)
        return y * self._per_channel(w) + self._per_channel(bias)

    def _per_channel(self, w: Value) -> Value:
        return self.node("Unsqueeze", [w, self._indices([1, 2])], (*w.shape, 1, 1))

    # Contractions.

    def linear(self, x: Value, w: Value, bias: Value | None = None) -> Value:
        """Gemm with a bias on a matrix, else a product with the transposed weight."""
        shape = (*x.shape[:-1], w.shape[0])
        self.flops += 2 * math.prod(shape) * x.shape[-1]
        if len(x.shape) == 2 and bias is not None:
            return self.node("Gemm", [x, w, bias], shape, alpha=1.0, beta=1.0, transA=0, transB=1)
        y = self.node("MatMul", [x, self.swap(w, 0, 1)], shape)
        return y if bias is None else y + bias

    def attention(self, q: Value, k: Value, v: Value, causal: bool = False, bias: Value | None = None) -> Value:
        batch, heads, rows, width = q.shape
        self.flops += 4 * batch * heads * rows * k.shape[2] * width // (2 if causal else 1)
        scale = 1 / math.sqrt(width)
        if self.opset >= 23:
            return self.node("Attention", [q, k, v, *([bias] if bias else [])], q.shape, is_causal=int(causal), scale=scale, softcap=0.0,
                             qk_matmul_output_mode=0)
        if causal or bias or heads != k.shape[1]:
            raise ValueError("before opset 23 the cases attend without a mask and with as many key heads as query heads")
        flat = self.swap(self.reshape(k, [batch * heads, *k.shape[2:]]), 1, 2)  # The exporter transposes so.
        keys = self.reshape(flat, [batch, heads, width, k.shape[2]])
        root = self.scalar(math.sqrt(scale))
        scores = self.node("MatMul", [q * root, keys * root], (batch, heads, rows, k.shape[2]))
        return self.node("MatMul", [self.softmax(scores), v], q.shape)

    def conv(self, x: Value, w: Value, bias: Value | None = None, stride: int = 1, padding: int = 0, groups: int = 1, dilation: int = 1) -> Value:
        dims = len(x.shape) - 2
        extents = [(n + 2 * padding - dilation * (r - 1) - 1) // stride + 1 for n, r in zip(x.shape[2:], w.shape[2:])]
        shape = (x.shape[0], w.shape[0], *extents)
        self.flops += 2 * math.prod(shape) * math.prod(w.shape[1:])
        return self.node("Conv", [x, w, *([bias] if bias else [])], shape, group=groups, pads=[padding] * 2 * dims, auto_pad="NOTSET",
                         strides=[stride] * dims, dilations=[dilation] * dims, kernel_shape=list(w.shape[2:]))

    def max_pool2d(self, x: Value, kernel: int, stride: int, padding: int) -> Value:
        extents = [(n + 2 * padding - kernel) // stride + 1 for n in x.shape[2:]]
        return self.node("MaxPool", [x], (*x.shape[:2], *extents), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[padding] * 4)

    def spatial_mean(self, x: Value) -> Value:
        return self.node("ReduceMean", [x, self._indices([2, 3])], (*x.shape[:2], 1, 1), keepdims=1, noop_with_empty_axes=0)
