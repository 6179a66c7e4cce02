"""Tools for the person at the terminal that need the packages onnx and, to compare with it, onnxruntime: `weft compare`, `weft reduce`."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
