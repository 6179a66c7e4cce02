// Results against expectations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element passes if |got - want| <= atol + rtol * |want|, or if it lies within the given ULPs; NaN equals NaN,
// infinities must be equal; integers and booleans must be equal unless a tolerance is given.
#ifndef WEFT_RUN_COMPARE_H
#define WEFT_RUN_COMPARE_H

#include "Tensor.h"

#include <optional>

namespace weft::run {

/// Tolerances of the command line; unset ones depend on the element type.
struct Tolerance {
  std::optional<double> rtol, atol, ulp;
};

struct Comparison {
  std::string failure; ///< Empty if the tensors agree.
  int64_t mismatches = 0;
  double maxAbs = 0, maxRel = 0, maxUlp = 0; ///< Over elements where both are finite.
  double relativeL2 = 0;                     ///< |got - want| / |want| in the Euclidean norm.
  double rtol = 0, atol = 0;                 ///< Applied.
};

/// Defaults by type: f64 1e-7/1e-9, f32 1e-4/1e-5, f16 1e-3/1e-3, bf16 1e-2/1e-2, narrower floats 0.1/0.1, others 0/0
/// (rtol/atol).
Comparison compare(const Tensor &got, const Tensor &want, const Tolerance &tolerance);

} // namespace weft::run

#endif // WEFT_RUN_COMPARE_H
