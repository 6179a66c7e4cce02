// Scan of a serialised ModelProto before protobuf sees it: bounds, depth and counts; strips what import does not need.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_WIRESCAN_H
#define WEFT_LIB_IMPORT_ONNX_WIRESCAN_H

#include "weft/Import/Onnx/ModelReader.h"

namespace weft::onnx {

/// First byte of every `raw_data` field in stripped messages.
enum class RawMark : char {
  Inline = 0,    ///< The data follow.
  Reference = 1, ///< Two little-endian 64-bit numbers follow: offset and size in the model file.
};

/// Returns `bytes` without documentation and metadata, with long raw data replaced by references; none after an error.
/// Costs time linear in the bytes outside raw data, times the nesting depth, and no recursion.
std::optional<std::string> scanAndStrip(llvm::ArrayRef<char> bytes, const Limits &limits, Diagnostics &diagnostics);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_WIRESCAN_H
