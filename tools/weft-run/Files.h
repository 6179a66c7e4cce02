// Tensors in files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numpy's .npy and .npz files, and ONNX TensorProto files (.pb) as in the test sets of ONNX. Files are not trusted:
// sizes are checked against the bytes that are there before anything is allocated.
#ifndef WEFT_RUN_FILES_H
#define WEFT_RUN_FILES_H

#include "Tensor.h"

#include <map>

namespace weft::run {

/// The whole of a file ("-": standard input).
Error readFile(const std::string &path, std::vector<uint8_t> &bytes);

bool isNpy(const std::vector<uint8_t> &bytes);
/// Reads a .npy file in memory. Types that numpy does not have come as it stores ml_dtypes: raw bytes ("V2", "V1") are
/// taken as `wanted` if the width fits, and one byte for each element is packed if `wanted` is narrower.
Error parseNpy(const uint8_t *data, size_t size, DType wanted, Tensor &tensor);
/// The .npy file of `tensor`; narrow types are written one element to a byte.
std::vector<uint8_t> formatNpy(const Tensor &tensor);
Error writeNpy(const std::string &path, const Tensor &tensor);

/// The members of an .npz file (np.savez; not compressed) as ranges of `bytes`, by name without ".npy".
struct Range {
  size_t offset, size;
};
Error parseNpz(const std::vector<uint8_t> &bytes, std::map<std::string, Range> &members);

/// Reads a serialised ONNX TensorProto; `name` may stay empty.
Error parseTensorProto(const std::vector<uint8_t> &bytes, Tensor &tensor, std::string &name);

} // namespace weft::run

#endif // WEFT_RUN_FILES_H
