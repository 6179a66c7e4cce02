"""Runs Weft bundles: numpy arrays in, numpy arrays out.

    import weft
    session = weft.Session("model.weft", threads=2)
    outputs = session.run({"x": x})            # {"y": array}

Tensors of other libraries (torch, cupy, jax, ...) come and go by DLPack, without copies and on their streams:

    y = torch.from_dlpack(session.run({"x": x}, stream=torch.cuda.current_stream())["y"])

    session = weft.Session(weft.compile("model.onnx", target="sm_90a,cpu"), device="cuda")

The package is a thin layer (ctypes) over the C ABIs of libweft_runtime.so and, for `compile` and `inspect`, of libweft_compiler.so, which is loaded
when one of them is called. It needs numpy alone. bfloat16, float8 and
4-bit types come and go as the `ml_dtypes` types, when that package is installed.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from ._communicator import Communicator
from ._compiler import Capability, Compiled, Node, compile, compiler_version, inspect, load_compiler
from ._dlpack import Tensor
from ._explain import Explanation, explain
from ._library import Error, load_library, version
from ._session import Bundle, Dispatch, Port, Session, Symbol, zeros

__all__ = ["Bundle", "Capability", "Communicator", "Compiled", "Dispatch", "Error", "Explanation", "Node", "Port", "Session", "Symbol", "Tensor", "compile",
           "compiler_version", "explain", "inspect", "load_compiler", "load_library", "version", "zeros"]
