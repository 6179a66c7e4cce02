"""weft.torch.compile: a module or an exported program ahead of time."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from typing import Mapping

import torch
from torch.export.graph_signature import ConstantArgument
from torch.utils import _pytree as pytree

from .. import _compiler
from .._library import Error
from .._session import Bundle, Session
from ._graph import Graph, convert
from ._run import Runner

_TARGETS = {(8, 0): "sm_80", (8, 6): "sm_86", (8, 9): "sm_89", (9, 0): "sm_90a"}


def target_of(device: torch.device) -> str:
    if device.type == "cpu":
        return "cpu"
    if device.type != "cuda":
        raise Error(3, f"expected a device cpu or cuda, got {device}")
    capability = torch.cuda.get_device_capability(device)
    if capability not in _TARGETS:
        raise Error(3, f"expected a GPU of compute capability {', '.join('%d.%d' % each for each in _TARGETS)}, got {'%d.%d' % capability}")
    return _TARGETS[capability]


def device_of(tensors) -> torch.device:
    """Where all of them are; the GPU's number is part of it."""
    devices = {tensor.device for tensor in tensors}
    if len(devices) > 1:
        raise Error(2, f"expected all tensors on one device, got some on {' and '.join(sorted(map(str, devices)))}")
    device = devices.pop() if devices else torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device()) if device.type == "cuda" and device.index is None else device


def open_runner(graph: Graph, device: torch.device, threads: int | None, options: Mapping[str, object]) -> Runner:
    """Compiles and loads. A GPU's parameters are copied to the host while that goes on, where weights are folded and hashed."""
    given = dict(options)
    given.setdefault("target", target_of(device))
    if "allow_tf32" not in given and torch.get_float32_matmul_precision() != "highest":
        given["allow_tf32"] = True
    given["dim"] = {**graph.bounds, **dict(given.get("dim") or {})}
    is_on_card = device.type == "cuda"
    if is_on_card:
        torch.cuda.synchronize(device)  # parameters are read by the driver's copies, on other streams
    bundle = _compiler.compile(graph.model, external_data=graph.on_host(), bound_data=graph.parameters, weights="external", **given)
    session = Session(bundle, device=f"cuda:{device.index}" if is_on_card else "cpu", threads=threads or torch.get_num_threads())
    return Runner(session, device)


class CompiledModule:
    """What `compile` returns: called as the module is, with tensors of the same types, on the same device, and with extents as exported."""

    def __init__(self, program: torch.export.ExportedProgram, runner: Runner):
        self._runner = runner
        self._in_spec, self._out_spec = program.call_spec.in_spec, program.call_spec.out_spec
        self._keywords = list(self._in_spec.child(1).context if hasattr(self._in_spec, "child") else self._in_spec.children_specs[1].context)
        self._outputs = [output.arg for output in program.graph_signature.output_specs]

    @property
    def session(self) -> Session:
        return self._runner._session

    @property
    def bundle(self) -> Bundle:
        return self.session.bundle

    def __call__(self, *args, **kwargs):
        if set(kwargs) != set(self._keywords):
            raise Error(2, f"expected keyword arguments {self._keywords}, got {list(kwargs)}")
        flat, spec = pytree.tree_flatten((args, {name: kwargs[name] for name in self._keywords}))
        if spec != self._in_spec:
            raise Error(2, f"expected arguments as exported, {self._in_spec}, got {spec}")
        found = iter(self._runner([each for each in flat if isinstance(each, torch.Tensor)]))
        values = [output.value if isinstance(output, ConstantArgument) else next(found) for output in self._outputs]
        return pytree.tree_unflatten(values, self._out_spec)


def compile(module: torch.nn.Module | torch.export.ExportedProgram, args: tuple = (), kwargs: Mapping[str, object] | None = None, *,
            dynamic_shapes=None, threads: int | None = None, **options) -> CompiledModule:
    """Compiles a module for the device on which its parameters and `args` are.

    `args`, `kwargs`, `dynamic_shapes`: as for torch.export.export, which makes the program of a module; none for an ExportedProgram.
    `threads`: on the CPU; default: PyTorch's. `options`: those of weft.compile, `cache`, `progress` and `messages` among them; `target` is
    that of the device, and TF32 is allowed where PyTorch allows it (torch.set_float32_matmul_precision). Raises weft.Error where Weft does
    not support what the module does, and what PyTorch raises where that cannot be exported.
    """
    if isinstance(module, torch.export.ExportedProgram):
        if args or kwargs or dynamic_shapes:
            raise Error(2, "expected an exported program alone: its arguments and shapes are those of its export")
        program = module
    else:
        with torch.no_grad():
            program = torch.export.export(module, tuple(args), dict(kwargs or {}), dynamic_shapes=dynamic_shapes)
    examples = [each for each in pytree.tree_leaves((args, kwargs or {}, program.example_inputs)) if isinstance(each, torch.Tensor)]
    device = device_of([*program.state_dict.values(), *examples])
    return CompiledModule(program, open_runner(convert(program), device, threads, options))
