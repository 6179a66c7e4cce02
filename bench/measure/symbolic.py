"""Graphs whose rows are a symbol, T: what bundles with variants are held to account on."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
from typing import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SYMBOL = "T"
ROWS = (1, 7, 16, 100, 128, 512, 1000, 4096)
TYPES = {"f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "f32": TensorProto.FLOAT}


class Graph:
    """An ONNX graph under construction. Matrices are inputs, so that a bundle's size is that of its code."""

    def __init__(self, dtype: str):
        self.type, self.nodes, self.inputs, self.constants, self.count = TYPES[dtype], [], [], [], 0

    def input(self, name: str, shape: list) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, self.type, shape))
        return name

    def ints(self, values: list[int]) -> str:
        name = f"ints{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def scalar(self, value: float) -> str:
        name = f"scalar{len(self.constants)}"
        self.constants.append(helper.make_tensor(name, self.type, [], [value]))
        return name

    def op(self, kind: str, *operands: str, **attributes) -> str:
        self.count += 1
        result = f"{kind.lower()}{self.count}"
        self.nodes.append(helper.make_node(kind, list(operands), [result], name=result, **attributes))
        return result

    def linear(self, x: str, name: str, rows: int, columns: int, bias: bool = False) -> str:
        product = self.op("MatMul", x, self.input(name, [rows, columns]))
        return self.op("Add", product, self.input(name + "_bias", [columns])) if bias else product

    def heads(self, x: str, count: int, width: int) -> str:
        return self.op("Transpose", self.op("Reshape", x, self.ints([0, count, width])), perm=[1, 0, 2])

    def tokens(self, x: str, width: int) -> str:
        return self.op("Reshape", self.op("Transpose", x, perm=[1, 0, 2]), self.ints([0, width]))

    def silu(self, x: str) -> str:
        return self.op("Mul", x, self.op("Sigmoid", x))

    def attention(self, q: str, k: str, v: str, width: int) -> str:
        scores = self.op("Mul", self.op("MatMul", q, self.op("Transpose", k, perm=[0, 2, 1])), self.scalar(width ** -0.5))
        return self.op("MatMul", self.op("Softmax", scores, axis=-1), v)

    def layer_norm(self, x: str, name: str, width: int) -> str:
        return self.op("LayerNormalization", x, self.input(name + "_scale", [width]), self.input(name + "_bias", [width]), axis=-1, epsilon=1e-5)

    def rms_norm(self, x: str, name: str, width: int) -> str:
        return self.op("RMSNormalization", x, self.input(name, [width]), axis=-1, epsilon=1e-5)

    def model(self, result: str, width: int) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, "symbolic", self.inputs, [helper.make_tensor_value_info(result, self.type, [SYMBOL, width])],
                                  self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def swiglu(g: Graph, width: int = 4096, hidden: int = 14336) -> onnx.ModelProto:
    x = g.input("x", [SYMBOL, width])
    return g.model(g.op("Mul", g.silu(g.linear(x, "gate", width, hidden)), g.linear(x, "up", width, hidden)), hidden)


def bert_layer(g: Graph, width: int = 768, heads: int = 12) -> onnx.ModelProto:
    x, each = g.input("x", [SYMBOL, width]), width // heads
    q, k, v = (g.heads(g.linear(x, name, width, width, bias=True), heads, each) for name in ("q", "k", "v"))
    y = g.linear(g.tokens(g.attention(q, k, v, each), width), "out", width, width, bias=True)
    y = g.layer_norm(g.op("Add", x, y), "norm1", width)
    z = g.linear(g.op("Gelu", g.linear(y, "fc1", width, 4 * width, bias=True)), "fc2", 4 * width, width, bias=True)
    return g.model(g.layer_norm(g.op("Add", y, z), "norm2", width), width)


def llama_layer(g: Graph, width: int = 4096, heads: int = 32, groups: int = 8, hidden: int = 14336) -> onnx.ModelProto:
    x, each = g.input("x", [SYMBOL, width]), width // heads
    y = g.rms_norm(x, "norm1", width)
    q = g.heads(g.linear(y, "q", width, width), heads, each)
    k, v = (g.heads(g.linear(y, name, width, groups * each), groups, each) for name in ("k", "v"))
    k, v = (g.op("Reshape", g.op("Expand", g.op("Unsqueeze", t, g.ints([1])), g.ints([1, heads // groups, 1, 1])), g.ints([heads, -1, each]))
            for t in (k, v))
    x = g.op("Add", x, g.linear(g.tokens(g.attention(q, k, v, each), width), "out", width, width))
    y = g.rms_norm(x, "norm2", width)
    y = g.op("Mul", g.silu(g.linear(y, "gate", width, hidden)), g.linear(y, "up", width, hidden))
    return g.model(g.op("Add", x, g.linear(y, "down", hidden, width)), width)


@dataclasses.dataclass(frozen=True)
class SymbolicCase:
    name: str
    build: Callable[[Graph], onnx.ModelProto]

    def model(self, dtype: str) -> onnx.ModelProto:
        return self.build(Graph(dtype))


CASES = [SymbolicCase("swiglu_4096x14336", swiglu), SymbolicCase("bert_layer", bert_layer), SymbolicCase("llama_layer", llama_layer)]
