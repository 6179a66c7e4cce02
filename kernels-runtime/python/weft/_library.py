"""Finds libweft_runtime.so and declares its C ABI (weft/runtime.h) for ctypes."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import ctypes
import functools
import os
import pathlib
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

ABI_VERSION = 2
_NAMES = ("libweft_runtime.so.2", "libweft_runtime.so")


class Error(RuntimeError):
    """A failure reported by the runtime. `code` equals the exit code that the tools give: 2 usage, 3 unsupported, 4 device,
    5 invalid input, 6 resource limit, 70 internal error."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


class WeightsStruct(ctypes.Structure):
    _fields_ = [("location", c_char_p), ("data", c_void_p), ("bytes", c_uint64), ("memory", c_int32), ("card", c_int32)]


class BundleOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("verify_weights", c_int32), ("weights_folder", c_char_p), ("weights", POINTER(WeightsStruct)),
                ("weights_count", c_size_t)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("threads", c_int32), ("profile", c_int32), ("entry", c_char_p),
                ("memory_limit", c_uint64), ("cuda_driver", c_char_p), ("cubin_cache", c_char_p), ("launch_kernels", c_int32),
                ("turn_limit", c_uint64), ("nvtx", c_char_p), ("communicator", c_void_p)]


class CommunicatorOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("rank", c_int32), ("ranks", c_int32), ("address", c_char_p), ("transport", c_char_p),
                ("nccl", c_char_p), ("timeout_ms", c_int64)]


class PortStruct(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int32), ("rank", c_int32), ("dims", POINTER(c_int64)),
                ("dim_texts", POINTER(c_char_p))]


class SymbolStruct(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("min", c_int64), ("max", c_int64)]


class TensorStruct(ctypes.Structure):
    _fields_ = [("dtype", c_int32), ("rank", c_int32), ("dims", POINTER(c_int64)), ("data", c_void_p), ("bytes", c_uint64),
                ("memory", c_int32), ("card", c_int32)]


class StatisticsStruct(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t)] + [(name, c_uint64) for name in (
        "runs", "dispatches", "last_run_ns", "staged_copies", "staged_bytes", "arena_bytes", "unshared_bytes", "weight_bytes",
        "plans_made", "plans_reused")] + [("threads", c_uint32), ("reserved", c_uint32)] + [(name, c_uint64) for name in (
        "graphs_made", "graphs_run", "graphs_refused")]


class DispatchStruct(ctypes.Structure):
    _fields_ = [("kernel", c_char_p), ("device", c_char_p), ("origins", POINTER(c_char_p)), ("origin_count", c_size_t),
                ("last_grid", c_int64), ("runs", c_uint64), ("total_ns", c_uint64)]


# name: (result, arguments). Functions that return c_void_p return an error, but for weft_bundle_explanation, weft_session_stream and
# weft_dlpack_capsule_destructor.
_FUNCTIONS = {
    "weft_version": (c_char_p, []),
    "weft_abi_version": (c_uint32, []),
    "weft_error_code": (c_int, [c_void_p]),
    "weft_error_message": (c_char_p, [c_void_p]),
    "weft_error_free": (None, [c_void_p]),
    "weft_bundle_open": (c_void_p, [c_char_p, POINTER(BundleOptions), POINTER(c_void_p)]),
    "weft_bundle_open_memory": (c_void_p, [c_void_p, c_size_t, POINTER(BundleOptions), POINTER(c_void_p)]),
    "weft_bundle_release": (None, [c_void_p]),
    "weft_bundle_product_version": (c_char_p, [c_void_p]),
    "weft_bundle_metadata": (c_char_p, [c_void_p, c_char_p]),
    "weft_bundle_explanation": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "weft_bundle_entry_count": (c_size_t, [c_void_p]),
    "weft_bundle_entry_name": (c_char_p, [c_void_p, c_size_t]),
    "weft_communicator_create": (c_void_p, [POINTER(CommunicatorOptions), POINTER(c_void_p)]),
    "weft_communicator_release": (None, [c_void_p]),
    "weft_session_create": (c_void_p, [c_void_p, c_char_p, POINTER(SessionOptions), POINTER(c_void_p)]),
    "weft_session_release": (None, [c_void_p]),
    "weft_session_input_count": (c_size_t, [c_void_p]),
    "weft_session_output_count": (c_size_t, [c_void_p]),
    "weft_session_input": (c_int, [c_void_p, c_size_t, POINTER(PortStruct)]),
    "weft_session_output": (c_int, [c_void_p, c_size_t, POINTER(PortStruct)]),
    "weft_session_alias": (c_int, [c_void_p, c_size_t]),
    "weft_session_symbol_count": (c_size_t, [c_void_p]),
    "weft_session_symbol": (c_int, [c_void_p, c_size_t, POINTER(SymbolStruct)]),
    "weft_session_run": (c_void_p, [c_void_p, POINTER(TensorStruct), c_size_t, POINTER(TensorStruct), c_size_t]),
    "weft_session_run_on": (c_void_p, [c_void_p, c_void_p, POINTER(TensorStruct), c_size_t, POINTER(TensorStruct), c_size_t]),
    "weft_session_wait": (c_void_p, [c_void_p, c_void_p]),
    "weft_session_stream": (c_void_p, [c_void_p]),
    "weft_session_copy_to_host": (c_void_p, [c_void_p, c_void_p, c_void_p, c_uint64]),
    "weft_session_take_output": (c_void_p, [c_void_p, c_size_t, c_int32, POINTER(c_void_p)]),
    "weft_tensor_from_dlpack": (c_void_p, [c_void_p, c_int32, POINTER(TensorStruct)]),
    "weft_dlpack_share": (c_void_p, [c_void_p, c_int32, c_int32, POINTER(c_void_p)]),
    "weft_dlpack_release": (None, [c_void_p, c_int32]),
    "weft_dlpack_capsule_destructor": (c_void_p, [c_void_p, c_void_p]),
    "weft_session_statistics": (None, [c_void_p, POINTER(StatisticsStruct)]),
    "weft_session_dispatch_count": (c_size_t, [c_void_p]),
    "weft_session_dispatch": (c_int, [c_void_p, c_size_t, POINTER(DispatchStruct)]),
    "weft_session_code": (c_char_p, [c_void_p]),
    "weft_session_counters": (c_char_p, [c_void_p, c_int32]),
}

_library: ctypes.CDLL | None = None


def candidates(where: str | os.PathLike | None, names: tuple[str, ...]) -> list[str]:
    """Files to try, in order: the given file or folder (a build folder works); else beside this package, in the package weft_compiler, the library folder of the
    installation that holds it, the build folder of a source tree, and what the dynamic linker finds."""
    package = pathlib.Path(__file__).resolve().parent
    if where is not None:
        path = pathlib.Path(where).resolve()
        folders = [path, path / "lib"] if path.is_dir() else []
        files = [] if folders else [path]
    else:
        above = package.parents[2]  # LIB/weft/python/weft when installed, kernels-runtime/python/weft in the tree
        folders, files = [package, package.parent / "weft_compiler" / "lib", above, above / "build" / "lib"], []
    found = [file for file in files + [folder / name for folder in folders for name in names] if file.is_file()]
    return [str(file) for file in found] + (list(names[:1]) if where is None else [])


def load_library(where: str | os.PathLike | None = None) -> ctypes.CDLL:
    """Loads the runtime library once; `where` is the file, its folder or a build folder. Later calls return the loaded one."""
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
        place = f" at {where}" if where is not None else ""
        reasons = "; ".join(failures)
        raise Error(4, f"cannot load libweft_runtime.so{place}{': ' if reasons else ''}{reasons}; build the target weft_runtime and "
                       "pass its folder to weft.load_library()")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    if library.weft_abi_version() != ABI_VERSION:
        raise Error(4, f"expected ABI version {ABI_VERSION}, got {library.weft_abi_version()} from {candidate}; "
                       "use the Python package that came with the library")
    _library = library
    return library


def version() -> str:
    """The version of the runtime library, "weft X.Y.Z"."""
    return load_library().weft_version().decode()


@functools.lru_cache(maxsize=None)
def array_of(kind: type, count: int) -> type:
    """The ctypes array of `count` elements. ctypes itself makes the type again for each array, which takes longer than a small run."""
    return kind * count


def check(error: int | None) -> None:
    """Raises the error that a C function returned, if any."""
    if not error:
        return
    library = load_library()
    code, message = library.weft_error_code(error), library.weft_error_message(error).decode(errors="replace")
    library.weft_error_free(error)
    raise Error(code, message)
