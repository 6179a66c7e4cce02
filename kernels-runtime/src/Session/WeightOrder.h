//===- WeightOrder.h - Weights whose dimensions kernels read in another order ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef WEFT_SESSION_WEIGHTORDER_H
#define WEFT_SESSION_WEIGHTORDER_H

#include "weft/bundle_format.h"

namespace weft {

/// Writes the weight at `stored` to `seen`, of the same size, in the order of `record`, which was validated.
void reorderWeight(const bundle::WeightOrderRecord &record, const uint8_t *stored, uint8_t *seen);

} // namespace weft

#endif // WEFT_SESSION_WEIGHTORDER_H
