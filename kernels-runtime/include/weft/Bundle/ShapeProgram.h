// Evaluator of shape programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates the straight-line register programs of bundle_format.h in checked int64 arithmetic.
#ifndef WEFT_BUNDLE_SHAPEPROGRAM_H
#define WEFT_BUNDLE_SHAPEPROGRAM_H

#include "weft/Bundle/Error.h"
#include "weft/bundle_format.h"

#include <functional>

namespace weft::bundle {

/// What a program asks its surroundings for. `load` may be empty: a Load is then an error.
struct ShapeEnvironment {
  const int64_t *symbols;                                                    ///< Values of the entry's symbols.
  std::function<Error(uint32_t buffer, int64_t index, int64_t &value)> load; ///< Element of a buffer.
  std::function<std::string_view(uint32_t string)> message;                  ///< Text of an assert.
  int64_t turn = 0;                                                          ///< Of the innermost loop.
  int64_t rank = 0;                                                          ///< Of the session.
};

/// The value of one arithmetic instruction (Add..Max); false on overflow or a divisor <= 0.
bool evaluateArithmetic(Opcode opcode, int64_t a, int64_t b, int64_t &result);

/// Defines registers [first, first + count) of `instructions` (which starts at the entry's instruction 0) in
/// `registers`.
Error evaluateShapes(const InstructionRecord *instructions, uint32_t first, uint32_t count,
                     const ShapeEnvironment &environment, int64_t *registers);

} // namespace weft::bundle

#endif // WEFT_BUNDLE_SHAPEPROGRAM_H
