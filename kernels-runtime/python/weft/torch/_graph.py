"""An exported program as an ONNX model whose parameters are PyTorch's memory."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import contextlib
import copy
import dataclasses
import threading
import warnings

import torch

from .._library import Error

_EMBEDDED_BYTES = 1024  # Smaller parameters are part of the model: scales and the like, which may become constants of kernels.
_UNBOUNDED = 1 << 40  # PyTorch's own "any extent" is near 2^63.


@dataclasses.dataclass(frozen=True)
class Graph:
    """`model`: the bytes of an ONNX model; `parameters`: dense tensors, by their location as external data; `bounds`: of symbols of its inputs."""
    model: bytes
    parameters: dict[str, torch.Tensor]
    bounds: dict[str, str]

    def on_host(self) -> dict[str, object]:
        """The parameters' bytes; of a GPU's, copies."""
        return {location: tensor.cpu().reshape(-1).view(torch.uint8).numpy() for location, tensor in self.parameters.items()}


def _writes(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


def refuse_effects(program: torch.export.ExportedProgram) -> None:
    """Programs that change their inputs or buffers. What they write into tensors of their own has no effect."""
    if any(_writes(node) for node in program.graph.nodes):
        program = program.run_decompositions({})  # says of each write what it reaches
    for output in program.graph_signature.output_specs:
        if output.kind is not torch.export.graph_signature.OutputKind.USER_OUTPUT:
            raise Error(3, f"expected a function without effects, got one that writes `{output.target or output.arg.name}`; return the new value instead")


def bounds_of(program: torch.export.ExportedProgram) -> dict[str, str]:
    """What is known of symbolic extents, as weft.compile's `dim` takes it: extents that the exporter has excluded are refused, since the program may be wrong for them."""
    return {str(symbol): f"{int(bounds.lower)}..{int(bounds.upper)}" for symbol, bounds in program.range_constraints.items()
            if bounds.upper.is_number and bounds.upper < _UNBOUNDED}


def _parameter(value) -> torch.Tensor | None:
    """What a value of the ONNX model stands for, if that is a tensor of PyTorch which is not small."""
    tensor = getattr(value.const_value, "raw", None)
    return tensor if isinstance(tensor, torch.Tensor) and tensor.nbytes >= _EMBEDDED_BYTES else None


def _may_fold(node) -> bool | None:
    """Not what reads a parameter: the transposition of a linear layer's weight would be a second copy of it, and part of the model."""
    return False if any(value is not None and _parameter(value) is not None for value in node.inputs) else None


_registries: dict = {}
_exporting = threading.RLock()


@contextlib.contextmanager
def _kept_registry():
    """PyTorch's exporter reads the sources of onnxscript's five hundred functions in every export, a quarter of its time: here once for the process. Who
    exports beside us gets a copy, too."""
    try:
        from torch.onnx._internal.exporter._registration import ONNXRegistry
        method = vars(ONNXRegistry)["from_torchlib"]
    except (ImportError, KeyError):  # A version that does it in another way.
        yield
        return
    make = method.__get__(None, ONNXRegistry)

    def from_torchlib(*args, **kwargs):
        key = (args, tuple(sorted(kwargs.items())))
        if key not in _registries:
            _registries[key] = make(*args, **kwargs)
        registry = copy.copy(_registries[key])
        registry.functions = {name: list(found) for name, found in registry.functions.items()}
        return registry

    with _exporting:
        ONNXRegistry.from_torchlib = staticmethod(from_torchlib)
        try:
            yield
        finally:
            ONNXRegistry.from_torchlib = method


def convert(program: torch.export.ExportedProgram) -> Graph:
    """Raises what the exporter raises where it has no ONNX for an operation."""
    try:
        import onnx_ir
        import onnxscript.optimizer  # PyTorch's exporter is written in it
    except ImportError as error:
        raise Error(3, f"PyTorch's ONNX exporter needs the package onnxscript: {error}; pip install onnxscript") from error
    refuse_effects(program)
    with warnings.catch_warnings(), _kept_registry():
        warnings.simplefilter("ignore")
        model = torch.onnx.export(program, dynamo=True, verbose=False, optimize=False).model
        onnxscript.optimizer.optimize_ir(model, num_iterations=1, should_fold=_may_fold)  # A second one finds little, and the compiler folds, too.
    parameters = {}
    for name, value in model.graph.initializers.items():
        if (tensor := _parameter(value)) is None:
            continue
        location = f"parameters/{len(parameters)}"
        parameters[location] = tensor.detach().contiguous()
        value.const_value = onnx_ir.ExternalTensor(location, 0, tensor.nbytes, value.const_value.dtype, shape=value.const_value.shape, name=name)
    names = {str(extent.value) for value in model.graph.inputs for extent in value.shape or () if isinstance(extent, onnx_ir.SymbolicDim)}
    bounds = {name: text for name, text in bounds_of(program).items() if name in names}
    return Graph(onnx_ir.serde.serialize_model(model).SerializeToString(), parameters, bounds)
