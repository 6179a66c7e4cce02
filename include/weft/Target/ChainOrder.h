// Orders of launches that hold a chain, and what a module of several kernels says of itself.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_CHAINORDER_H
#define WEFT_TARGET_CHAINORDER_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace weft::gpu {

/// Of a module that several kernels were merged into: the parts in order, {name: str, wired: array<i64> (operands that
/// other parts write), schedule, launch (as on a kernel's own module)}; and the order of its CTAs where two take turns,
/// `chain<g>`.
inline constexpr llvm::StringLiteral partsAttr = "weft.parts", traversalAttr = "weft.traversal";

/// g of `chain<g>`: g blocks of rows of a launch's first kernel, then the rows of its second one that need them. None
/// for other texts.
inline std::optional<int64_t> parseChainOrder(llvm::StringRef text) {
  int64_t height = 0;
  bool isChain = text.consume_front("chain<") && !text.consumeInteger(10, height) && text == ">" && height > 0;
  return isChain ? std::optional(height) : std::nullopt;
}

} // namespace weft::gpu

#endif // WEFT_TARGET_CHAINORDER_H
