// Bounds of what ops may say, which their verifiers check and rewrites keep.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_LIMITS_H
#define WEFT_DIALECT_TILEGRAPH_IR_LIMITS_H

#include <cstdint>

namespace weft::tg {

/// Of offsets and of absolute values of strides, in elements: products of indices and strides stay inside int64.
inline constexpr int64_t placeLimit = int64_t(1) << 40;

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_LIMITS_H
