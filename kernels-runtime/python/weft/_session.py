"""Bundles and sessions."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import threading
from typing import Mapping

import numpy as np

from . import _dtypes
from ._library import (BundleOptions, DispatchStruct, Error, PortStruct, SessionOptions, StatisticsStruct, SymbolStruct, TensorStruct,
                       check, load_library)


@dataclasses.dataclass(frozen=True)
class Port:
    """An input or output. Each dimension is an int, or the text of what it depends on ("batch", "2*seq")."""
    name: str
    dtype: str
    dims: tuple[int | str, ...]


@dataclasses.dataclass(frozen=True)
class Symbol:
    """A symbolic extent and the inclusive bounds of its value."""
    name: str
    min: int
    max: int


@dataclasses.dataclass(frozen=True)
class Dispatch:
    """One kernel start of the launch program; times only with `Session(profile=True)`."""
    kernel: str
    device: str
    origins: tuple[str, ...]
    last_grid: int
    runs: int
    total_ns: int


class Bundle:
    """An open bundle; any number of sessions, in any threads, may share it.

    `source` is a path or the bundle's bytes. `verify_weights` checks the hash of every weight, which reads all of them.
    """

    def __init__(self, source: str | os.PathLike | bytes, *, verify_weights: bool = False,
                 weights_folder: str | os.PathLike | None = None):
        self._library = load_library()
        folder = os.fsencode(weights_folder) if weights_folder is not None else None
        options = BundleOptions(ctypes.sizeof(BundleOptions), int(verify_weights), folder)
        self._handle = ctypes.c_void_p()
        self._data = source if isinstance(source, bytes) else None  # used in place: must live as long as the bundle
        if self._data is not None:
            check(self._library.weft_bundle_open_memory(self._data, len(self._data), options, self._handle))
        else:
            check(self._library.weft_bundle_open(os.fsencode(source), options, self._handle))

    def __del__(self):
        if getattr(self, "_handle", None):
            self._library.weft_bundle_release(self._handle)

    @property
    def product_version(self) -> str:
        """The program that wrote the bundle."""
        return self._library.weft_bundle_product_version(self._handle).decode()

    def metadata(self, key: str) -> str | None:
        value = self._library.weft_bundle_metadata(self._handle, key.encode())
        return None if value is None else value.decode()

    @property
    def entries(self) -> list[str]:
        count = self._library.weft_bundle_entry_count(self._handle)
        return [self._library.weft_bundle_entry_name(self._handle, i).decode() for i in range(count)]


class Session:
    """One entry of a bundle, ready to run on a device.

    bundle        a Bundle, or a path or bytes to open
    device        "cpu", or "emu:CARD[,option=value...]": the PTX emulator (weft/runtime.h has the options)
    threads       CPU workers; default: the CPUs this process may use
    entry         entry function; default: the first
    profile       time every dispatch
    memory_limit  bytes of activations, outputs and scratch; default: the machine's memory
    """

    def __init__(self, bundle: Bundle | str | os.PathLike | bytes, *, device: str = "cpu", threads: int | None = None,
                 entry: str | None = None, profile: bool = False, memory_limit: int = 0):
        self.bundle = bundle if isinstance(bundle, Bundle) else Bundle(bundle)
        self._library = load_library()
        options = SessionOptions(ctypes.sizeof(SessionOptions), threads or 0, int(profile),
                                 None if entry is None else entry.encode(), memory_limit)
        self._lock = threading.Lock()
        self._handle = ctypes.c_void_p()
        check(self._library.weft_session_create(self.bundle._handle, device.encode(), options, self._handle))
        self._inputs, self._input_codes = self._ports("input")
        self._outputs, self._output_codes = self._ports("output")

    def __del__(self):
        if getattr(self, "_handle", None):
            self._library.weft_session_release(self._handle)

    def _ports(self, kind: str) -> tuple[list[Port], list[int]]:
        count = getattr(self._library, f"weft_session_{kind}_count")(self._handle)
        describe = getattr(self._library, f"weft_session_{kind}")
        ports, codes = [], []
        for index in range(count):
            struct = PortStruct()
            describe(self._handle, index, struct)
            dims = tuple(struct.dims[i] if struct.dim_texts[i] is None else struct.dim_texts[i].decode()
                         for i in range(struct.rank))
            ports.append(Port(struct.name.decode(), _dtypes.name_of(struct.dtype), dims))
            codes.append(struct.dtype)
        return ports, codes

    @property
    def inputs(self) -> list[Port]:
        return list(self._inputs)

    @property
    def outputs(self) -> list[Port]:
        return list(self._outputs)

    @property
    def symbols(self) -> list[Symbol]:
        symbols = []
        for index in range(self._library.weft_session_symbol_count(self._handle)):
            struct = SymbolStruct()
            self._library.weft_session_symbol(self._handle, index, struct)
            symbols.append(Symbol(struct.name.decode(), struct.min, struct.max))
        return symbols

    @property
    def code(self) -> str:
        """The code variant in use: target triple and CPU features."""
        return self._library.weft_session_code(self._handle).decode()

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Runs once. `feeds` has one array for each input, of exactly its element type; anything numpy can make an array of
        works. Returns new arrays by output name, in the model's order."""
        unknown = set(feeds) - {port.name for port in self._inputs}
        missing = [port.name for port in self._inputs if port.name not in feeds]
        if unknown or missing:
            raise Error(2, f"expected inputs {[port.name for port in self._inputs]}, got {list(feeds)}")
        keep = []  # memory that the tensors point to
        inputs = (TensorStruct * len(self._inputs))()
        for struct, port, code in zip(inputs, self._inputs, self._input_codes):
            self._fill(struct, np.asarray(feeds[port.name]), code, keep)
        outputs = (TensorStruct * len(self._outputs))()
        with self._lock:  # the session's output memory is valid until its next run
            check(self._library.weft_session_run(self._handle, inputs, len(inputs), outputs, len(outputs)))
            return {port.name: self._read(struct) for port, struct in zip(self._outputs, outputs)}

    @staticmethod
    def _fill(struct: TensorStruct, array: np.ndarray, code: int, keep: list) -> None:
        given = _dtypes.code_of(array.dtype)
        memory = _dtypes.pack(array, given)
        dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        keep += [memory, dims]
        struct.dtype, struct.rank, struct.dims = given, array.ndim, dims
        struct.data, struct.bytes = memory.ctypes.data, memory.nbytes

    @staticmethod
    def _read(struct: TensorStruct) -> np.ndarray:
        dims = tuple(struct.dims[:struct.rank])
        if struct.bytes == 0:
            return np.empty(dims, _dtypes.numpy_of(struct.dtype))
        data = np.ctypeslib.as_array(ctypes.cast(struct.data, ctypes.POINTER(ctypes.c_uint8)), (struct.bytes,))
        return _dtypes.unpack(data, struct.dtype, dims)

    def statistics(self) -> dict[str, int]:
        """Counters of the session: see weft_statistics in weft/runtime.h."""
        struct = StatisticsStruct(ctypes.sizeof(StatisticsStruct))
        self._library.weft_session_statistics(self._handle, struct)
        return {name: getattr(struct, name) for name, _ in struct._fields_ if name not in ("struct_size", "reserved")}

    def counters(self) -> list[dict]:
        """What the emulator counted in the last run: {"kernel", "counters"} for each dispatch; empty on devices that count nothing
        (and without `counters=on`)."""
        with self._lock:
            return json.loads(self._library.weft_session_counters(self._handle, 1) or b"[]")

    def dispatches(self) -> list[Dispatch]:
        """Placement: every kernel start, where it runs, and the ONNX nodes it came from."""
        result = []
        for index in range(self._library.weft_session_dispatch_count(self._handle)):
            struct = DispatchStruct()
            self._library.weft_session_dispatch(self._handle, index, struct)
            origins = tuple(struct.origins[i].decode() for i in range(struct.origin_count))
            result.append(Dispatch(struct.kernel.decode(), struct.device.decode(), origins, struct.last_grid, struct.runs,
                                   struct.total_ns))
        return result
