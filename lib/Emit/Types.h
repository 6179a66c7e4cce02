// Element types of the compiler as those of bundles, and constants as the bytes that kernels read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_EMIT_TYPES_H
#define WEFT_LIB_EMIT_TYPES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "weft/bundle_format.h"
#include <optional>
#include <string>

namespace weft::emit {

/// None if bundles do not have the type.
std::optional<bundle::DType> getDType(mlir::Type element);

/// The elements in row-major order, little-endian; i1 as bytes, sub-byte types packed low bits first.
std::string getBytes(mlir::DenseElementsAttr elements);

} // namespace weft::emit

#endif // WEFT_LIB_EMIT_TYPES_H
