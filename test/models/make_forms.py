#!/usr/bin/env python3
"""The forms that onnxruntime's own tools make of real models: its optimiser, its quantisers, its float16 converter.

    make_forms.py FOLDER OUT [NAME...] [--forms=qdq,float16]

FOLDER is what shared/realmodels/fetch.sh filled. OUT gets FOLDER's layout, one file for each form: OUT/silero_vad/silero_vad+qdq.onnx. What
a tool itself refuses is printed and left out. `run_real.py OUT --forms` compiles, runs and compares them.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import logging
import pathlib
import sys
import tempfile
from collections.abc import Callable

import onnx
import onnxruntime as ort
from onnxruntime import quantization as quant
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.transformers import float16

from run_real import CASES


def optimised(level: ort.GraphOptimizationLevel) -> Callable:
    def make(source: pathlib.Path, target: pathlib.Path, _name: str) -> None:
        options = ort.SessionOptions()
        options.graph_optimization_level, options.log_severity_level, options.intra_op_num_threads = level, 4, 1
        options.optimized_model_filepath = str(target)
        ort.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])

    return make


def dynamic(kind: quant.QuantType) -> Callable:
    def make(source: pathlib.Path, target: pathlib.Path, _name: str) -> None:
        quant.quantize_dynamic(str(source), str(target), weight_type=kind)

    return make


class Calibration(quant.CalibrationDataReader):
    def __init__(self, source: pathlib.Path, name: str) -> None:
        names = {port.name for port in ort.InferenceSession(str(source), providers=["CPUExecutionProvider"]).get_inputs()}
        self.cases = iter([{port: value for port, value in case.items() if port in names} for case in CASES[name]])

    def get_next(self) -> dict | None:
        return next(self.cases, None)


def static(layout: quant.QuantFormat, activations: quant.QuantType, weights: quant.QuantType, by_channel: bool) -> Callable:
    def make(source: pathlib.Path, target: pathlib.Path, name: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            prepared = pathlib.Path(folder) / "prepared.onnx"
            try:
                quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
            except Exception:  # Its shape inference refuses some; the quantiser takes most of these as they are.
                prepared = source
            quant.quantize_static(str(prepared), str(target), Calibration(prepared, name), quant_format=layout, activation_type=activations,
                                  weight_type=weights, per_channel=by_channel)

    return make


def few_bits(bits: int) -> Callable:
    def make(source: pathlib.Path, target: pathlib.Path, _name: str) -> None:
        from onnxruntime.quantization import matmul_nbits_quantizer as nbits  # Needs the package onnx_ir.

        quantizer = nbits.MatMulNBitsQuantizer(onnx.load(source), bits=bits, block_size=32, is_symmetric=False)
        quantizer.process()
        if not any(node.op_type == "MatMulNBits" for node in quantizer.model.model.graph.node):
            raise ValueError("no product of a constant matrix")
        onnx.save(quantizer.model.model, target)

    return make


def half(source: pathlib.Path, target: pathlib.Path, _name: str) -> None:
    onnx.save(float16.convert_float_to_float16(onnx.load(source), keep_io_types=True), target)


U8, S8 = quant.QuantType.QUInt8, quant.QuantType.QInt8
FORMS: dict[str, Callable] = {
    "basic": optimised(ort.GraphOptimizationLevel.ORT_ENABLE_BASIC),
    "extended": optimised(ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED),
    "all": optimised(ort.GraphOptimizationLevel.ORT_ENABLE_ALL),
    "dynamic_u8": dynamic(U8),
    "dynamic_s8": dynamic(S8),
    "qdq": static(quant.QuantFormat.QDQ, U8, S8, False),
    "qdq_channels": static(quant.QuantFormat.QDQ, S8, S8, True),
    "qoperator": static(quant.QuantFormat.QOperator, U8, U8, False),
    "bits4": few_bits(4),
    "bits8": few_bits(8),
    "float16": half,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--forms", default=",".join(FORMS))
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    for name in CASES:
        if arguments.names and not any(word in name for word in arguments.names):
            continue
        for form in arguments.forms.split(","):
            target = arguments.out / f"{name}+{form}.onnx"
            if target.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                FORMS[form](arguments.folder / f"{name}.onnx", target, name)
            except Exception as error:  # Whatever the tool raises: it does not take this model.
                target.unlink(missing_ok=True)
                print(f"{name}: {form}: {str(error).strip().splitlines()[0][:150] if str(error).strip() else type(error).__name__}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
