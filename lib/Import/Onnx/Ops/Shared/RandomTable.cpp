// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomTable.h"

using namespace mlir;

namespace weft::onnx {

MersenneTwister::MersenneTwister(uint32_t seed) {
  state[0] = seed;
  for (unsigned i = 1; i < size; ++i)
    state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
}

uint32_t MersenneTwister::next() {
  if (at == size) {
    for (unsigned i = 0; i < size; ++i) {
      uint32_t pair = (state[i] & 0x80000000u) | (state[(i + 1) % size] & 0x7fffffffu);
      state[i] = state[(i + middle) % size] ^ (pair >> 1) ^ (pair & 1 ? 0x9908b0dfu : 0);
    }
    at = 0;
  }
  uint32_t word = state[at++];
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680u;
  word ^= (word << 15) & 0xefc60000u;
  return word ^ (word >> 18);
}

double MersenneTwister::nextUniform() {
  uint64_t high = next() >> 5, low = next() >> 6;
  return static_cast<double>((high << 26) + low) * 0x1p-53;
}

Value uniformTable(NodeContext &ctx, ArrayRef<AffineExpr> dims) {
  constexpr int64_t most = int64_t(1) << 22;
  SmallVector<int64_t> shape;
  int64_t count = 1;
  for (AffineExpr extent : dims) {
    shape.push_back(tg::getConstant(extent).value_or(-1));
    if (shape.back() < 0) {
      (void)ctx.unsupported("random numbers of symbolic extents are not supported", "fix the extents with --dim");
      return {};
    }
    if (shape.back() > most || (count *= shape.back()) > most) {
      (void)ctx.limit("more than " + Twine(most) + " random numbers");
      return {};
    }
  }
  if (!ctx.hasAttr("seed")) {
    (void)ctx.unsupported("random numbers without a seed are not supported: each run would draw others",
                          "give the node an attribute `seed`");
    return {};
  }
  FailureOr<int64_t> seed = ctx.intAttr("seed");
  if (failed(seed))
    return {};
  if (*seed < 0 || *seed > UINT32_MAX) {
    (void)ctx.unsupported("expected a seed of 0 to 2^32 - 1, got " + Twine(*seed));
    return {};
  }
  MersenneTwister generator(static_cast<uint32_t>(*seed));
  SmallVector<double> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(generator.nextUniform());
  return ctx.constantValue(DenseElementsAttr::get(RankedTensorType::get(shape, ctx.b.getF64Type()), ArrayRef(numbers)));
}

} // namespace weft::onnx
