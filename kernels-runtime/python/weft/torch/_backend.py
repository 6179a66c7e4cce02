"""torch.compile(backend="weft"): the graphs of TorchDynamo. Its guards choose among them; one that does not compile runs in PyTorch."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import logging
from typing import Callable, Mapping, Sequence

import torch

from .._library import Error
from ._graph import convert
from ._module import device_of, open_runner
from ._run import Runner

log = logging.getLogger("weft.torch")


def _is_parameter(value) -> bool:
    """Of a module: TorchDynamo marks what keeps its address."""
    return isinstance(value, torch.nn.Parameter) or getattr(value, "_dynamo_static_input_type", None) is not None


class _Frozen(torch.nn.Module):
    """The graph as a function of its tensors alone. Parameters are the module's; integers that are extents of tensors are read there."""

    def __init__(self, graph: torch.fx.GraphModule, examples: Sequence):
        super().__init__()
        self.graph_module = graph
        self.tensors, self.sources = [], []  # indices of tensors among the arguments; what each argument is
        places = [node.meta.get("example_value") for node in graph.graph.nodes if node.op == "placeholder"]
        for index, value in enumerate(examples):
            if _is_parameter(value):
                self.register_buffer(f"parameter_{index}", value.detach())
                self.sources.append(("parameter", f"parameter_{index}", 0))
            elif isinstance(value, torch.Tensor):
                self.sources.append(("tensor", len(self.tensors), 0))
                self.tensors.append(index)
            else:
                self.sources.append(None)
        for index, value in enumerate(examples):
            if self.sources[index] is None:
                self.sources[index] = self._find_extent(places[index], places)

    def _find_extent(self, symbol, places) -> tuple:
        for number, index in enumerate(self.tensors):
            for dim, extent in enumerate(places[index].shape):
                if isinstance(extent, torch.SymInt) and isinstance(symbol, torch.SymInt) and extent.node.expr == symbol.node.expr:
                    return ("extent", number, dim)
        raise Error(3, f"expected integers that are extents of tensors, got {symbol}")

    def shapes(self) -> tuple:
        """Which extents of the tensors vary, as torch.export wants them."""
        places = [node.meta.get("example_value") for node in self.graph_module.graph.nodes if node.op == "placeholder"]
        return tuple({dim: torch.export.Dim.DYNAMIC for dim, extent in enumerate(places[index].shape) if isinstance(extent, torch.SymInt)}
                     for index in self.tensors)

    def forward(self, *tensors):
        arguments = []
        for kind, which, dim in self.sources:
            arguments.append(getattr(self, which) if kind == "parameter" else tensors[which] if kind == "tensor" else tensors[which].shape[dim])
        return self.graph_module(*arguments)


class _Compiled:
    """One graph: compiled when it is called first, since TorchDynamo's own tracing goes on until then; again when a parameter was written to."""

    def __init__(self, graph: torch.fx.GraphModule, examples: Sequence, options: Mapping[str, object]):
        self._graph = graph
        self._options = dict(options)
        self._falls_back = self._options.pop("fallback", True)
        self._parameters = [value for value in examples if _is_parameter(value)]
        self._versions: list[int] | None = None
        self._module: _Frozen | None = None
        self._runner: Runner | None = None

    def _compile(self, arguments: Sequence) -> None:
        self._versions, self._runner = self._read_versions(), None
        if torch.is_grad_enabled() and any(isinstance(value, torch.Tensor) and value.requires_grad for value in arguments):
            raise Error(3, "gradients may be asked for; call it under torch.no_grad()")
        if self._module is None:
            self._module = _Frozen(self._graph, arguments)
        tensors = tuple(arguments[index].detach() for index in self._module.tensors)
        with torch.no_grad():
            program = torch.export.export(self._module, tensors, dynamic_shapes=(self._module.shapes(),))
        kinds = torch.export.graph_signature
        outputs = [output.arg for output in program.graph_signature.output_specs]
        if not all(isinstance(output, kinds.TensorArgument) or getattr(output, "value", 0) is None for output in outputs):
            raise Error(3, "expected tensors as results, got numbers")
        self._is_tensor = [isinstance(output, kinds.TensorArgument) for output in outputs]
        self._runner = open_runner(convert(program), device_of([*tensors, *self._parameters]), None, self._options)

    def _read_versions(self) -> list[int]:
        return [parameter._version for parameter in self._parameters]

    def _try_to_compile(self, arguments: Sequence) -> None:
        try:
            self._compile(arguments)
        except Exception as error:  # The exporter raises what it likes.
            if not self._falls_back:
                raise
            count = sum(node.op not in ("placeholder", "output") for node in self._graph.graph.nodes)
            cause = str(error).strip().splitlines()
            log.warning("weft: %d operations run in PyTorch: %s", count, cause[0] if cause else type(error).__name__)

    def __call__(self, *arguments):
        if self._read_versions() != self._versions:
            self._try_to_compile(arguments)
        if self._runner is None:
            return self._graph(*arguments)
        found = iter(self._runner([arguments[index] for index in self._module.tensors]))
        return tuple(next(found) if is_tensor else None for is_tensor in self._is_tensor)


def backend(graph: torch.fx.GraphModule, examples: Sequence, *, options: Mapping[str, object] | None = None, mode: str | None = None) -> Callable:
    """For torch.compile; `options` are those of weft.compile, with `fallback=False` for an error instead of PyTorch's own code."""
    return _Compiled(graph, examples, options or {})
