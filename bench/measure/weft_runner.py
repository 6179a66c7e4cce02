"""A bundle on the caller's CUDA stream and device memory: the C ABI as a C++ service would call it."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import ctypes
import pathlib
import sys
from typing import Mapping

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "kernels-runtime" / "python"))

import weft  # noqa: E402
from weft import _dtypes, _library  # noqa: E402

_MEMORY_CUDA = 1


class WeftRunner:
    """A session whose inputs and outputs are fixed tensors of the current card; `run` starts it on the current stream.

    Outputs hold NaN until the first run: what a kernel does not write shows.
    """

    def __init__(self, library: pathlib.Path, bundle: pathlib.Path, tensors: Mapping[str, torch.Tensor], outputs: Mapping[str, tuple],
                 weights_folder: pathlib.Path | None):
        weft.load_library(library)
        self.card = torch.cuda.current_device()
        self.session = weft.Session(weft.Bundle(str(bundle), weights_folder=weights_folder), device=f"cuda:{self.card}")
        self._library = weft.load_library()
        dtype = next(iter(tensors.values())).dtype
        self.outputs = {name: torch.full(shape, float("nan"), dtype=dtype, device="cuda") for name, shape in outputs.items()}
        self._keep = [tensors]
        self._inputs = self._structs(self.session.inputs, tensors)
        self._results = self._structs(self.session.outputs, self.outputs)

    def _structs(self, ports, tensors: Mapping[str, torch.Tensor]):
        structs = (_library.TensorStruct * len(ports))()
        for struct, port in zip(structs, ports):
            tensor = tensors[port.name]
            if not tensor.is_contiguous():
                raise ValueError(f"expected a contiguous tensor '{port.name}', got strides {tensor.stride()}")
            dims = (ctypes.c_int64 * max(tensor.ndim, 1))(*tensor.shape)
            self._keep.append(dims)
            struct.dtype, struct.rank, struct.dims = _dtypes.code_of(_numpy_type(tensor.dtype)), tensor.ndim, dims
            struct.data, struct.bytes = tensor.data_ptr(), tensor.numel() * tensor.element_size()
            struct.memory, struct.card = _MEMORY_CUDA, self.card
        return structs

    def run(self) -> None:
        stream = torch.cuda.current_stream().cuda_stream
        _library.check(self._library.weft_session_run_on(self.session._handle, stream or None, self._inputs, len(self._inputs),
                                                         self._results, len(self._results)))

    @property
    def kernels(self) -> int:
        return sum(1 for dispatch in self.session.dispatches() if dispatch.device != "cpu")

    @property
    def on_host(self) -> list[str]:
        """Kernels that do not run on the card."""
        return [dispatch.kernel for dispatch in self.session.dispatches() if dispatch.device == "cpu"]


def _numpy_type(dtype: torch.dtype):
    import ml_dtypes
    import numpy as np
    return np.dtype({torch.float32: np.float32, torch.float16: np.float16, torch.bfloat16: ml_dtypes.bfloat16}[dtype])
