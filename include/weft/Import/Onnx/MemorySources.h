// External data of a model that the caller holds in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_IMPORT_ONNX_MEMORYSOURCES_H
#define WEFT_IMPORT_ONNX_MEMORYSOURCES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class MLIRContext;
}

namespace weft::onnx {

/// Models that are imported into `context` from now on find `bytes` at the location `location`, and look for no file
/// there. The bytes must outlive the context. False: the location has some already.
bool addMemorySource(mlir::MLIRContext &context, llvm::StringRef location, llvm::ArrayRef<char> bytes);

} // namespace weft::onnx

#endif // WEFT_IMPORT_ONNX_MEMORYSOURCES_H
