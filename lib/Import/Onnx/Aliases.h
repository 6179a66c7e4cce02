// Results of @main in the memory of its arguments.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_ALIASES_H
#define WEFT_LIB_IMPORT_ONNX_ALIASES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Import/Onnx/Import.h"

namespace weft::onnx {

/// Gives results of `main` their `tg.alias`: those that `options` names, and all that are updates of an argument at
/// distinct indices. Results that are an argument with more rows become updates of it. Reports what cannot be.
void applyAliases(mlir::func::FuncOp main, const ImportOptions &options, Diagnostics &diagnostics);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_ALIASES_H
