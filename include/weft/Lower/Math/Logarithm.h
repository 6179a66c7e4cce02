// What logarithms of f32 and f64 have in common: special values, and ln(1 + x).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LOWER_MATH_LOGARITHM_H
#define WEFT_LOWER_MATH_LOGARITHM_H

#include "weft/Lower/Math/Emitter.h"

namespace weft::lower {

/// Makes ln u + c for positive finite u; c is null, or small beside u.
using MakeLogarithm = llvm::function_ref<mlir::Value(mlir::Value u, mlir::Value c)>;

/// ln x, with what C says of numbers that are not positive and finite.
mlir::Value logBy(const Emitter &e, mlir::Value x, MakeLogarithm logarithm);

/// ln(1 + x). A sum of at least `exact` needs no correction; where |x| is below `tiny`, ln(1 + x) is x.
mlir::Value log1pBy(const Emitter &e, mlir::Value x, double exact, double tiny, MakeLogarithm logarithm);

} // namespace weft::lower

#endif // WEFT_LOWER_MATH_LOGARITHM_H
