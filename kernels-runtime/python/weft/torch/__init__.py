"""PyTorch modules compiled by Weft.

    import weft.torch
    fast = weft.torch.compile(module, (x,), dynamic_shapes=({0: torch.export.Dim("batch", max=64)},))
    y = fast(x)

    fast = torch.compile(module, backend="weft")      # what Weft does not compile stays PyTorch's

Both go by torch.export and PyTorch's ONNX exporter (which needs the package onnxscript), and compile in this process. Parameters stay where they
are: the bundle reads PyTorch's memory, but for those that kernels see in another order or in another type, which are laid out once.
Work goes to PyTorch's current stream, and results are PyTorch's tensors. For inference: gradients are PyTorch's own.

The compiled program has the parameters' values as they were: `compile` for good; a function of torch.compile is compiled again when one was written to.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from ._backend import backend
from ._module import CompiledModule, compile

__all__ = ["CompiledModule", "backend", "compile"]
