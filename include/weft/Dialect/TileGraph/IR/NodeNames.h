// The ONNX nodes that an op came from, which its location names.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_NODENAMES_H
#define WEFT_DIALECT_TILEGRAPH_IR_NODENAMES_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace weft::tg {

/// The first ONNX node in a location, or an empty string.
inline llvm::StringRef findNodeName(mlir::Location location) {
  llvm::StringRef node;
  location->walk([&](mlir::Location inner) {
    auto name = llvm::dyn_cast<mlir::NameLoc>(inner);
    if (name)
      node = name.getName().getValue();
    return name ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return node;
}

/// Calls `found` with the name of each, in order.
inline void forEachNodeName(mlir::Location location, llvm::function_ref<void(mlir::StringAttr)> found) {
  location->walk([&](mlir::Location inner) {
    if (auto name = llvm::dyn_cast<mlir::NameLoc>(inner))
      found(name.getName());
    return mlir::WalkResult::advance();
  });
}

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_NODENAMES_H
