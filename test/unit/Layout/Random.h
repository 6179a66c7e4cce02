// Random layouts for property tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_LAYOUT_RANDOM_H
#define WEFT_TEST_UNIT_LAYOUT_RANDOM_H

#include "weft/Dialect/TileKernel/Layout/LinearLayout.h"

#include <algorithm>
#include <random>

namespace weft::layout {

inline LinearLayout makeRandom(std::mt19937_64 &random, Dims ins, Dims outs) {
  Vectors columns;
  for (unsigned bit = 0; bit < countBits(ins); ++bit)
    columns.push_back(random() & ((uint64_t(1) << countBits(outs)) - 1));
  return *LinearLayout::make(ins, outs, columns);
}

/// A random bijection.
inline LinearLayout makeRandomBijection(std::mt19937_64 &random, const Dims &ins, const Dims &outs) {
  for (;;) {
    LinearLayout layout = makeRandom(random, ins, outs);
    if (layout.isInjective())
      return layout;
  }
}

/// A bijection whose bases are unit vectors in random order.
inline LinearLayout makeRandomPermutation(std::mt19937_64 &random, const Dims &ins, const Dims &outs) {
  Vectors columns = unitVectors(countBits(ins));
  std::shuffle(columns.begin(), columns.end(), random);
  return *LinearLayout::make(ins, outs, columns);
}

} // namespace weft::layout

#endif // WEFT_TEST_UNIT_LAYOUT_RANDOM_H
