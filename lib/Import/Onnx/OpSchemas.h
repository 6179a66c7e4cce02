// What ONNX allows on a node of its default domain and onnxruntime on one of com.microsoft: counts and attribute names,
// for refusing what no version knows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPSCHEMAS_H
#define WEFT_LIB_IMPORT_ONNX_OPSCHEMAS_H

#include "llvm/ADT/StringRef.h"

namespace weft::onnx {

struct OpSchema {
  llvm::StringLiteral op;
  int maxInputs, maxOutputs;      ///< -1: any number.
  llvm::StringLiteral attributes; ///< Names, comma-separated.

  bool hasAttribute(llvm::StringRef name) const;
};

/// The operator of domain "" (ai.onnx) or com.microsoft, or null. Before opset 7, ai.onnx said in attributes what
/// operands say since.
const OpSchema *findSchema(llvm::StringRef domain, llvm::StringRef op, int64_t opset);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPSCHEMAS_H
