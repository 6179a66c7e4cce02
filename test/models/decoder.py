"""Small decoders as exporters write them, with seeded random weights.

`concat` is what optimum and PyTorch export: past_key_values.N.key with a run-time length, present.N.key = Concat(past, new), an additive
mask of the type's lowest number made of Range, Less, Where and the attention mask. `group_query` is what onnxruntime's builder writes:
GroupQueryAttention over caches of a fixed capacity that past and present share.

    decoder.py OUT.onnx --shape=llama3-8b [--kind=concat] [--layers=N] [--capacity=N] [--bits=4 --block=32 [--zeros]]

writes one of the real shapes, with its weights in OUT.onnx.data: a sparse file of zeros, which costs no disk; to be filled where it runs.
Tables of positions are there as they are.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int = 2
    hidden: int = 64
    heads: int = 4
    key_heads: int = 2
    ffn: int = 96
    vocab: int = 128
    positions: int = 512
    dtype: type = np.float32
    bits: int = 0  # Of weights, in MatMulNBits; 0: those of `dtype`.
    block: int = 32
    zeros: bool = False  # Each block has a zero point.

    @property
    def width(self) -> int:
        return self.hidden // self.heads


class _Graph:
    def __init__(self, path: pathlib.Path, shape: Shape, seed: int, sparse: bool = False):
        self.path, self.shape, self.rng = path, shape, np.random.Generator(np.random.Philox(key=seed))
        self.nodes, self.weights, self.sparse, self.bytes, self.tables = [], [], sparse, 0, []

    def op(self, kind: str, inputs: list[str], name: str, outputs: list[str] | None = None, **attributes) -> str:
        self.nodes.append(helper.make_node(kind, inputs, outputs or [name], name=name, **attributes))
        return name

    def array(self, name: str, values: np.ndarray) -> str:
        if self.sparse and values.size >= 1 << 16:
            self.tables.append((self.bytes, values))
            self.place(name, values.shape)
        elif all(tensor.name != name for tensor in self.weights):
            self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def ints(self, *values: int) -> str:
        return self.array("ints" + "_".join(map(str, values)), np.array(values, np.int64))

    def number(self, name: str, value: float) -> str:
        return self.array(name, np.array(value, self.shape.dtype))

    def place(self, name: str, extents: tuple[int, ...], dtype: type | None = None) -> str:
        """A tensor of the sparse file, on a page of its own."""
        dtype = np.dtype(dtype or self.shape.dtype)
        tensor = TensorProto(name=name, dims=extents, data_type=helper.np_dtype_to_tensor_dtype(dtype), data_location=TensorProto.EXTERNAL)
        length = int(np.prod(extents)) * dtype.itemsize
        for key, value in (("location", f"{self.path.name}.data"), ("offset", self.bytes), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
        self.weights.append(tensor)
        self.bytes += -(-length // 4096) * 4096
        return name

    def weight(self, name: str, *extents: int, std: float | None = None) -> str:
        if self.sparse:
            return self.place(name, extents)
        values = self.rng.standard_normal(extents, np.float32) * (std or extents[0] ** -0.5)
        return self.array(name, values.astype(self.shape.dtype))

    def linear(self, x: str, name: str, width_in: int, width_out: int) -> str:
        if self.shape.bits:
            return self.packed_linear(x, name, width_in, width_out)
        return self.op("MatMul", [x, self.weight(f"{name}.weight", width_in, width_out)], name)

    def packed_linear(self, x: str, name: str, width_in: int, width_out: int) -> str:
        s, blocks = self.shape, -(-width_in // self.shape.block)
        packed = (width_out, blocks, s.block * s.bits // 8)
        zeros = (width_out * -(-blocks * s.bits // 8),)
        if self.sparse:
            inputs = [self.place(f"{name}.weight", packed, np.uint8), self.place(f"{name}.scales", (width_out * blocks,))]
            inputs += [self.place(f"{name}.zeros", zeros, np.uint8)] if s.zeros else []
        else:
            least = 2 ** (s.bits - 1) / 3 ** 0.5  # Of numbers of `bits` bits about their middle, as a deviation.
            scales = self.rng.uniform(0.8, 1.25, width_out * blocks) / (least * width_in ** 0.5)
            inputs = [self.array(f"{name}.weight", self.rng.integers(0, 256, packed, np.uint8)), self.array(f"{name}.scales", scales.astype(s.dtype))]
            inputs += [self.array(f"{name}.zeros", self.rng.integers(0, 256, zeros, np.uint8))] if s.zeros else []
        self.nodes.append(helper.make_node("MatMulNBits", [x, *inputs], [name], name=name, domain="com.microsoft", K=width_in, N=width_out, bits=s.bits,
                                           block_size=s.block))
        return name

    def rms_norm(self, x: str, name: str) -> str:
        """In f32, as PyTorch traces it."""
        wide = self.op("Cast", [x], f"{name}.wide", to=TensorProto.FLOAT)
        square = self.op("Pow", [wide, self.array("two", np.float32(2))], f"{name}.square")
        mean = self.op("ReduceMean", [square, self.ints(-1)], f"{name}.mean")
        root = self.op("Sqrt", [self.op("Add", [mean, self.array("epsilon", np.float32(1e-5))], f"{name}.add")], f"{name}.root")
        scale = self.op("Div", [self.array("one_f32", np.float32(1)), root], f"{name}.reciprocal")
        y = self.op("Mul", [wide, scale], f"{name}.normed")
        y = self.op("Cast", [y], f"{name}.narrow", to=helper.np_dtype_to_tensor_dtype(np.dtype(self.shape.dtype)))
        weight = self.array(f"{name}.weight", (1 + 0.1 * self.rng.standard_normal(self.shape.hidden)).astype(self.shape.dtype))
        return self.op("Mul", [weight, y], name)

    def mlp(self, x: str, name: str) -> str:
        gate = self.linear(x, f"{name}.gate", self.shape.hidden, self.shape.ffn)
        gate = self.op("Mul", [gate, self.op("Sigmoid", [gate], f"{name}.sigmoid")], f"{name}.silu")
        up = self.linear(x, f"{name}.up", self.shape.hidden, self.shape.ffn)
        return self.linear(self.op("Mul", [gate, up], f"{name}.product"), f"{name}.down", self.shape.ffn, self.shape.hidden)

    def angles(self) -> tuple[np.ndarray, np.ndarray]:
        half = self.shape.width // 2
        angle = np.arange(self.shape.positions)[:, None] / 10000 ** (np.arange(half)[None] / half)
        return np.cos(angle).astype(self.shape.dtype), np.sin(angle).astype(self.shape.dtype)

    def save(self, inputs: list, outputs: list, name: str) -> pathlib.Path:
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.weights)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="weft-test"), self.path)
        if self.sparse:
            with open(f"{self.path}.data", "wb") as file:
                file.truncate(self.bytes)
                for offset, values in self.tables:
                    file.seek(offset)
                    file.write(np.ascontiguousarray(values, self.shape.dtype))
        return self.path


def _rotate(g: _Graph, x: str, cos: str, sin: str, name: str) -> str:
    """x * cos + rotate_half(x) * sin."""
    half, far = g.ints(g.shape.width // 2), g.ints(np.iinfo(np.int64).max)
    low = g.op("Slice", [x, g.ints(0), half, g.ints(3), g.ints(1)], f"{name}.low")
    high = g.op("Slice", [x, half, far, g.ints(3), g.ints(1)], f"{name}.high")
    turned = g.op("Concat", [g.op("Neg", [high], f"{name}.neg"), low], f"{name}.turned", axis=-1)
    return g.op("Add", [g.op("Mul", [x, cos], f"{name}.cos"), g.op("Mul", [turned, sin], f"{name}.sin")], name)


def _mask(g: _Graph, lowest: float) -> str:
    """0 where a query may see a key, else `lowest`: causal, and where the attention mask is 0. [batch, 1, sequence, total]"""
    def scalar(of: str, axis: int) -> str:
        extent = g.op("Gather", [g.op("Shape", [of], f"mask.shape.{of}.{axis}"), g.array(f"index{axis}", np.int64(axis))], f"mask.extent.{of}.{axis}")
        return extent
    queries, keys = scalar("input_ids", 1), scalar("attention_mask", 1)
    zero, one = g.array("zero_i64", np.int64(0)), g.array("one_i64", np.int64(1))
    past = g.op("Sub", [keys, queries], "mask.past")
    columns = g.op("Range", [zero, keys, one], "mask.columns")
    rows = g.op("Range", [past, keys, one], "mask.rows")
    rows = g.op("Unsqueeze", [g.op("Add", [rows, one], "mask.rows.next"), g.ints(1)], "mask.rows.column")
    seen = g.op("Less", [columns, rows], "mask.seen")
    causal = g.op("Where", [seen, g.number("zero", 0), g.number("lowest", lowest)], "mask.causal")
    padding = g.op("Unsqueeze", ["attention_mask", g.ints(1, 2)], "mask.padding")
    padding = g.op("Cast", [padding], "mask.padding.bool", to=TensorProto.BOOL)
    return g.op("Where", [padding, g.op("Unsqueeze", [causal, g.ints(0, 1)], "mask.causal.4d"), "lowest"], "mask")


def _repeat(g: _Graph, x: str, name: str) -> str:
    """Each key head for its query heads: Unsqueeze, Expand, Reshape."""
    if g.shape.heads == g.shape.key_heads:
        return x
    wide = g.op("Unsqueeze", [x, g.ints(2)], f"{name}.unsqueeze")
    wide = g.op("Expand", [wide, g.ints(1, 1, g.shape.heads // g.shape.key_heads, 1, 1)], f"{name}.expand")
    extents = g.op("Shape", [x], f"{name}.shape")
    batch = g.op("Slice", [extents, g.ints(0), g.ints(1), g.ints(0)], f"{name}.batch")
    length = g.op("Slice", [extents, g.ints(2), g.ints(3), g.ints(0)], f"{name}.length")
    target = g.op("Concat", [batch, g.ints(g.shape.heads), length, g.ints(g.shape.width)], f"{name}.target", axis=0)
    return g.op("Reshape", [wide, target], name)


def _attention(g: _Graph, x: str, layer: int, cos: str, sin: str, mask: str, update) -> str:
    """`update`: of a cache's name before and after and the new rows."""
    s, name = g.shape, f"layer.{layer}.attention"
    parts = {}
    for part, heads in (("query", s.heads), ("key", s.key_heads), ("value", s.key_heads)):
        y = g.linear(x, f"{name}.{part}", s.hidden, heads * s.width)
        y = g.op("Reshape", [y, g.ints(0, 0, heads, s.width)], f"{name}.{part}.split")
        parts[part] = g.op("Transpose", [y], f"{name}.{part}.heads", perm=[0, 2, 1, 3])
    query = _rotate(g, parts["query"], cos, sin, f"{name}.query.rotated")
    fresh = {"key": _rotate(g, parts["key"], cos, sin, f"{name}.key.rotated"), "value": parts["value"]}
    present = {part: update(f"past_key_values.{layer}.{part}", f"present.{layer}.{part}", new) for part, new in fresh.items()}
    key = _repeat(g, present["key"], f"{name}.key.repeated")
    value = _repeat(g, present["value"], f"{name}.value.repeated")
    key = g.op("Transpose", [key], f"{name}.key.transposed", perm=[0, 1, 3, 2])
    scores = g.op("Div", [g.op("MatMul", [query, key], f"{name}.products"), g.number("root", s.width ** 0.5)], f"{name}.scaled")
    scores = g.op("Add", [scores, mask], f"{name}.masked")
    weights = g.op("Softmax", [scores], f"{name}.weights", axis=-1)
    y = g.op("Transpose", [g.op("MatMul", [weights, value], f"{name}.sums")], f"{name}.tokens", perm=[0, 2, 1, 3])
    return g.linear(g.op("Reshape", [y, g.ints(0, 0, s.hidden)], f"{name}.merged"), f"{name}.output", s.hidden, s.hidden)


def _body(g: _Graph, attention) -> None:
    s = g.shape
    x = g.op("Gather", [g.weight("embedding", s.vocab, s.hidden, std=1.0), "input_ids"], "embedded")
    for layer in range(s.layers):
        y = attention(g.rms_norm(x, f"layer.{layer}.norm"), layer)
        x = g.op("Add", [x, y], f"layer.{layer}.residual")
        y = g.mlp(g.rms_norm(x, f"layer.{layer}.ffn.norm"), f"layer.{layer}.ffn")
        x = g.op("Add", [x, y], f"layer.{layer}.output")
    x = g.rms_norm(x, "norm")
    g.linear(x, "logits", s.hidden, s.vocab)


def _ports(s: Shape, past: object, present: object, integers: dict[str, list]) -> tuple[list, list]:
    dtype = helper.np_dtype_to_tensor_dtype(np.dtype(s.dtype))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, extents) for name, extents in integers.items()]
    outputs = [helper.make_tensor_value_info("logits", dtype, ["batch", "sequence", s.vocab])]
    for layer in range(s.layers):
        for part in ("key", "value"):
            inputs.append(helper.make_tensor_value_info(f"past_key_values.{layer}.{part}", dtype, ["batch", s.key_heads, past, s.width]))
            outputs.append(helper.make_tensor_value_info(f"present.{layer}.{part}", dtype, ["batch", s.key_heads, present, s.width]))
    return inputs, outputs


def concat(path: pathlib.Path, shape: Shape = Shape(), lowest: float | None = None, seed: int = 20230718,
           sparse: bool = False) -> pathlib.Path:
    """Inputs input_ids, attention_mask, position_ids and past_key_values.N.key, .value; outputs logits and present.N.key, .value."""
    g = _Graph(path, shape, seed, sparse)
    if lowest is None:
        lowest = float(np.finfo(shape.dtype).min)
    cos, sin = (np.concatenate([table, table], -1) for table in g.angles())
    tables = {}
    for name, table in (("cos", cos), ("sin", sin)):
        rows = g.op("Gather", [g.array(f"{name}_table", table), "position_ids"], f"{name}.rows")
        tables[name] = g.op("Unsqueeze", [rows, g.ints(1)], name)
    mask = _mask(g, lowest)
    grow = lambda past, present, new: g.op("Concat", [past, new], present, axis=2)  # noqa: E731
    _body(g, lambda x, layer: _attention(g, x, layer, tables["cos"], tables["sin"], mask, grow))
    integers = {"input_ids": ["batch", "sequence"], "attention_mask": ["batch", "total"], "position_ids": ["batch", "sequence"]}
    inputs, outputs = _ports(shape, "past", "past + sequence", integers)
    return g.save(inputs, outputs, "decoder")


def static_cache(path: pathlib.Path, capacity: int, shape: Shape = Shape(), seed: int = 20230718) -> pathlib.Path:
    """Inputs input_ids, cache_position and caches of `capacity` places; masked by -inf, as booleans are exported."""
    g = _Graph(path, shape, seed)
    at = g.op("Unsqueeze", ["cache_position", g.ints(-1)], "places")
    tables = {}
    for name, table in zip(("cos", "sin"), g.angles()):
        rows = g.op("Gather", [g.array(f"{name}_table", np.concatenate([table, table], -1)), "cache_position"], f"{name}.rows")
        tables[name] = g.op("Unsqueeze", [rows, g.ints(0, 1)], name)
    seen = g.op("LessOrEqual", [g.array("every_place", np.arange(capacity)), at], "mask.seen")
    mask = g.op("Where", [seen, g.number("zero", 0), g.number("lowest", -np.inf)], "mask")

    def write(past: str, present: str, new: str) -> str:
        rows = [g.op("Transpose", [x], f"{present}.{part}", perm=[2, 0, 1, 3]) for part, x in (("rows", past), ("new_rows", new))]
        updated = g.op("ScatterND", [rows[0], at, rows[1]], f"{present}.updated")
        return g.op("Transpose", [updated], present, perm=[1, 2, 0, 3])

    _body(g, lambda x, layer: _attention(g, x, layer, tables["cos"], tables["sin"], mask, write))
    inputs, outputs = _ports(shape, capacity, capacity, {"input_ids": ["batch", "sequence"], "cache_position": ["sequence"]})
    return g.save(inputs, outputs, "decoder_static_cache")


def _group_query(g: _Graph, x: str, layer: int) -> str:
    s, name = g.shape, f"layer.{layer}.attention"
    query, key, value = (g.linear(x, f"{name}.{part}", s.hidden, heads * s.width)
                         for part, heads in (("query", s.heads), ("key", s.key_heads), ("value", s.key_heads)))
    outputs = [f"{name}.sums", f"present.{layer}.key", f"present.{layer}.value"]
    inputs = [query, key, value, f"past_key_values.{layer}.key", f"past_key_values.{layer}.value", "seqlens_k", "total_sequence_length",
              "cos_table", "sin_table"]
    g.nodes.append(helper.make_node("GroupQueryAttention", inputs, outputs, name=name, domain="com.microsoft", num_heads=s.heads,
                                    kv_num_heads=s.key_heads, do_rotary=1))
    return g.linear(outputs[0], f"{name}.output", s.hidden, s.hidden)


def group_query(path: pathlib.Path, capacity: int, shape: Shape = Shape(), seed: int = 20230718, sparse: bool = False) -> pathlib.Path:
    """The same network on caches of `capacity` places; seqlens_k and total_sequence_length are made of the attention mask."""
    g = _Graph(path, shape, seed, sparse)
    cos, sin = g.angles()
    g.array("cos_table", cos), g.array("sin_table", sin)
    mask = g.op("Cast", ["attention_mask"], "mask.i32", to=TensorProto.INT32)
    sums = g.op("ReduceSum", [mask, g.ints(1)], "mask.sums", keepdims=0)
    g.op("Sub", [sums, g.array("one_i32", np.int32(1))], "seqlens_k")
    extents = g.op("Shape", ["attention_mask"], "mask.shape")
    total = g.op("Gather", [extents, g.array("index1", np.int64(1))], "mask.total")
    g.op("Cast", [total], "total_sequence_length", to=TensorProto.INT32)
    _body(g, lambda x, layer: _group_query(g, x, layer))
    inputs, outputs = _ports(shape, capacity, capacity, {"input_ids": ["batch", "sequence"], "attention_mask": ["batch", "total"]})
    return g.save(inputs, outputs, "decoder_group_query")


SHAPES = {"llama3-8b": Shape(layers=32, hidden=4096, heads=32, key_heads=8, ffn=14336, vocab=128256, positions=8192, dtype=np.float16)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--kind", choices=("concat", "group_query"), default="concat")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--capacity", type=int, default=8192)
    parser.add_argument("--bits", type=int, default=0, help="of weights, in MatMulNBits")
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--zeros", action="store_true", help="blocks have zero points")
    arguments = parser.parse_args()
    shape = dataclasses.replace(SHAPES[arguments.shape], bits=arguments.bits, block=arguments.block, zeros=arguments.zeros)
    if arguments.layers:
        shape = dataclasses.replace(shape, layers=arguments.layers)
    if arguments.kind == "concat":
        concat(arguments.out, shape, sparse=True)
    else:
        group_query(arguments.out, arguments.capacity, shape, sparse=True)


if __name__ == "__main__":
    main()
