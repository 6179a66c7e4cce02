"""The compiler in this process: libweft_compiler.so by its C ABI (weft/compiler.h)."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import ctypes
import dataclasses
import os
import posixpath
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Callable, Mapping

from ._library import Error, candidates, load_library
from ._session import Bundle

ABI_VERSION = 1
CANCELLED = 7
_NAMES = ("libweft_compiler.so.1", "libweft_compiler.so")
_KINDS = ("problem", "warning", "remark", "summary")


class _Message(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("kind", c_int32), ("code", c_int32), ("text", c_char_p), ("node", c_char_p), ("op", c_char_p),
                ("cause", c_char_p), ("remedy", c_char_p)]


class _Buffer(ctypes.Structure):
    _fields_ = [("location", c_char_p), ("data", c_void_p), ("size", c_uint64)]


_OnMessage = CFUNCTYPE(None, c_void_p, POINTER(_Message))
_OnProgress = CFUNCTYPE(None, c_void_p, c_char_p)
_OnCancelled = CFUNCTYPE(c_int32, c_void_p)


class _Request(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("model", c_char_p), ("model_data", c_void_p), ("model_size", c_size_t), ("buffers", POINTER(_Buffer)),
                ("buffer_count", c_size_t), ("options", POINTER(c_char_p)), ("option_count", c_size_t), ("output", c_char_p), ("cache", c_char_p),
                ("cache_limit", c_uint64), ("user", c_void_p), ("message", _OnMessage), ("progress", _OnProgress), ("cancelled", _OnCancelled)]


class _Node(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("op", c_char_p), ("reason", c_char_p), ("operations", c_double), ("bytes", c_double)]


class _Estimate(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("operations", c_double), ("unfused_bytes", c_double), ("fused_bytes", c_double),
                ("unfused_kernels", c_uint64), ("fused_kernels", c_uint64)]


_FUNCTIONS = {
    "weftc_version": (c_char_p, []),
    "weftc_abi_version": (c_uint32, []),
    "weftc_options_help": (c_char_p, []),
    "weftc_error_code": (c_int, [c_void_p]),
    "weftc_error_message": (c_char_p, [c_void_p]),
    "weftc_error_free": (None, [c_void_p]),
    "weftc_compile": (c_void_p, [POINTER(_Request), POINTER(c_void_p)]),
    "weftc_bundle_data": (c_void_p, [c_void_p]),
    "weftc_bundle_size": (c_uint64, [c_void_p]),
    "weftc_bundle_was_cached": (c_int32, [c_void_p]),
    "weftc_bundle_free": (None, [c_void_p]),
    "weftc_inspect": (c_void_p, [POINTER(_Request), POINTER(c_void_p)]),
    "weftc_capability_node_count": (c_size_t, [c_void_p]),
    "weftc_capability_node": (c_int, [c_void_p, c_size_t, POINTER(_Node)]),
    "weftc_capability_estimate": (c_int, [c_void_p, POINTER(_Estimate)]),
    "weftc_capability_free": (None, [c_void_p]),
}

_library: ctypes.CDLL | None = None


@dataclasses.dataclass(frozen=True)
class Node:
    """What the compiler makes of one node: `reason` says why it is not supported. Work as a kernel of its own."""
    name: str
    op: str
    reason: str | None
    operations: float
    bytes: float


@dataclasses.dataclass(frozen=True)
class Capability:
    """Nodes that cost something or are not supported; and what the model is worth as one program, if all are."""
    nodes: tuple[Node, ...]
    operations: float | None = None
    unfused_bytes: float | None = None
    fused_bytes: float | None = None
    unfused_kernels: int | None = None
    fused_kernels: int | None = None

    @property
    def unsupported(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.reason is not None)


class Compiled(Bundle):
    """A bundle in memory. `data`: its bytes, as a file would have them; `was_cached`: they came from the cache."""

    def __init__(self, data: bytes, was_cached: bool, weights: Mapping[str, object] | None = None):
        super().__init__(data, weights=weights)
        self.was_cached = was_cached

    @property
    def data(self) -> bytes:
        return self._data

    def save(self, path: str | os.PathLike) -> None:
        with open(path, "wb") as file:
            file.write(self._data)


def load_compiler(where: str | os.PathLike | None = None) -> ctypes.CDLL:
    """Loads the compiler library once; `where` is the file, its folder or a build folder."""
    global _library
    if _library is not None:
        return _library
    failures = []
    for candidate in candidates(where, _NAMES):
        try:
            library = ctypes.CDLL(candidate)
            break
        except OSError as error:
            failures.append(str(error))
    else:
        raise Error(4, f"cannot load libweft_compiler.so: {'; '.join(failures) or f'none at {where}'}; install the package weft-compiler, or build "
                       "the target weft_compiler and pass its folder to weft.load_compiler()")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    if library.weftc_abi_version() != ABI_VERSION:
        raise Error(4, f"expected ABI version {ABI_VERSION} of the compiler, got {library.weftc_abi_version()} from {candidate}; use the Python "
                       "package that came with the library")
    _library = library
    return library


def compiler_version() -> str:
    """"weft X.Y.Z (LLVM A.B.C)"."""
    return load_compiler().weftc_version().decode()


def option_texts(options: Mapping[str, object]) -> list[str]:
    """`{"target": "cpu", "allow_tf32": True, "dim": {"batch": 4}, "no_fuse": ["a", "b"]}` as `weft compile` takes them."""
    texts = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, Mapping):
            value = [f"{key}={each}" for key, each in value.items()]
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if each is True or each is False:
                texts.append(f"{flag}={str(each).lower()}")
            elif each is not None:
                texts.append(f"{flag}={each}")
    return texts


def _address(buffer, keep: list) -> tuple[int, int]:
    """Where the bytes of an object with the buffer protocol lie, and how many they are; nothing is copied."""
    import numpy as np
    array = np.frombuffer(buffer, np.uint8) if not isinstance(buffer, np.ndarray) else np.ascontiguousarray(buffer).view(np.uint8).reshape(-1)
    keep.append(array)
    return array.ctypes.data, array.nbytes


class _Call:
    """A request, and what must live as long as it. An exception of a callback is raised when the library has returned."""

    def __init__(self, model, options, external_data, messages, progress, cancelled):
        self.keep, self.exception = [], None
        self.request = request = _Request(ctypes.sizeof(_Request))
        if hasattr(model, "SerializeToString"):
            model = model.SerializeToString()
        if isinstance(model, (str, os.PathLike)):
            request.model = os.fsencode(model)
        else:
            request.model_data, request.model_size = _address(model, self.keep)
        buffers = [_Buffer(location.encode(), *_address(data, self.keep)) for location, data in (external_data or {}).items()]
        request.buffers, request.buffer_count = (_Buffer * len(buffers))(*buffers), len(buffers)
        texts = [text.encode() for text in option_texts(options)]
        request.options, request.option_count = (c_char_p * len(texts))(*texts), len(texts)
        if messages:
            request.message = _OnMessage(lambda _, message: self.guard(self.tell, messages, message.contents))
        if progress:
            request.progress = _OnProgress(lambda _, activity: self.guard(progress, activity.decode(errors="replace")))
        if cancelled or messages or progress:  # An exception of a callback ends the compilation, too.
            request.cancelled = _OnCancelled(lambda _: bool(self.exception or (cancelled and self.guard(cancelled)) or self.exception))

    def guard(self, function, *arguments):
        try:
            return function(*arguments)
        except BaseException as exception:
            self.exception = self.exception or exception
            return None

    @staticmethod
    def tell(messages, message: _Message) -> None:
        texts = {name: getattr(message, name).decode(errors="replace") for name in ("node", "op", "cause", "remedy")}
        messages(_KINDS[message.kind], message.text.decode(errors="replace"), {**texts, "code": message.code})

    def run(self, function) -> c_void_p:
        result = c_void_p()
        error = function(self.request, result)
        if self.exception:
            raise self.exception
        if error:
            library = load_compiler()
            code, text = library.weftc_error_code(error), library.weftc_error_message(error).decode(errors="replace")
            library.weftc_error_free(error)
            raise Error(code, text)
        return result


def compile(model, *, output: str | os.PathLike | None = None, external_data: Mapping[str, object] | None = None,
            bound_data: Mapping[str, object] | None = None, cache: str | os.PathLike | None = None, cache_limit: int = 0,
            messages: Callable | None = None, progress: Callable | None = None, cancelled: Callable | None = None, **options) -> Bundle:
    """Compiles a model to a bundle, in this process; other threads go on meanwhile.

    `model`: a path, the bytes of an ONNX model, or an `onnx.ModelProto`. `options`: those of `weft compile`, with _ for -:
    `target="cpu,sm_90a"`, `dim={"batch": "1..64:8"}`, `fp="fast"`, `allow_tf32=True`, `no_fuse=["a,b"]`. `external_data`: buffers for locations
    of external data, read where they are; with `weights="external"` they are not copied into the bundle, which is opened with them, or
    with `bound_data`, the same bytes elsewhere (a GPU's memory). `output`: path of the bundle; else it stays in memory. `cache`: folder of bundles that were made
    before (default: $WEFT_CACHE; "": none). `messages(kind, text, details)` gets problems, warnings, remarks and the summary,
    `progress(activity)` what begins; `cancelled()` ends the compilation with `Error` 7 once it returns something true.
    """
    library = load_compiler()
    call = _Call(model, options, external_data, messages, progress, cancelled)
    folder = os.environ.get("WEFT_CACHE", "") if cache is None else cache
    call.request.cache = os.fsencode(folder) if folder and folder != "off" else None
    call.request.cache_limit = cache_limit
    call.request.output = os.fsencode(output) if output is not None else None
    load_library()  # An error of the runtime comes before the work.
    result = call.run(library.weftc_compile)
    named = None
    if options.get("weights") == "external":  # The bundle has locations without dots.
        named = {posixpath.normpath(location): data for location, data in {**(external_data or {}), **(bound_data or {})}.items()}
    try:
        if output is not None:
            return Bundle(output, weights=named)
        data = ctypes.string_at(library.weftc_bundle_data(result), library.weftc_bundle_size(result))
        return Compiled(data, bool(library.weftc_bundle_was_cached(result)), named)
    finally:
        library.weftc_bundle_free(result)


def inspect(model, *, external_data: Mapping[str, object] | None = None, **options) -> Capability:
    """Which nodes the compiler can take, and what that is worth; nothing is compiled. Nodes behind one that is not supported are not
    looked at."""
    library = load_compiler()
    result = _Call(model, options, external_data, None, None, None).run(library.weftc_inspect)
    try:
        nodes, node = [], _Node()
        for i in range(library.weftc_capability_node_count(result)):
            library.weftc_capability_node(result, i, node)
            reason = node.reason.decode(errors="replace") if node.reason is not None else None
            nodes.append(Node(node.name.decode(errors="replace"), node.op.decode(errors="replace"), reason, node.operations, node.bytes))
        estimate = _Estimate(ctypes.sizeof(_Estimate))
        if library.weftc_capability_estimate(result, estimate):
            return Capability(tuple(nodes))
        return Capability(tuple(nodes), **{name: getattr(estimate, name) for name, _ in _Estimate._fields_[1:]})
    finally:
        library.weftc_capability_free(result)
