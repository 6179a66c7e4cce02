// What a bundle says about how it was made: kernels, their tiles and grids, and the ONNX nodes behind each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_EMIT_EXPLAIN_H
#define WEFT_LIB_EMIT_EXPLAIN_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace weft::emit {

struct ExplainedProgram {
  mlir::ModuleOp module;
  std::string target;       ///< "cpu", "sm_90a".
  unsigned firstKernel = 0; ///< Number of its first kernel in the bundle.
  /// What the planner says of it (weft/Pipelines/Explanation.h), or of each of its variants; may be empty.
  std::vector<llvm::json::Object> plans;
};

/// JSON, schema "weft.explain/3" (docs/explain.md).
std::string explain(llvm::ArrayRef<ExplainedProgram> programs, llvm::StringRef model);

} // namespace weft::emit

#endif // WEFT_LIB_EMIT_EXPLAIN_H
