// Comparison of a kernel's result with the Reference's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Check.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using weft::reference::Tensor;

namespace weft::check {

/// Distance of neighbouring numbers of the type at `x`.
static double unitAt(double x, const llvm::fltSemantics &semantics) {
  return std::ldexp(1.0, std::ilogb(x) + 1 - int(APFloat::semanticsPrecision(semantics)));
}

static bool isClose(double actual, double expected, double tolerance, double floor,
                    const llvm::fltSemantics &semantics) {
  if (std::isnan(actual) || std::isnan(expected))
    return std::isnan(actual) && std::isnan(expected);
  if (actual == expected)
    return true;
  double unit = unitAt(std::max(floor, std::abs(expected)), semantics);
  return std::isfinite(expected) && std::abs(actual - expected) <= tolerance * unit;
}

std::string compare(const Tensor &actual, const Tensor &expected, double tolerance, double floor) {
  if (actual.shape() != expected.shape())
    return llvm::formatv("expected shape {0}, got {1}", reference::formatShape(expected.shape(), expected.element()),
                         reference::formatShape(actual.shape(), actual.element()));
  auto type = dyn_cast<FloatType>(actual.element());
  if (type)
    floor = std::max(floor, APFloat::getSmallestNormalized(type.getFloatSemantics()).convertToDouble());
  for (int64_t i = 0; i < actual.size(); ++i) {
    if (type) {
      double a = actual.load(i).f, e = expected.load(i).f;
      if (!isClose(a, e, tolerance, floor, type.getFloatSemantics()))
        return llvm::formatv("element {0}: expected {1:e9}, got {2:e9}", i, e, a);
    } else if (uint64_t a = actual.load(i).i, e = expected.load(i).i; a != e) {
      return llvm::formatv("element {0}: expected {1}, got {2}", i, int64_t(e), int64_t(a));
    }
  }
  return "";
}

} // namespace weft::check
