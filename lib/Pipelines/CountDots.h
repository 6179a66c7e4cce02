// Matrix instructions of a tiled kernel, counted in its tile kernel IR.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PIPELINES_COUNTDOTS_H
#define WEFT_LIB_PIPELINES_COUNTDOTS_H

#include "mlir/IR/BuiltinOps.h"
#include "weft/Plan/Cost/Configuration.h"

namespace weft {

/// What the dots of a module that is tiled execute, by all warps: `warps` of a CTA multiply. None where a dot is not
/// for matrix units, or hangs on more loops of unknown length than one.
std::optional<plan::MatrixWork> countDots(mlir::ModuleOp kernel, int64_t warps);

} // namespace weft

#endif // WEFT_LIB_PIPELINES_COUNTDOTS_H
