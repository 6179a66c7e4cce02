"""The models of the suites: where each comes from, sensible inputs for it, and how accurate it must be."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import importlib.util
import json
import pathlib
import zlib

import numpy as np
import onnx

import generate
import generate_quantised
import transform

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Relative L2 error allowed against the f32 reference.
TOLERANCE = {"f32": 1e-4, "f16": 5e-3}

# Run by default; the others with --all.
FAST = ("bert_1layer_dynamic", "llama_tiny_prefill_s32", "llama_tiny_prefill_s32_opset23", "llama_tiny_decode_past31",
        "qwen_image_block_tiny", "squeezenet1_1_b1", "mobilenet_v2_b1", "resnet18_b1", "sd_unet_resblock_b2_f16", "bert_base_b1_s128")

# What CI runs through the PTX emulator: every kind of network, small enough for a CPU to compute thread by thread.
EMULATED = ("bert_1layer_dynamic", "llama_tiny_prefill_s32", "llama_tiny_prefill_s32_opset23", "llama_tiny_decode_past31",
            "qwen_image_block_tiny", "generated_bert_small", "generated_mobilenet_small", "generated_quantised")

# Symbol values to try, for models with dynamic extents: one bundle must serve all of them.
SHAPES = {"bert_1layer_dynamic": ({"batch": 1, "seq": 16}, {"batch": 3, "seq": 77}, {"batch": 8, "seq": 128})}

# The same for the emulator.
EMULATED_SHAPES = {"bert_1layer_dynamic": ({"batch": 1, "seq": 8}, {"batch": 2, "seq": 13})}

# Beginnings of exported models that the emulator also runs, once, in their own sizes: small graphs lack the kernels of large ones. By target: (model, up to
# which tensors). A Llama layer up to its attention: a norm, a product with rotated results, and a fold with a mask of its own.
EMULATED_PARTS = {"sm_90a": (("llama3_8b_2layer_prefill_s512_f16", ("view_3",)),)}

# Models whose graph is also cut in two places and compiled in part.
CUTS = ("gpt2_b1_s128", "mobilenet_v2_b1")


@dataclasses.dataclass
class Model:
    name: str
    path: pathlib.Path  # the .onnx with its weights beside it
    owned: list[pathlib.Path] = dataclasses.field(default_factory=list)  # files to delete when done

    def proto(self) -> onnx.ModelProto:
        """The graph without its external weights."""
        return onnx.load(self.path, load_external_data=False)

    @property
    def precision(self) -> str:
        kinds = {t.data_type for t in self.proto().graph.initializer}
        return "f16" if onnx.TensorProto.FLOAT16 in kinds else "f32"

    def discard(self) -> None:
        for path in self.owned:
            path.unlink(missing_ok=True)


def shared_models() -> pathlib.Path | None:
    """The folder of exported models, where this checkout has one."""
    for folder in (ROOT.parent / "shared" / "models", ROOT / "shared" / "models"):
        if folder.is_dir():
            return folder
    return None


def shared_names() -> list[str]:
    folder = shared_models()
    return sorted(p.stem for p in folder.glob("*.onnx")) if folder else []


def _weights_tool(folder: pathlib.Path):
    """make_weights.py of the exported models."""
    spec = importlib.util.spec_from_file_location("make_weights", folder / "make_weights.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def prepare_shared(name: str, cache: pathlib.Path) -> Model:
    """Copy the graph to the cache and draw its weights there (once)."""
    source = shared_models() / f"{name}.onnx"
    cache.mkdir(parents=True, exist_ok=True)
    target, weights = cache / source.name, cache / f"{name}.weights.bin"
    if not (target.exists() and weights.exists()):
        _weights_tool(source.parent).write_weights(source, cache)
        target.write_bytes(source.read_bytes())  # Last, so that an interrupted run starts again.
    return Model(name, target, [target, weights])


def prepare_part(name: str, targets: tuple[str, ...], folder: pathlib.Path) -> Model:
    """What computes `targets` from the inputs of an exported model, in an empty folder: its graph, and those weights alone (a file of holes otherwise)."""
    source = shared_models() / f"{name}.onnx"
    proto = onnx.load(source, load_external_data=False)
    part = transform.extract(proto, [value.name for value in proto.graph.input], list(targets))
    used = {tensor.name for tensor in part.graph.initializer}
    drawn = json.loads(source.with_suffix(".init.json").read_text())
    drawn["tensors"] = [tensor for tensor in drawn["tensors"] if tensor["name"] in used]
    model = folder / source.name
    model.with_suffix(".init.json").write_text(json.dumps(drawn))
    onnx.save(part, model)
    _weights_tool(source.parent).write_weights(model, folder)
    return Model(name, model)


# Built by generate.py when there are no exported models: smaller than the real ones, but whole networks.
GENERATED = {
    "generated_bert_2layer": lambda folder: generate.bert(folder, "generated_bert_2layer", layers=2, hidden=256, heads=4, vocab=2000, seq=48),
    "generated_mobilenet_v2": lambda folder: generate.mobilenet_v2(folder, "generated_mobilenet_v2", size=96),
}

# For the emulator, with or without the exported models.
GENERATED_SMALL = {
    "generated_bert_small": lambda folder: generate.bert(folder, "generated_bert_small", layers=1, hidden=128, heads=2, vocab=500, seq=24),
    "generated_mobilenet_small": lambda folder: generate.mobilenet_v2(folder, "generated_mobilenet_small", size=32),
    "generated_quantised": lambda folder: generate_quantised.quantised(folder, "generated_quantised"),
}
# Of a kind that no exported model is of: run by default, too.
ALWAYS = ("generated_quantised",)


def prepare_generated(name: str, cache: pathlib.Path) -> Model:
    path = cache / f"{name}.onnx"
    if not path.exists():
        {**GENERATED, **GENERATED_SMALL}[name](cache)
    return Model(name, path, [path, cache / f"{name}.weights.bin"])


def prepare(name: str, cache: pathlib.Path) -> Model:
    return prepare_generated(name, cache) if name in GENERATED or name in GENERATED_SMALL else prepare_shared(name, cache)


def _vocabulary(graph: onnx.GraphProto, ids: str) -> int:
    """Rows of the table that `ids` indexes; casts and identities in between are looked through."""
    tables = {t.name: t.dims[0] for t in graph.initializer if t.dims}
    names = {ids}
    for node in graph.node:
        if node.op_type in ("Cast", "Identity", "Reshape") and node.input[0] in names:
            names.add(node.output[0])
        if node.op_type == "Gather" and node.input[1] in names and node.input[0] in tables:
            return tables[node.input[0]]
    raise ValueError(f"no Gather from a weight is indexed by '{ids}'")


def _values(graph: onnx.GraphProto, name: str, shape: list[int], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Values that mean something for the input of that name."""
    if name == "attention_mask":
        mask = np.ones(shape, dtype)
        mask[..., shape[-1] * 4 // 5:] = 0  # Padded tail.
        return mask
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0, _vocabulary(graph, name), shape).astype(dtype)
    if name in ("cos", "sin"):
        angle = np.arange(shape[0])[:, None] / 10000 ** (np.arange(shape[1])[None] / shape[1])
        return (np.cos(angle) if name == "cos" else np.sin(angle)).astype(dtype)
    return rng.standard_normal(shape, np.float32).astype(dtype)


def inputs(proto: onnx.ModelProto, symbols: dict[str, int] | None = None) -> dict[str, np.ndarray]:
    """Seeded inputs of a model, by name. `symbols` gives the extents of dim_params."""
    weights = {t.name for t in proto.graph.initializer}
    feeds = {}
    for value in proto.graph.input:
        if value.name in weights:
            continue
        shape = [d.dim_value if d.HasField("dim_value") else (symbols or {})[d.dim_param] for d in value.type.tensor_type.shape.dim]
        rng = np.random.Generator(np.random.Philox(key=zlib.crc32(value.name.encode())))
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        feeds[value.name] = _values(proto.graph, value.name, shape, dtype, rng)
    return feeds
