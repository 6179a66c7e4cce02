// Orders of launches that hold a chain, by hand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_CHAINORDER_H
#define WEFT_EMIT_CHAINORDER_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace weft::emit {

/// g of `chain<g>`: g blocks of rows of a launch's first kernel, then the rows of its second one that need them. None
/// for other texts.
inline std::optional<int64_t> parseChainOrder(llvm::StringRef text) {
  int64_t height = 0;
  bool isChain = text.consume_front("chain<") && !text.consumeInteger(10, height) && text == ">" && height > 0;
  return isChain ? std::optional(height) : std::nullopt;
}

} // namespace weft::emit

#endif // WEFT_EMIT_CHAINORDER_H
