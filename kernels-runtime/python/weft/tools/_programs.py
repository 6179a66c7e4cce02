"""Models as programs that say what any of their tensors is: by Weft, by onnxruntime, or as a bundle, which knows its results alone."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import os
import tempfile
from typing import Mapping, Sequence

import numpy as np

from .. import Bundle, Error, Session, compile as compile_model
from .._compiler import CANCELLED

try:
    import onnx
except ImportError as missing:
    raise SystemExit("weft: error: expected the package onnx: pip install onnx") from missing


class Failed(Exception):
    """A program cannot say what tensors are. `kind` is the same for the same cause in another model."""

    def __init__(self, text: str, kind: tuple = ()):
        super().__init__(text)
        self.kind = kind


def names_read(node: onnx.NodeProto) -> set[str]:
    """Its operands, and what its subgraphs read of their surroundings."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer} | {name for each in graph.node for name in each.output}
            names |= {name for each in graph.node for name in names_read(each)} | {value.name for value in graph.output}
            names -= own
    return names


class Model:
    """An ONNX model, with its weights, and what can be asked of its outermost graph."""

    def __init__(self, path: str):
        self.path = path
        try:
            self.proto = onnx.load(path)
        except Exception as error:  # Each kind of broken file has an exception of its own.
            raise Failed(f"{path}: {error}") from error
        graph = self.proto.graph
        constants = {tensor.name for tensor in graph.initializer}
        self.inputs = [value for value in graph.input if value.name not in constants]
        self.outputs = [value.name for value in graph.output]
        self.maker = {name: node for node in graph.node for name in node.output if name}
        self.tensors = list(self.maker)  # in the order of the nodes
        self.constants = constants | {name for name, node in self.maker.items() if node.op_type == "Constant"}

    def describe(self, tensor: str) -> str:
        node = self.maker[tensor]
        return f"{node.op_type} {node.name or node.output[0]!r}"


def read_flags(texts: Sequence[str]) -> dict[str, object]:
    """`--fp=fast`, as `weft compile` takes it, for weft.compile."""
    flags: dict[str, object] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not name.startswith("--"):
            raise Failed(f"--compile-flag: expected a flag of weft compile such as --fp=fast, got {text!r}")
        flags.setdefault(name[2:], []).append(value if mark else True)
    return flags


class WeftProgram:
    """A model compiled for a device, anew for each set of tensors: with these as its results."""

    def __init__(self, model: Model, device: str, flags: Mapping[str, object]):
        self.model, self.device = model, device
        self.name = f"weft on {device}"
        self.known = set(model.tensors)
        self.flags = {"explain": "off", **flags}
        if "target" not in self.flags:
            if device.startswith("cuda"):
                raise Failed("expected --compile-flag=--target=GPU, since a model is compiled for a GPU")
            self.flags["target"] = device.removeprefix("emu:").partition(",")[0]

    def evaluate(self, names: Sequence[str], feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        problems = []
        try:
            bundle = compile_model(self.model.path, to=",".join(names), cache="",
                                   messages=lambda kind, text, details: problems.append(details) if kind == "problem" else None, **self.flags)
        except Error as error:
            if error.code == CANCELLED:
                raise
            first = problems[0] if problems else {"op": "", "cause": str(error)}
            raise Failed(str(error), ("compile", error.code, first["op"], first["cause"])) from error
        try:
            with Session(bundle, device=self.device) as session:
                return session.run({port.name: feeds[port.name] for port in session.inputs})
        except Error as error:
            raise Failed(str(error), ("run", error.code, "", str(error))) from error
        finally:
            bundle.close()


class BundleProgram:
    def __init__(self, path: str, device: str):
        self.session = Session(path, device=device)
        self.name = f"{path} on {device}"
        self.known = {port.name for port in self.session.outputs}

    def evaluate(self, names, feeds):
        results = self.session.run({port.name: feeds[port.name] for port in self.session.inputs})
        return {name: results[name] for name in names}


class OnnxruntimeProgram:
    """Each op by itself: onnxruntime's own rewrites are off."""

    def __init__(self, model: Model):
        try:
            import onnxruntime
        except ImportError as missing:
            raise Failed("expected the package onnxruntime, or a device of Weft as --other") from missing
        self.onnxruntime, self.model = onnxruntime, model
        self.name = f"onnxruntime {onnxruntime.__version__}"
        self.known = set(model.tensors)

    def evaluate(self, names, feeds):
        proto = onnx.ModelProto()
        proto.CopyFrom(self.model.proto)
        needed, kept = set(names), []
        for node in reversed(proto.graph.node):  # What nobody asks for may be what onnxruntime does not have.
            if needed.intersection(node.output):
                needed |= names_read(node)
                kept.append(node)
        kept.reverse()
        nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in kept]
        del proto.graph.node[:], proto.graph.output[:]
        proto.graph.node.extend(nodes)
        proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        options = self.onnxruntime.SessionOptions()
        options.graph_optimization_level = self.onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "model.onnx")  # A message of more than 2 GB cannot be handed over.
            onnx.save(proto, source, save_as_external_data=True, location="weights", size_threshold=1 << 20)
            try:
                session = self.onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
                wanted = {each.name for each in session.get_inputs()}
                results = session.run(list(names), {name: value for name, value in feeds.items() if name in wanted})
            except Exception as error:  # onnxruntime's kinds have no common base.
                raise Failed(f"onnxruntime: {error}", ("onnxruntime", type(error).__name__)) from error
        return {name: value for name, value in zip(names, results) if isinstance(value, np.ndarray)}


def evaluate_each(program, names: Sequence[str], feeds) -> dict[str, np.ndarray]:
    """Of these tensors, those that the program can say: what it refuses is left out."""
    try:
        return program.evaluate(names, feeds)
    except Failed:
        if len(names) < 2:
            return {}
    half = len(names) // 2
    return {**evaluate_each(program, names[:half], feeds), **evaluate_each(program, names[half:], feeds)}


def make_feeds(model: Model, given: Mapping[str, np.ndarray], dims: Mapping[str, int], seed: int) -> dict[str, np.ndarray]:
    """Inputs: as given, else random as of `weft run`: normal numbers, integers of 0 and 1. Named extents are `dims`, others 1."""
    random = np.random.default_rng(seed)
    if unknown := sorted(set(given) - {value.name for value in model.inputs}):
        raise Failed(f"expected inputs among {[value.name for value in model.inputs]}, got {unknown[0]!r}")
    feeds = {}
    for value in model.inputs:
        if value.name in given:
            feeds[value.name] = given[value.name]
            continue
        kind = value.type.tensor_type
        if not value.type.HasField("tensor_type"):
            raise Failed(f"input {value.name!r} is no tensor; --inputs-npz cannot give it either")
        shape = [dim.dim_value if dim.HasField("dim_value") else dims.get(dim.dim_param, 1) for dim in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        is_float = np.issubdtype(dtype, np.floating) or dtype.kind == "V" or "float" in dtype.name
        numbers = random.standard_normal(shape) if is_float else random.integers(0, 2, shape)
        feeds[value.name] = np.asarray(numbers).astype(dtype)
    return feeds
