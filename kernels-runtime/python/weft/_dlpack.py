"""DLPack in Python: tensors of other libraries as inputs and outputs, and outputs that live where they were computed.

What a library must have is `__dlpack__` and `__dlpack_device__` (torch, jax, cupy, numpy), or `__cuda_array_interface__` (numba).
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import ctypes
import functools
from ctypes import c_char_p, c_int64, c_void_p, py_object

import numpy as np

from . import _dtypes
from ._library import Error, TensorStruct, array_of, check, load_library

HOST, CUDA = 0, 1  # WEFT_MEMORY_*
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED = 1, 2, 3, 13
_NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
_VERSION = (1, 0)

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.restype, _is_capsule.argtypes = ctypes.c_int, [py_object, c_char_p]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = c_void_p, [py_object, c_char_p]


@functools.cache
def _destructor() -> int:
    """Of capsules that nobody took. It is the library's: Python code cannot run while the exception of whoever refused the tensor is set."""
    return load_library().weft_dlpack_capsule_destructor(ctypes.cast(_is_capsule, c_void_p), ctypes.cast(_get_pointer, c_void_p))


def stream_handle(stream) -> int | None:
    """The CUstream of an int, or of a stream of torch, cupy (`.cuda_stream`, `.ptr`) or another library (`__cuda_stream__`)."""
    if stream is None or isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    raise Error(2, f"expected a CUDA stream, got {type(stream).__name__}")


def device_of(value) -> tuple[int, int]:
    """(kind of memory, number of the GPU) of a feed."""
    if isinstance(value, np.ndarray):
        return HOST, 0
    if hasattr(value, "__dlpack_device__"):
        kind, index = value.__dlpack_device__()
        return (CUDA, int(index)) if int(kind) in (_DL_CUDA, _DL_CUDA_MANAGED) else (HOST, 0)
    return (CUDA, 0) if hasattr(value, "__cuda_array_interface__") else (HOST, 0)


def is_foreign(value) -> bool:
    """True for what is taken by its pointer; everything else goes by way of numpy."""
    return not isinstance(value, np.ndarray) and (hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__"))


def fill(struct: TensorStruct, value, stream: int | None, card: int, keep: list) -> None:
    """Points `struct` to the memory of a foreign tensor, which is ready for work on `stream` (a CUstream; None: the host) from then
    on. `keep` gets what must live as long as the struct."""
    if hasattr(value, "__dlpack__"):
        capsule, versioned = _export(value, stream)
        keep.append(capsule)
        check(load_library().weft_tensor_from_dlpack(_get_pointer(capsule, _NAMES[versioned]), versioned, struct))
    else:
        _fill_from_interface(struct, value.__cuda_array_interface__, stream, card, keep)


def _export(value, stream: int | None):
    arguments = {}
    if device_of(value)[0] == CUDA and stream is not None:
        arguments["stream"] = stream or 1  # DLPack's number of the legacy default stream
    try:
        capsule = value.__dlpack__(max_version=_VERSION, **arguments)
    except TypeError:  # before DLPack 1.0
        capsule = value.__dlpack__(**arguments)
    for versioned, name in _NAMES.items():
        if _is_capsule(capsule, name):
            return capsule, versioned
    raise Error(2, f"__dlpack__ of {type(value).__name__} gave no DLPack capsule")


def _fill_from_interface(struct: TensorStruct, interface: dict, stream: int | None, card: int, keep: list) -> None:
    shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    strides = interface.get("strides")
    dense = tuple(int(np.prod(shape[i + 1:], dtype=np.int64)) * dtype.itemsize for i in range(len(shape)))
    if strides is not None and tuple(strides) != dense:
        raise Error(5, "expected a dense row-major tensor, got one with strides; copy it first")
    if interface.get("stream") not in (None, stream or 1):
        raise Error(2, "the tensor belongs to another stream; synchronise it first, or pass its stream to run()")
    dims = array_of(c_int64, max(len(shape), 1))(*shape)
    keep.append(dims)
    struct.dtype, struct.rank, struct.dims = _dtypes.code_of(dtype), len(shape), dims
    struct.data, struct.bytes = interface["data"][0], int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    struct.memory, struct.card = CUDA, card


class Tensor:
    """An output in the memory of the session's device: a GPU's, or on the CPU the host's.

    Other libraries take it without a copy: `torch.from_dlpack(tensor)`, `numpy.from_dlpack(tensor)` (CPU), `cupy.from_dlpack(tensor)`.
    `numpy()` copies it to the host. The memory lives as long as this object and everything that was made of it; then the session
    uses it again. As with all CUDA memory: keep it alive until work on streams other than the run's has ended.
    """

    def __init__(self, session, managed: int, struct: TensorStruct, is_pending: bool):
        self._session, self._managed, self._is_pending = session, managed, is_pending
        self._code, self._data, self._bytes = struct.dtype, struct.data, struct.bytes
        self.shape = tuple(struct.dims[:struct.rank])
        self._memory, self._card = struct.memory, struct.card

    def __del__(self):
        if getattr(self, "_managed", None):
            load_library().weft_dlpack_release(self._managed, True)

    @property
    def dtype(self) -> str:
        """"f32", "bf16", ..."""
        return _dtypes.name_of(self._code)

    @property
    def device(self) -> str:
        return f"cuda:{self._card}" if self._memory == CUDA else "cpu"

    def __repr__(self) -> str:
        return f"weft.Tensor({'x'.join(map(str, self.shape + (self.dtype,)))}, {self.device})"

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_DL_CUDA, self._card) if self._memory == CUDA else (_DL_CPU, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            raise BufferError("this tensor does not copy itself")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"the tensor lies on {self.device}, not on the device {tuple(dl_device)}")
        if self._memory == CUDA and self._is_pending and stream != -1 and not self._session.closed:  # which waited
            check(load_library().weft_session_wait(self._session._handle, 1 if stream is None else stream))
        versioned = max_version is not None and max_version[0] >= 1
        shared = c_void_p()
        check(load_library().weft_dlpack_share(self._managed, True, versioned, shared))
        return _new_capsule(shared.value, _NAMES[versioned], _destructor())

    @property
    def __cuda_array_interface__(self) -> dict:
        if self._memory != CUDA:
            raise AttributeError("__cuda_array_interface__")
        if self._is_pending and not self._session.closed:
            check(load_library().weft_session_wait(self._session._handle, 1))
        return {"shape": self.shape, "typestr": _dtypes.numpy_of(self._code).str, "data": (self._data or 0, False), "version": 3,
                "strides": None, "stream": 1 if self._is_pending else None}

    def numpy(self) -> np.ndarray:
        """A copy on the host, once everything that computes it is done."""
        data = np.empty(self._bytes, np.uint8)
        check(load_library().weft_session_copy_to_host(self._session._handle, data.ctypes.data, self._data, self._bytes))
        return _dtypes.unpack(data, self._code, self.shape)
