// Inputs for one call of a kernel and the comparison of its results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_TOOLS_WEFTLOWERCHECK_CHECK_H
#define WEFT_TEST_TOOLS_WEFTLOWERCHECK_CHECK_H

#include "weft/Reference/Tensor.h"
#include "llvm/ADT/StringRef.h"
#include <random>
#include <string>

namespace weft::check {

/// Fills `tensor`. `kind` is the argument's `check.values`:
///   ""        floats: normal distribution of deviation 2; integers: -8 .. 8 (0 .. 8 if unsigned); booleans: both
///   "edge"    also zeros of both signs, infinities, NaN, subnormals, the ends of the type's range
///   "ties"    few different small numbers, so that many are equal
///   "bits"    all bit patterns alike
///   "A..B"    floats from A to B, uniformly
///   "A:B"     integers (also as floats) from A to B
/// Returns false if `kind` is none of these.
bool fillInput(reference::Tensor &tensor, llvm::StringRef kind, std::mt19937_64 &random);

/// Compares `actual` with `expected`. Floats: |a - e| <= tolerance * the distance of neighbouring numbers at max(floor,
/// |e|), where `floor` is at least the type's least normal number; infinities and NaNs match only their like. Others:
/// equal bits. Returns the text of the first difference, or "".
std::string compare(const reference::Tensor &actual, const reference::Tensor &expected, double tolerance, double floor);

} // namespace weft::check

#endif // WEFT_TEST_TOOLS_WEFTLOWERCHECK_CHECK_H
