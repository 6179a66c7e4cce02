// `tk.tile_part`, `tk.part_send`, `tk.part_receive` and `tk.part_sum`, apart from the other ops because few rooms know
// them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_PARTOPS_H
#define WEFT_DIALECT_TILEKERNEL_IR_PARTOPS_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"

namespace weft::tk {

/// `count` pieces of what a thread holds, dealt to `parts` CTAs, as even as whole pieces are: neighbours to each.
struct Pieces {
  int64_t count, parts;

  int64_t ownerOf(int64_t piece) const { return piece * parts / count; }
  /// The first piece of a CTA, or of the next one that has any.
  int64_t firstOf(int64_t part) const { return (part * count + parts - 1) / parts; }
};

} // namespace weft::tk

#define GET_OP_CLASSES
#include "weft/Dialect/TileKernel/IR/PartOps.h.inc"

#endif // WEFT_DIALECT_TILEKERNEL_IR_PARTOPS_H
