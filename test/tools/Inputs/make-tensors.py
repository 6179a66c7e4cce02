"""Files that weft-run must read, made by the libraries that define them: make-tensors.py FOLDER."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper


def write_set(folder: pathlib.Path, given: onnx.TensorProto, expected: onnx.TensorProto) -> None:
    folder.mkdir()
    (folder / "input_0.pb").write_bytes(given.SerializeToString())
    (folder / "output_0.pb").write_bytes(expected.SerializeToString())


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    codes = {"f32": "FLOAT", "f64": "DOUBLE", "f16": "FLOAT16", "bf16": "BFLOAT16", "i64": "INT64", "i32": "INT32", "i16": "INT16",
             "i8": "INT8", "ui64": "UINT64", "ui32": "UINT32", "ui16": "UINT16", "ui8": "UINT8", "i1": "BOOL", "i4": "INT4",
             "ui4": "UINT4", "f8e4m3fn": "FLOAT8E4M3FN", "f8e5m2": "FLOAT8E5M2"}
    for name, code in codes.items():
        values = np.array([0, 1, 1, 0, 1, 1, 1]) if name == "i1" else np.array([0, 1, 2, 3, 4, 5, 6])
        number = getattr(onnx.TensorProto, code)
        typed = helper.make_tensor("x", number, values.shape, values)
        raw = numpy_helper.from_array(values.astype(helper.tensor_dtype_to_np_dtype(number)))
        write_set(folder / f"set-{name}", typed, raw)
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(folder / "fortran.npy", np.asfortranarray(matrix))
    np.save(folder / "bf16.npy", matrix[0].astype(ml_dtypes.bfloat16))
    np.save(folder / "int4.npy", np.array([-8, 7, 1]).astype(ml_dtypes.int4))
    np.save(folder / "complex.npy", matrix.astype(np.complex64))
    np.savez(folder / "both.npz", a=matrix[0], b=matrix[1])
    np.savez_compressed(folder / "small.npz", a=matrix[0], b=matrix[1])
    write_set(folder / "set-strings", helper.make_tensor("x", onnx.TensorProto.STRING, [1], [b"a"]), raw)
    truncated = numpy_helper.from_array(matrix).SerializeToString()[:-4]
    write_set(folder / "set-truncated", numpy_helper.from_array(matrix[0]), raw)
    (folder / "set-truncated" / "input_0.pb").write_bytes(truncated)


main()
