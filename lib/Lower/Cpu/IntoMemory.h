// Results that are updates of memory (gpu::intoAttr): loops that store their elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_CPU_INTOMEMORY_H
#define WEFT_LIB_LOWER_CPU_INTOMEMORY_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace weft::cpu {

/// The attribute's parts; none if the module has none.
struct IntoMemory {
  unsigned result, indices;
  mlir::RankedTensorType updates; ///< Of the result, over the kernel's symbols.
  mlir::AffineMap dataMap;
  llvm::SmallVector<mlir::AffineMap> indexMaps;
};
std::optional<IntoMemory> readInto(mlir::ModuleOp module);

/// memory[data_map(d)[indices[index_maps(d)]]] = rows[d] for all d within `extents`, where that index is within the
/// memory.
void storeRows(mlir::OpBuilder &builder, mlir::Location loc, const IntoMemory &into, mlir::Value rows,
               mlir::Value indices, mlir::Value memory, mlir::ValueRange extents);

} // namespace weft::cpu

#endif // WEFT_LIB_LOWER_CPU_INTOMEMORY_H
