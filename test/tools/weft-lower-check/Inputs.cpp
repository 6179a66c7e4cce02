// Random inputs, edge values among them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Check.h"
#include "mlir/IR/BuiltinTypes.h"
#include <cmath>
#include <limits>

using namespace mlir;
using weft::reference::Scalar;
using weft::reference::Tensor;

namespace weft::check {

static double pickFloat(StringRef kind, std::mt19937_64 &random) {
  static const double edges[] = {0.0,   -0.0,    INFINITY, -INFINITY,    NAN,     1.0,      -1.0, 0.5,
                                 1e-40, -1e-40,  6.1e-5,   3e-8,         65504.0, -65504.0, 1e30, -1e30,
                                 127.5, 255.0,   -128.0,   2147483648.0, 9.3e18,  -9.3e18,  88.8, -88.8,
                                 104.0, 1.0e-10, 16384.0,  1.5,          2.5,     -2.5};
  if (kind == "edge" && random() % 2)
    return edges[random() % std::size(edges)];
  if (kind == "ties")
    return double(random() % 3);
  return std::normal_distribution<double>(0.0, 2.0)(random);
}

static uint64_t pickInteger(IntegerType type, StringRef kind, std::mt19937_64 &random) {
  unsigned width = type.getWidth();
  uint64_t high = uint64_t(1) << (width - 1);
  if (kind == "edge" && random() % 2) {
    const uint64_t edges[] = {0, 1, ~uint64_t(0), high, high - 1, width, width - 1, 7};
    return edges[random() % std::size(edges)];
  }
  if (kind == "ties")
    return random() % 3;
  return type.isUnsigned() || width == 1 ? random() % 9 : uint64_t(int64_t(random() % 17) - 8);
}

/// Floats from `low` to `high`, uniformly.
static bool fillUniform(Tensor &tensor, StringRef low, StringRef high, std::mt19937_64 &random) {
  double first, last;
  if (!tensor.isFloat() || low.getAsDouble(first) || high.getAsDouble(last) || !(first < last))
    return false;
  std::uniform_real_distribution<double> distribution(first, last);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.store(i, Scalar{distribution(random)});
  return true;
}

bool fillInput(Tensor &tensor, StringRef kind, std::mt19937_64 &random) {
  if (kind.contains(".."))
    return fillUniform(tensor, kind.split("..").first, kind.split("..").second, random);
  auto [low, high] = kind.split(':');
  int64_t first = 0, last = 0;
  bool isRange = !high.empty();
  if (isRange && (low.getAsInteger(10, first) || high.getAsInteger(10, last) || last < first))
    return false;
  if (kind == "bits") {
    for (char &byte : tensor.bytes())
      byte = char(random());
    return tensor.element().getIntOrFloatBitWidth() % 8 == 0;
  }
  if (!isRange && kind != "" && kind != "edge" && kind != "ties")
    return false;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    Scalar value;
    int64_t inRange = isRange ? first + int64_t(random() % uint64_t(last - first + 1)) : 0;
    if (tensor.isFloat())
      value.f = isRange ? double(inRange) : pickFloat(kind, random);
    else
      value.i = isRange ? uint64_t(inRange) : pickInteger(cast<IntegerType>(tensor.element()), kind, random);
    tensor.store(i, value);
  }
  return true;
}

} // namespace weft::check
