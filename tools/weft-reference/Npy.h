// Reading and writing numpy's .npy files (format versions 1 to 3, C order, little-endian).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types that numpy lacks (bf16, f8, 4-bit) are written as raw bytes, `V2` or `V1`, one element each, as ml_dtypes does;
// the wanted element type decides what they are when they are read.
#ifndef WEFT_TOOLS_REFERENCE_NPY_H
#define WEFT_TOOLS_REFERENCE_NPY_H

#include "weft/Reference/Tensor.h"
#include "llvm/Support/Error.h"

namespace weft::npy {

/// Reads `path` as a tensor of element type `element`; an error if the file holds another type, or is malformed.
llvm::Expected<reference::Tensor> read(llvm::StringRef path, mlir::Type element);
llvm::Error write(llvm::StringRef path, const reference::Tensor &tensor);

} // namespace weft::npy

#endif // WEFT_TOOLS_REFERENCE_NPY_H
