// Results against expectations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise comparison with tolerances.
#include "Compare.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

using namespace weft;
using namespace weft::run;
using namespace weft::bundle;

static std::pair<double, double> getDefaults(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return {1e-7, 1e-9};
  case DType::F32:
    return {1e-4, 1e-5};
  case DType::F16:
    return {1e-3, 1e-3};
  case DType::BF16:
    return {1e-2, 1e-2};
  default:
    return isFloat(dtype) ? std::pair(0.1, 0.1) : std::pair(0.0, 0.0);
  }
}

/// "[1,2]" for element `index`.
static std::string describeIndex(const Tensor &tensor, int64_t index) {
  std::string text;
  for (size_t d = tensor.dims.size(); d-- > 0;) {
    text = std::to_string(index % tensor.dims[d]) + (text.empty() ? "" : ",") + text;
    index /= tensor.dims[d];
  }
  return "[" + text + "]";
}

Comparison weft::run::compare(const Tensor &got, const Tensor &want, const Tolerance &tolerance) {
  Comparison result;
  if (got.dtype != want.dtype || got.dims != want.dims) {
    result.failure = "expected " + want.describe() + ", got " + got.describe();
    return result;
  }
  auto [rtol, atol] = getDefaults(got.dtype);
  bool onlyUlp = tolerance.ulp && !tolerance.rtol && !tolerance.atol;
  result.rtol = tolerance.rtol.value_or(onlyUlp ? 0 : rtol);
  result.atol = tolerance.atol.value_or(onlyUlp ? 0 : atol);
  bool isReal = isFloat(got.dtype);
  double errorSquares = 0, wantSquares = 0;
  int64_t first = -1;
  for (int64_t i = 0, n = got.getCount(); i < n; ++i) {
    // 64-bit integers do not fit into a double; equality is decided on the bits.
    if (!isReal && got.getInteger(i) == want.getInteger(i))
      continue;
    double a = got.get(i), b = want.get(i);
    bool passes = a == b || (std::isnan(a) && std::isnan(b));
    if (std::isfinite(a) && std::isfinite(b)) {
      double error = std::fabs(a - b), ulps = isReal ? got.getUlps(want, i) : 0;
      errorSquares += error * error;
      wantSquares += b * b;
      result.maxAbs = std::max(result.maxAbs, error);
      result.maxRel = std::max(result.maxRel, b != 0 ? error / std::fabs(b) : 0);
      result.maxUlp = std::max(result.maxUlp, ulps);
      passes = (isReal && passes) || (error <= result.atol + result.rtol * std::fabs(b) && (isReal || error > 0)) ||
               (isReal && tolerance.ulp && ulps <= *tolerance.ulp);
    }
    if (!passes && result.mismatches++ == 0)
      first = i;
  }
  result.relativeL2 = wantSquares > 0 ? std::sqrt(errorSquares / wantSquares) : std::sqrt(errorSquares);
  if (first >= 0) {
    char text[160];
    std::snprintf(text, sizeof text, "%" PRId64 " of %" PRId64 " elements differ, first at %s: expected %.9g, got %.9g",
                  result.mismatches, got.getCount(), describeIndex(got, first).c_str(), want.get(first),
                  got.get(first));
    result.failure = text;
  }
  return result;
}
