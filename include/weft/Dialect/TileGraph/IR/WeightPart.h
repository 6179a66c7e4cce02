// Weights of which each rank of a program sees a part.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_WEIGHTPART_H
#define WEFT_DIALECT_TILEGRAPH_IR_WEIGHTPART_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace weft::tg {

/// What each rank sees of weights of which it has a part: of `outer` rows of `parts` pieces of `piece` bytes at
/// `offset` of `source`, piece p of each row on rank p. Such a weight's source has no bytes before a rank is known: its
/// name says all of this ("w.bin@4096:2x4x128"), and offsets of `#tg.data` are positions in what a rank sees.
struct WeightPart {
  std::string source;
  int64_t offset = 0, outer = 1, parts = 1, piece = 0;

  std::string getName() const;
  int64_t getStoredBytes() const { return outer * parts * piece; }
  static std::optional<WeightPart> parse(llvm::StringRef source);
};

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_WEIGHTPART_H
