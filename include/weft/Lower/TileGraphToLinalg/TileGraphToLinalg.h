// Lowering of kernel functions from `tg` to linalg on tensors: pass and options. See Passes.td for the contract.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LOWER_TILEGRAPHTOLINALG_TILEGRAPHTOLINALG_H
#define WEFT_LOWER_TILEGRAPHTOLINALG_TILEGRAPHTOLINALG_H

#include "mlir/Pass/Pass.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace weft::lower {

#define GEN_PASS_DECL
#include "weft/Lower/TileGraphToLinalg/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Lower/TileGraphToLinalg/Passes.h.inc"

} // namespace weft::lower

#endif // WEFT_LOWER_TILEGRAPHTOLINALG_TILEGRAPHTOLINALG_H
