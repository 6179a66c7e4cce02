//===- WeightOrder.h - Weights whose dimensions kernels read in another order ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef WEFT_SESSION_WEIGHTORDER_H
#define WEFT_SESSION_WEIGHTORDER_H

#include "../Memory/AlignedMemory.h"
#include "weft/Bundle/Error.h"
#include "weft/bundle_format.h"

namespace weft {

/// Makes `seen` the weight of `bytes` bytes at `stored` in the order of `record`, which was validated. Resource: there
/// is no memory for it.
bundle::Error reorderWeight(const bundle::WeightOrderRecord &record, const void *stored, uint64_t bytes,
                            AlignedMemory &seen);

} // namespace weft

#endif // WEFT_SESSION_WEIGHTORDER_H
