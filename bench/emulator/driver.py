"""The CUDA driver API by ctypes, as far as it takes to run PTX: modules, memory, tensor maps, launches."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import ctypes

LOG_BYTES = 8192
ERROR_LOG_BUFFER, ERROR_LOG_BUFFER_SIZE = 5, 6
MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER = 8, 14
ATTRIBUTE_CLUSTER = 4


class LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_uint * 16)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(LaunchAttribute)), ("attribute_count", ctypes.c_uint)]


class Card:
    """The first GPU. Every call that fails raises RuntimeError with the driver's words."""

    def __init__(self) -> None:
        self.driver = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        major, minor, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(100)
        self.call("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
        self.call("cuDeviceGetAttribute", ctypes.byref(minor), 76, device)
        self.call("cuDeviceGetName", name, 100, device)
        self.name = f"{name.value.decode()} (sm_{major.value}{minor.value})"

    def call(self, function: str, *arguments) -> None:
        result = getattr(self.driver, function)(*arguments)
        if result:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorString(result, ctypes.byref(text))
            raise RuntimeError(f"{function}: {text.value.decode() if text.value else result}")

    def load(self, ptx: bytes) -> ctypes.c_void_p:
        """Compiles PTX; the compiler's log is in the error."""
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(LOG_BYTES)
        options = (ctypes.c_int * 2)(ERROR_LOG_BUFFER, ERROR_LOG_BUFFER_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), LOG_BYTES)
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), ctypes.c_char_p(ptx), 2, options, values)
        except RuntimeError as error:
            raise RuntimeError(f"{error}: {log.value.decode(errors='replace').strip()}") from None
        return module

    def unload(self, module: ctypes.c_void_p) -> None:
        self.call("cuModuleUnload", module)

    def function(self, module: ctypes.c_void_p, name: str) -> ctypes.c_void_p:
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def upload(self, data) -> ctypes.c_void_p:
        """Device memory with these bytes (bytes or a contiguous numpy array)."""
        data = bytes(data) if isinstance(data, (bytes, bytearray)) else data.tobytes()
        pointer = ctypes.c_void_p()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(len(data), 1)))
        if data:
            self.call("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(len(data)))
        return pointer

    def download(self, pointer: ctypes.c_void_p, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(max(size, 1))
        self.call("cuMemcpyDtoH_v2", buffer, pointer, ctypes.c_size_t(size))
        return buffer.raw[:size]

    def free(self, pointer: ctypes.c_void_p) -> None:
        self.call("cuMemFree_v2", pointer)

    def tensor_map(self, spec: dict, address: ctypes.c_void_p) -> bytes:
        """128 bytes; `spec` holds the arguments of cuTensorMapEncodeTiled or -Im2col by name ("mode" says which)."""
        rank = spec["tensorRank"]
        storage = ctypes.create_string_buffer(128 + 64)
        aligned = (ctypes.addressof(storage) + 63) // 64 * 64
        u64 = lambda values: (ctypes.c_uint64 * max(len(values), 1))(*values)
        u32 = lambda values: (ctypes.c_uint32 * max(len(values), 1))(*values)
        i32 = lambda values: (ctypes.c_int32 * max(len(values), 1))(*values)
        head = [ctypes.c_void_p(aligned), spec["tensorDataType"], rank, address, u64(spec["globalDim"]), u64(spec["globalStrides"])]
        tail = [u32(spec["elementStrides"]), spec["interleave"], spec["swizzle"], spec["l2Promotion"], spec["oobFill"]]
        if spec["mode"] == "tiled":
            self.call("cuTensorMapEncodeTiled", *head, u32(spec["boxDim"]), *tail)
        else:
            self.call("cuTensorMapEncodeIm2col", *head, i32(spec["pixelBoxLowerCorner"]), i32(spec["pixelBoxUpperCorner"]),
                      ctypes.c_uint32(spec["channelsPerPixel"]), ctypes.c_uint32(spec["pixelsPerColumn"]), *tail)
        return ctypes.string_at(aligned, 128)

    def launch(self, function: ctypes.c_void_p, grid, block, parameters: list[bytes], shared: int = 0, cluster=(1, 1, 1)) -> None:
        """Starts a kernel and waits for it. `parameters` are the bytes of each parameter in order."""
        if shared > 48 * 1024:
            self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, shared)
        # The driver reads tensor maps at 64-byte alignment.
        blocks = [ctypes.create_string_buffer(len(value) + 64) for value in parameters]
        addresses = [(ctypes.addressof(b) + 63) // 64 * 64 for b in blocks]
        for address, value in zip(addresses, parameters):
            ctypes.memmove(address, value, len(value))
        pointers = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
        config = LaunchConfig((ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block), shared, None, None, 0)
        if tuple(cluster) != (1, 1, 1):
            if cluster[0] * cluster[1] * cluster[2] > 8:
                self.call("cuFuncSetAttribute", function, NON_PORTABLE_CLUSTER, 1)
            attribute = LaunchAttribute(ATTRIBUTE_CLUSTER, 0, (ctypes.c_uint * 16)(*cluster))
            config.attributes, config.attribute_count = ctypes.pointer(attribute), 1
        self.call("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)
        self.call("cuCtxSynchronize")
