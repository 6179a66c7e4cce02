// A tile of registers in shared memory: stored and loaded in vectors, where a linear map says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_SHAREDTILE_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_SHAREDTILE_H

#include "Memory.h"

namespace weft::gpu {

class SharedTile {
public:
  /// `offsets` maps (register, lane, warp) to one dimension: elements from `base`, a !llvm.ptr<3>.
  SharedTile(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value base, const layout::LinearLayout &offsets,
             const Role &role, unsigned elementBits);

  /// One thread of those that hold the same elements stores them.
  void store(mlir::ValueRange values);
  llvm::SmallVector<mlir::Value> load(mlir::Type element);

private:
  struct Access {
    llvm::SmallVector<unsigned> registers;
    mlir::Value pointer;
    int64_t bytes;
  };
  llvm::SmallVector<Access> makeAccesses(TileIndices &indices);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value base;
  layout::LinearLayout offsets;
  Role role;
  int64_t bytes;
  llvm::SmallVector<unsigned> equal;
};

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_SHAREDTILE_H
