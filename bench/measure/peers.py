"""The peers: PyTorch eager, torch.compile, its attention back ends, and channels-last convolutions, all on the case's own definition."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from typing import Callable, Mapping

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from cases import Case, attention, matrix
from cases.torch_ops import ReferenceOps, TorchOps

COMPILE_MODES = {"compile": "max-autotune-no-cudagraphs", "compile default": "default"}
_SDPA = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}


def names(case: Case) -> list[str]:
    """The peers that make sense for a case."""
    found = ["eager", "compile"]
    if any(len(spec.shape) >= 4 for spec in case.weight_specs.values()):
        found += ["compile default", "eager channels-last", "compile channels-last"]
    elif case.build not in (matrix.gemm, attention.attention):
        found += ["compile default"]
    if case.build is attention.attention:  # Flash attention takes no bias.
        found += ["efficient", "cudnn"] if case.sizes.get("bias") else ["flash", "cudnn"]
    return found


def reference(case: Case, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The outputs in f32 without TF32, from the rounded inputs."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    with torch.no_grad():
        return case.forward(ReferenceOps({name: t.float() for name, t in tensors.items()}))


def _channels_last(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return {n: t.contiguous(memory_format=formats[t.ndim]) if t.ndim in formats else t for n, t in tensors.items()}


def make(case: Case, peer: str, tensors: Mapping[str, torch.Tensor]) -> Callable[[], dict[str, torch.Tensor]]:
    """A function of no arguments that runs the case once on these tensors."""
    mode, _, variant = peer.partition(" ")
    if variant == "channels-last":
        tensors = _channels_last(tensors)

    def forward(values: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return dict(case.forward(TorchOps(values)))

    if mode == "compile":
        torch._dynamo.reset()
        forward = torch.compile(forward, mode=COMPILE_MODES.get(peer, COMPILE_MODES["compile"]), fullgraph=True, dynamic=False)

    def run() -> dict[str, torch.Tensor]:
        with torch.no_grad():
            if peer in _SDPA:
                with sdpa_kernel(_SDPA[peer]):
                    return forward(dict(tensors))
            return forward(dict(tensors))

    return run
