"""Weft as an execution provider of onnxruntime (1.23 and newer), which takes graphs and parts of graphs:

    import onnxruntime, onnxruntime_ep_weft
    onnxruntime.register_execution_provider_library("weft", onnxruntime_ep_weft.get_library_path())
    devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == onnxruntime_ep_weft.get_ep_name()]
    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices(devices, {})
    session = onnxruntime.InferenceSession("model.onnx", options)
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib


def get_library_path() -> str:
    return str(pathlib.Path(__file__).resolve().parent / "libonnxruntime_ep_weft.so")


def get_ep_name() -> str:
    return "WeftExecutionProvider"


def get_ep_names() -> list[str]:
    return [get_ep_name()]
