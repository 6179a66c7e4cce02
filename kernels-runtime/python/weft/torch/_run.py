"""Runs of a session on PyTorch's tensors: their pointers in, PyTorch's memory out, on its current stream."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import ctypes

import torch

from .. import _dlpack, _dtypes
from .._library import Error, TensorStruct, array_of, check
from .._session import Session

_CODES = {getattr(torch, torch_name): _dtypes.code_of_name(name) for torch_name, name in (
    ("float64", "f64"), ("float32", "f32"), ("float16", "f16"), ("bfloat16", "bf16"), ("float8_e4m3fn", "f8e4m3fn"),
    ("float8_e5m2", "f8e5m2"), ("int64", "i64"), ("int32", "i32"), ("int16", "i16"), ("int8", "i8"), ("uint8", "ui8"), ("bool", "i1"))}
_TYPES = {code: dtype for dtype, code in _CODES.items()}


class Runner:
    """Calls of a session by position. Outputs of known extents are allocated by PyTorch, the others are the session's memory, taken."""

    def __init__(self, session: Session, device: torch.device):
        self._session, self._device = session, device
        self._memory = _dlpack.CUDA if device.type == "cuda" else _dlpack.HOST
        self._card = device.index or 0
        self._shapes = [port.dims if all(isinstance(extent, int) for extent in port.dims) else None for port in session.outputs]
        unknown = [code for code in session._output_codes if code not in _TYPES]
        if unknown:
            raise Error(3, f"PyTorch has no element type {_dtypes.name_of(unknown[0])}")

    def __call__(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        session = self._session
        if len(tensors) != len(session._inputs):
            raise Error(2, f"expected {len(session._inputs)} tensors, got {len(tensors)}")
        tensors = [tensor.contiguous() for tensor in tensors]
        inputs = array_of(TensorStruct, len(tensors))(*map(self._describe, tensors))
        found: list = [None if shape is None else torch.empty(shape, dtype=_TYPES[code], device=self._device)
                       for shape, code in zip(self._shapes, session._output_codes)]
        outputs = array_of(TensorStruct, len(found))()
        for index, tensor in enumerate(found):
            if tensor is None:
                outputs[index].memory = self._memory
            else:
                outputs[index] = self._describe(tensor)
        library, is_on_card = session._library, self._memory == _dlpack.CUDA
        with session._lock:
            if is_on_card:
                stream = torch.cuda.current_stream(self._device).cuda_stream
                check(library.weft_session_run_on(session._handle, stream, inputs, len(inputs), outputs, len(outputs)))
            else:
                check(library.weft_session_run(session._handle, inputs, len(inputs), outputs, len(outputs)))
            for index, tensor in enumerate(found):
                if tensor is None:
                    found[index] = torch.from_dlpack(session._take(index, outputs[index], is_on_card))
        return found

    def _describe(self, tensor: torch.Tensor) -> TensorStruct:
        if tensor.device != self._device:
            raise Error(2, f"expected tensors on {self._device}, got one on {tensor.device}; compile for the device where they are")
        code = _CODES.get(tensor.dtype)
        if code is None:
            raise Error(3, f"expected an element type of ONNX, got {tensor.dtype}")
        dims = array_of(ctypes.c_int64, max(tensor.dim(), 1))(*tensor.shape)
        return TensorStruct(code, tensor.dim(), dims, tensor.data_ptr(), tensor.nbytes, self._memory, self._card)
