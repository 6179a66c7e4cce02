// Passes that print what analyses of `tg` found.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_ANALYSIS_PASSES_H
#define WEFT_DIALECT_TILEGRAPH_ANALYSIS_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace weft::tg {

#define GEN_PASS_DECL
#include "weft/Dialect/TileGraph/Analysis/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Dialect/TileGraph/Analysis/Passes.h.inc"

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_ANALYSIS_PASSES_H
