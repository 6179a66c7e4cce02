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

from . import _dlpack, _dtypes
from ._library import (BundleOptions, DispatchStruct, Error, PortStruct, SessionOptions, StatisticsStruct, SymbolStruct, TensorStruct,
                       WeightsStruct, array_of, check, load_library)


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


_ALIGNMENT = 64  # of buffers: weft/bundle_format.h


class _Owner:
    """Of a handle of the library, which `close` gives back: at once, not when the last reference goes. Debuggers, profilers and
    tracebacks keep frames, and with them what a function's variables stand for."""

    _pointer: ctypes.c_void_p | None = None
    _what = ""

    @property
    def _handle(self) -> ctypes.c_void_p:
        if not self._pointer:
            raise Error(2, f"the {self._what} is closed")
        return self._pointer

    @property
    def closed(self) -> bool:
        return not self._pointer

    def close(self) -> None:
        pointer, self._pointer = self._pointer, None
        if pointer:
            self._release(pointer)

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self):
        self.close()


class Bundle(_Owner):
    """An open bundle; any number of sessions, in any threads, may share it. `close`, or the end of a `with` block, closes it; sessions of
    it go on.

    `source` is a path or the bundle's bytes. `verify_weights` checks the hash of every weight, which reads all of them. `weights`: external
    files that are in memory, by location: anything with the buffer protocol, or a dense tensor of another library (DLPack), on the host or on
    the GPU of the sessions, ready to be read. It is not copied where kernels can use it as it is, and belongs to the bundle from then on.
    """

    _what = "bundle"

    def __init__(self, source: str | os.PathLike | bytes, *, verify_weights: bool = False,
                 weights_folder: str | os.PathLike | None = None, weights: Mapping[str, object] | None = None):
        self._library = load_library()
        folder = os.fsencode(weights_folder) if weights_folder is not None else None
        self._weights: list = []  # what the pointers point to
        given = [self._locate(location, value) for location, value in (weights or {}).items()]
        options = BundleOptions(ctypes.sizeof(BundleOptions), int(verify_weights), folder, (WeightsStruct * len(given))(*given), len(given))
        self._pointer = ctypes.c_void_p()
        self._data = source if isinstance(source, bytes) else None  # used in place: must live as long as the bundle and its sessions
        if self._data is not None:
            check(self._library.weft_bundle_open_memory(self._data, len(self._data), options, self._pointer))
        else:
            check(self._library.weft_bundle_open(os.fsencode(source), options, self._pointer))

    def _locate(self, location: str, value) -> WeightsStruct:
        struct = TensorStruct()
        if _dlpack.is_foreign(value):
            _dlpack.fill(struct, value, None, 0, self._weights)
        else:
            array = value if isinstance(value, np.ndarray) and value.flags.c_contiguous else np.frombuffer(value, np.uint8)
            struct.data, struct.bytes = array.ctypes.data, array.nbytes
            self._weights.append(array)
        return WeightsStruct(location.encode(), struct.data, struct.bytes, struct.memory, struct.card)

    def _release(self, pointer: ctypes.c_void_p) -> None:
        self._library.weft_bundle_release(pointer)

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

    def _repr_html_(self) -> str | None:
        """A notebook shows what was made of the model (weft.explain)."""
        from ._explain import explain
        try:
            return explain(self)._repr_html_()
        except Error:
            return None  # closed, or without an explanation


def zeros(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """An array of zeros of an element type such as "f16" (not a packed one), at an address that the CPU's kernels use as it is."""
    code = _dtypes.code_of_name(dtype)
    if _dtypes.is_packed(code):
        raise Error(3, f"an array of {dtype} has no memory of its own: its elements are packed")
    kind = _dtypes.numpy_of(code)
    count = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    memory = np.zeros(count + _ALIGNMENT, np.uint8)
    skip = -memory.ctypes.data % _ALIGNMENT
    return memory[skip:skip + count].view(kind).reshape(shape)


class BoundRun:
    """A run of a session on certain tensors (Session.bind); calling it starts it, and returns the outputs by name."""

    def __init__(self, session: Session, feeds: Mapping[str, object], stream, out: Mapping[str, object], outputs: str | None):
        session._check_names(feeds, out)
        on_card = any(_dlpack.device_of(value)[0] == _dlpack.CUDA for value in [*feeds.values(), *out.values()])
        if outputs not in (None, "numpy", "dlpack"):
            raise Error(2, f'expected outputs="numpy" or "dlpack", got {outputs!r}')
        self._session, self._out = session, dict(out)
        self._is_dlpack = outputs == "dlpack" or (outputs is None and on_card)
        self._stream = _dlpack.stream_handle(stream)
        target = self._stream if self._stream is not None else session._library.weft_session_stream(session._handle)
        self._keep = [*feeds.values(), *out.values()]  # memory that the tensors point to
        self._inputs = array_of(TensorStruct, len(session._inputs))()
        for struct, port in zip(self._inputs, session._inputs):
            session._fill(struct, feeds[port.name], target, self._keep)
        self._results = array_of(TensorStruct, len(session._outputs))()
        for struct, port in zip(self._results, session._outputs):
            if port.name in out:
                session._fill_out(struct, out[port.name], target, self._keep)
        self._own = [i for i, port in enumerate(session._outputs) if port.name not in out]  # in the session's memory

    def __call__(self) -> dict[str, object]:
        session, results = self._session, self._results
        library = session._library
        with session._lock:  # the session's output memory is valid until its next run, or taken
            handle = session._handle
            for index in self._own:
                results[index] = TensorStruct()
                results[index].memory = _dlpack.CUDA if self._is_dlpack and session._card is not None else _dlpack.HOST
            if self._stream is None:
                check(library.weft_session_run(handle, self._inputs, len(self._inputs), results, len(results)))
            else:
                check(library.weft_session_run_on(handle, self._stream, self._inputs, len(self._inputs), results, len(results)))
            found = dict(self._out)
            for index in self._own:
                struct = results[index]
                found[session._outputs[index].name] = (session._take(index, struct, self._stream is not None) if self._is_dlpack
                                                       else session._read(struct))
        return {port.name: found[port.name] for port in session._outputs}


class Session(_Owner):
    """One entry of a bundle, ready to run on a device. `close`, or the end of a `with` block, waits for its work and frees its memory, but
    for outputs that were taken as weft.Tensor; if it was made from a path or bytes, it closes that bundle too.

    bundle        a Bundle, or a path or bytes to open
    device        "cpu"; "cuda" or "cuda:N": an NVIDIA GPU; or "emu:GPU[,option=value...]": the PTX emulator (weft/runtime.h has the
                  options)
    threads       CPU workers; default: the CPUs this process may use
    entry         entry function; default: the first
    profile       time every dispatch
    memory_limit  bytes of activations, copies of inputs, and outputs; default: the memory of the device
    cuda_driver   library of the CUDA driver; default: libcuda.so.1
    cuda_graphs   record runs on a GPU that come again, and replay them
    turn_limit    turns of all loops of one run together; default: 2^24
    communicator  of a program of several ranks (weft.Communicator)
    """

    _what, _owns_bundle = "session", False

    def __init__(self, bundle: Bundle | str | os.PathLike | bytes, *, device: str = "cpu", threads: int | None = None,
                 entry: str | None = None, profile: bool = False, memory_limit: int = 0, cuda_driver: str | os.PathLike | None = None,
                 cuda_graphs: bool = True, turn_limit: int = 0, communicator: Communicator | None = None):
        self._lock = threading.Lock()
        self.bundle = bundle if isinstance(bundle, Bundle) else Bundle(bundle)
        self._owns_bundle = self.bundle is not bundle
        self._library = load_library()
        options = SessionOptions(ctypes.sizeof(SessionOptions), threads or 0, int(profile),
                                 None if entry is None else entry.encode(), memory_limit,
                                 None if cuda_driver is None else os.fsencode(cuda_driver), None, int(not cuda_graphs), turn_limit, None,
                                 None if communicator is None else communicator._handle)
        self._pointer = ctypes.c_void_p()
        check(self._library.weft_session_create(self.bundle._handle, device.encode(), options, self._pointer))
        self._inputs, self._input_codes = self._ports("input")
        self._outputs, self._output_codes = self._ports("output")
        self.device = device
        self._card = int(device.partition(":")[2] or 0) if device.startswith("cuda") else None

    def close(self) -> None:
        with self._lock:  # a run in another thread ends first
            super().close()
        if self._owns_bundle:
            self.bundle.close()

    def __del__(self):
        super().close()  # somebody may still have the bundle

    def _release(self, pointer: ctypes.c_void_p) -> None:
        self._library.weft_session_release(pointer)

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
    def aliases(self) -> dict[str, str]:
        """By output, the input in whose memory it may lie: the same tensor in `feeds` and in `out` is then written in place."""
        found = {}
        for index, port in enumerate(self._outputs):
            if (number := self._library.weft_session_alias(self._handle, index)) >= 0:
                found[port.name] = self._inputs[number].name
        return found

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

    def run(self, feeds: Mapping[str, object], *, stream=None, out: Mapping[str, object] | None = None,
            outputs: str | None = None) -> dict[str, object]:
        """Runs once. `feeds` has one tensor for each input, of exactly its element type: what numpy can make an array of, or a dense
        tensor of another library (torch, cupy, ...) on the host or on the session's GPU, which is used without a copy. Returns the
        outputs by name, in the model's order.

        stream   a CUDA stream (a handle, or the object of a library): the work goes there, and the call does not wait for it. Default:
                 the session's own stream, and the call waits.
        out      tensors to write outputs to, by name: dense, large enough, on the host or on the session's GPU. They are what is
                 returned for these outputs.
        outputs  "numpy": new arrays; "dlpack": weft.Tensor objects in the device's memory. Default: "dlpack" if a feed or an element
                 of `out` lies on a GPU, else "numpy".
        """
        return self.bind(feeds, stream=stream, out=out, outputs=outputs)()

    def bind(self, feeds: Mapping[str, object], *, stream=None, out: Mapping[str, object] | None = None,
             outputs: str | None = None) -> BoundRun:
        """What `run` would do, to be done again and again: a function without arguments. Tensors are looked at here, once, which takes
        some 10 us for each; a call takes little more than the launch. The function keeps the tensors alive and reads what they hold
        when it is called (arrays that `run` would copy: what they held here); work on other streams that fills them must be waited for
        by the caller. Arguments as for `run`.
        """
        return BoundRun(self, feeds, stream, out or {}, outputs)

    def _check_names(self, feeds: Mapping[str, object], out: Mapping[str, object]) -> None:
        names = [port.name for port in self._inputs]
        if set(feeds) != set(names):
            raise Error(2, f"expected inputs {names}, got {list(feeds)}")
        names = [port.name for port in self._outputs]
        if not set(out) <= set(names):
            raise Error(2, f"expected outputs among {names}, got {list(out)}")

    def _take(self, index: int, struct: TensorStruct, is_pending: bool) -> _dlpack.Tensor:
        managed = ctypes.c_void_p()
        check(self._library.weft_session_take_output(self._handle, index, True, managed))
        return _dlpack.Tensor(self, managed.value, struct, is_pending)

    def _fill_out(self, struct: TensorStruct, value, stream: int | None, keep: list) -> None:
        if not _dlpack.is_foreign(value):
            value = np.asarray(value)
            if not (value.flags.c_contiguous and value.flags.writeable):
                raise Error(2, "expected a dense writable array in `out`")
            if _dtypes.is_packed(_dtypes.code_of(value.dtype)):
                raise Error(3, f"`out` cannot be an array of {value.dtype}: its elements are packed")
            self._fill(struct, value, stream, keep)
        else:
            _dlpack.fill(struct, value, stream, self._card or 0, keep)

    def _fill(self, struct: TensorStruct, value, stream: int | None, keep: list) -> None:
        if _dlpack.is_foreign(value):
            try:
                _dlpack.fill(struct, value, stream, self._card or 0, keep)
                return
            except (Error, BufferError):
                if not hasattr(value, "__array__") or _dlpack.device_of(value)[0] == _dlpack.CUDA:
                    raise  # else numpy makes a dense array of it
        array = np.asarray(value)
        given = _dtypes.code_of(array.dtype)
        memory = _dtypes.pack(array, given)
        dims = array_of(ctypes.c_int64, max(array.ndim, 1))(*array.shape)
        keep += [memory, dims]
        struct.dtype, struct.rank, struct.dims = given, array.ndim, dims
        struct.data, struct.bytes = memory.ctypes.data, memory.nbytes

    @staticmethod
    def _read(struct: TensorStruct) -> np.ndarray:
        dims = tuple(struct.dims[:struct.rank])
        if struct.bytes == 0:
            return np.empty(dims, _dtypes.numpy_of(struct.dtype))
        if _dtypes.is_packed(struct.dtype):
            return _dtypes.unpack(np.frombuffer(ctypes.string_at(struct.data, struct.bytes), np.uint8), struct.dtype, dims)
        array = np.empty(dims, _dtypes.numpy_of(struct.dtype))
        ctypes.memmove(array.ctypes.data, struct.data, min(struct.bytes, array.nbytes))
        return array

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
