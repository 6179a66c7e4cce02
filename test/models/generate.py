"""Real network architectures with seeded random weights, for machines without the exported models.

`bert` is the encoder of BERT (Devlin et al. 2018) as exporters write it: embeddings, post-norm layers, erf-Gelu, additive mask.
`mobilenet_v2` is the CNN of Sandler et al. 2018 with batch norms folded: inverted residuals, depthwise convolutions, Clip(0, 6).
Weights go to NAME.weights.bin as ONNX external data. The same arguments give the same bytes.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20


class Builder:
    """Collects nodes and streams weights to the external file. Weights are keyed by their order, so a seed fixes them all."""

    def __init__(self, folder: pathlib.Path, name: str, seed: int):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.name = folder, name
        self.rng = np.random.Generator(np.random.Philox(key=seed))
        self.weights = open(folder / f"{name}.weights.bin", "wb")
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def weight(self, name: str, shape: tuple[int, ...], std: float, mean: float = 0.0) -> str:
        values = self.rng.standard_normal(int(np.prod(shape)), np.float32) * np.float32(std) + np.float32(mean)
        offset = self.weights.tell()
        self.weights.write(values.tobytes())
        self.weights.write(b"\0" * (-self.weights.tell() % 64))
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", f"{self.name}.weights.bin"), ("offset", offset), ("length", values.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        self.initializers.append(tensor)
        return name

    def constant(self, name: str, values) -> str:
        self.initializers.append(onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def op(self, kind: str, inputs: list[str], name: str, **attributes) -> str:
        """One node `name` with one result of the same name."""
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def save(self, inputs: list, outputs: list) -> pathlib.Path:
        self.weights.close()
        graph = helper.make_graph(self.nodes, self.name, inputs, outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9, producer_name="weft-test")
        path = self.folder / f"{self.name}.onnx"
        onnx.save(model, path)
        return path


def bert(folder: pathlib.Path, name: str = "bert_base", layers: int = 12, hidden: int = 768, heads: int = 12,
         vocab: int = 30522, batch: int = 1, seq: int = 128) -> pathlib.Path:
    """Inputs input_ids and attention_mask i64[batch, seq]; output last_hidden_state f32[batch, seq, hidden]."""
    b = Builder(folder, name, seed=20181011)
    b.constant("positions", np.arange(seq, dtype=np.int64)[None])
    b.constant("split_heads", np.array([batch, seq, heads, hidden // heads], np.int64))
    b.constant("merge_heads", np.array([batch, seq, hidden], np.int64))
    b.constant("sqrt_head", np.float32(np.sqrt(hidden // heads)))
    b.constant("half", np.float32(0.5))
    b.constant("one", np.float32(1))
    b.constant("sqrt2", np.float32(np.sqrt(2)))
    b.constant("lowest", np.float32(-1e4))
    b.constant("mask_axes", np.array([1, 2], np.int64))

    mask = b.op("Cast", ["attention_mask"], "mask_f32", to=TensorProto.FLOAT)
    mask = b.op("Unsqueeze", [mask, "mask_axes"], "mask_4d")
    mask = b.op("Sub", ["one", mask], "mask_inverse")
    mask = b.op("Mul", [mask, "lowest"], "mask_bias")

    x = b.op("Gather", [b.weight("word_embeddings", (vocab, hidden), 0.05), "input_ids"], "words")
    places = b.op("Gather", [b.weight("position_embeddings", (512, hidden), 0.02), "positions"], "places")
    x = b.op("Add", [x, places], "embeddings")
    x = _norm(b, x, "embeddings.norm", hidden)
    for layer in range(layers):
        x = _bert_layer(b, x, f"layer.{layer}", hidden, mask)
    b.op("Identity", [x], "last_hidden_state")
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, [batch, seq]) for n in ("input_ids", "attention_mask")]
    return b.save(inputs, [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [batch, seq, hidden])])


def _norm(b: Builder, x: str, name: str, hidden: int) -> str:
    scale, bias = b.weight(f"{name}.weight", (hidden,), 0.05, 1.0), b.weight(f"{name}.bias", (hidden,), 0.05)
    return b.op("LayerNormalization", [x, scale, bias], name, axis=-1, epsilon=1e-12)


def _linear(b: Builder, x: str, name: str, width_in: int, width_out: int) -> str:
    y = b.op("MatMul", [x, b.weight(f"{name}.weight", (width_in, width_out), 1 / np.sqrt(width_in))], f"{name}.matmul")
    return b.op("Add", [y, b.weight(f"{name}.bias", (width_out,), 0.02)], name)


def _bert_layer(b: Builder, x: str, name: str, hidden: int, mask: str) -> str:
    heads = []
    for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
        y = _linear(b, x, f"{name}.{part}", hidden, hidden)
        y = b.op("Reshape", [y, "split_heads"], f"{name}.{part}.split")
        heads.append(b.op("Transpose", [y], f"{name}.{part}.heads", perm=order))
    scores = b.op("MatMul", heads[:2], f"{name}.scores")
    scores = b.op("Div", [scores, "sqrt_head"], f"{name}.scores.scaled")
    scores = b.op("Add", [scores, mask], f"{name}.scores.masked")
    probabilities = b.op("Softmax", [scores], f"{name}.probabilities", axis=-1)
    context = b.op("MatMul", [probabilities, heads[2]], f"{name}.context")
    context = b.op("Transpose", [context], f"{name}.context.tokens", perm=[0, 2, 1, 3])
    context = b.op("Reshape", [context, "merge_heads"], f"{name}.context.merged")
    y = _linear(b, context, f"{name}.attention.output", hidden, hidden)
    x = _norm(b, b.op("Add", [y, x], f"{name}.attention.residual"), f"{name}.attention.norm", hidden)
    y = _gelu(b, _linear(b, x, f"{name}.intermediate", hidden, 4 * hidden), f"{name}.gelu")
    y = _linear(b, y, f"{name}.output", 4 * hidden, hidden)
    return _norm(b, b.op("Add", [y, x], f"{name}.residual"), f"{name}.norm", hidden)


def _gelu(b: Builder, x: str, name: str) -> str:
    """x / 2 * (1 + erf(x / sqrt 2)), in the five nodes exporters write."""
    y = b.op("Erf", [b.op("Div", [x, "sqrt2"], f"{name}.div")], f"{name}.erf")
    y = b.op("Mul", [x, b.op("Add", [y, "one"], f"{name}.add")], f"{name}.mul")
    return b.op("Mul", [y, "half"], name)


# (expansion, output channels, blocks, stride of the first block): table 2 of the paper.
_MOBILENET_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def mobilenet_v2(folder: pathlib.Path, name: str = "mobilenet_v2", size: int = 224, batch: int = 1) -> pathlib.Path:
    """Input image f32[batch, 3, size, size]; output logits f32[batch, 1000]."""
    b = Builder(folder, name, seed=20180113)
    b.constant("zero", np.float32(0))
    b.constant("six", np.float32(6))
    x, channels = _conv(b, "image", "stem", 3, 32, 3, stride=2), 32
    for stage, (expansion, width, blocks, stride) in enumerate(_MOBILENET_STAGES):
        for block in range(blocks):
            x = _inverted_residual(b, x, f"stage{stage}.{block}", channels, width, expansion, stride if block == 0 else 1)
            channels = width
    x = _conv(b, x, "head", channels, 1280, 1)
    x = b.op("Flatten", [b.op("GlobalAveragePool", [x], "pool")], "features", axis=1)
    weight, bias = b.weight("classifier.weight", (1000, 1280), 0.03), b.weight("classifier.bias", (1000,), 0.02)
    b.op("Gemm", [x, weight, bias], "logits", transB=1)
    return b.save([helper.make_tensor_value_info("image", TensorProto.FLOAT, [batch, 3, size, size])],
                  [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [batch, 1000])])


def _conv(b: Builder, x: str, name: str, cin: int, cout: int, kernel: int, stride: int = 1, groups: int = 1,
          activate: bool = True) -> str:
    std = np.sqrt(2 / (cin // groups * kernel * kernel))
    weight = b.weight(f"{name}.weight", (cout, cin // groups, kernel, kernel), std)
    bias = b.weight(f"{name}.bias", (cout,), 0.02)
    pad = kernel // 2
    y = b.op("Conv", [x, weight, bias], f"{name}.conv", kernel_shape=[kernel] * 2, strides=[stride] * 2,
             pads=[pad] * 4, group=groups)
    return b.op("Clip", [y, "zero", "six"], f"{name}.relu6") if activate else y


def _inverted_residual(b: Builder, x: str, name: str, cin: int, cout: int, expansion: int, stride: int) -> str:
    width = cin * expansion
    y = _conv(b, x, f"{name}.expand", cin, width, 1) if expansion != 1 else x
    y = _conv(b, y, f"{name}.depthwise", width, width, 3, stride=stride, groups=width)
    y = _conv(b, y, f"{name}.project", width, cout, 1, activate=False)
    return b.op("Add", [x, y], f"{name}.residual") if stride == 1 and cin == cout else y


def example(folder: pathlib.Path) -> None:
    """The README's files: a two-layer perceptron example.onnx, its input x.npy, and refused.onnx, which no compiler of ours takes."""
    b = Builder(folder, "example", seed=1)
    b.op("MatMul", ["x", b.weight("w1", (16, 32), 0.25)], "hidden_sum")
    b.op("Relu", ["hidden_sum"], "hidden")
    b.op("MatMul", ["hidden", b.weight("w2", (32, 8), 0.25)], "logits")
    b.op("Softmax", ["logits"], "y", axis=-1)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [4, 16]), ("y", [4, 8])))
    b.save([x], [y])
    np.save(folder / "x.npy", np.random.default_rng(1).standard_normal((4, 16), np.float32))
    words = helper.make_tensor_value_info("words", TensorProto.STRING, [4])
    counts = helper.make_tensor_value_info("counts", TensorProto.FLOAT, [4, 3])
    node = helper.make_node("TfIdfVectorizer", ["words"], ["counts"], name="bag_of_words", mode="TF", min_gram_length=1, max_gram_length=1,
                            max_skip_count=0, ngram_counts=[0], ngram_indexes=[0, 1, 2], pool_strings=["a", "b", "c"])
    graph = helper.make_graph([node], "refused", [words], [counts])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9), folder / "refused.onnx")


def attention(folder: pathlib.Path) -> None:
    """The tour's file: attention.onnx, written out as exporters do, in f16: 8 x 8 heads of 384 queries and keys of 64 features."""
    q, k, v, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT16, [8, 8, 384, 64]) for n in "qkvy")
    nodes = [helper.make_node("Transpose", ["k"], ["k_t"], name="turn", perm=[0, 1, 3, 2]),
             helper.make_node("MatMul", ["q", "k_t"], ["scores"], name="scores"),
             helper.make_node("Mul", ["scores", "scale"], ["scaled"], name="scale_scores"),
             helper.make_node("Softmax", ["scaled"], ["weights"], name="softmax", axis=-1),
             helper.make_node("MatMul", ["weights", "v"], ["y"], name="mix")]
    graph = helper.make_graph(nodes, "attention", [q, k, v], [y], [numpy_helper.from_array(np.float16(0.125), "scale")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9), folder / "attention.onnx")


def ffn(folder: pathlib.Path) -> None:
    """The tutorials' files: ffn.onnx, a feed-forward block in f16 with a residual and a softmax behind it, and its input x.npy."""
    draw = np.random.default_rng(1)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT16, [384, 512]) for n in "xy")
    weights = [numpy_helper.from_array((0.05 * draw.standard_normal(shape)).astype(np.float16), name)
               for name, shape in (("w1", (512, 2048)), ("b1", 2048), ("w2", (2048, 512)))]
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["h1"], name="up"),
             helper.make_node("Add", ["h1", "b1"], ["h2"], name="bias"),
             helper.make_node("Gelu", ["h2"], ["h3"], name="gelu"),
             helper.make_node("MatMul", ["h3", "w2"], ["h4"], name="down"),
             helper.make_node("Add", ["h4", "x"], ["h5"], name="residual"),
             helper.make_node("Softmax", ["h5"], ["y"], name="softmax", axis=-1)]
    graph = helper.make_graph(nodes, "ffn", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9), folder / "ffn.onnx")
    np.save(folder / "x.npy", draw.standard_normal((384, 512)).astype(np.float16))


if __name__ == "__main__":
    import sys

    {"bert": bert, "mobilenet_v2": mobilenet_v2, "example": example, "attention": attention, "ffn": ffn}[sys.argv[1]](pathlib.Path(sys.argv[2]))
