// How the threads of a CTA share out a copy by cp.async.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SCHEDULE_COPYLAYOUT_H
#define WEFT_SCHEDULE_COPYLAYOUT_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include <optional>

namespace weft::schedule {

struct CopyLayout {
  layout::LinearLayout registers; ///< (register, lane, warp) -> tile; each `elements` registers are one vector.
  int64_t elements;               ///< 4, 8 or 16 bytes.
};
/// Vectors along the dimension that is contiguous in global and in shared memory, neighbouring lanes side by side along
/// it in lines of 128 bytes. Nothing if no vector of at least 4 bytes is contiguous in both; the target has a layout.
std::optional<CopyLayout> getCopyLayout(tk::CopyOp copy, int64_t warps);

} // namespace weft::schedule

#endif // WEFT_SCHEDULE_COPYLAYOUT_H
