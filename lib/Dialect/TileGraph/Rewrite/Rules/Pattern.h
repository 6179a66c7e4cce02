// S-expressions of rules, parsed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_PATTERN_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_PATTERN_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace weft::tg {

struct Pattern {
  enum class Kind { Variable, Number, Count, Op };
  Kind kind = Kind::Op;
  std::string name; ///< Of the variable or op, without `?` or `tg.`.
  double number = 0;
  std::vector<Pattern> children;
  bool takesAny = false; ///< Operands written `...`.
};

/// Parses a whole expression; rules are part of the program, so bad text is a fatal error.
Pattern parsePattern(llvm::StringRef text);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_PATTERN_H
