// Weights whose dimensions kernels read in another order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_MEMORY_WEIGHTORDER_H
#define WEFT_MEMORY_WEIGHTORDER_H

#include "AlignedMemory.h"
#include "weft/Bundle/Error.h"
#include "weft/bundle_format.h"

namespace weft {

/// A weight as it is stored, and how kernels of one rank see it.
struct WeightView {
  const void *stored;
  uint64_t storedBytes;
  const bundle::WeightPartRecord *part = nullptr; ///< Null: all of it.
  uint32_t rank = 0;
  const bundle::WeightOrderRecord *order = nullptr; ///< Of what the rank sees; null: as stored.

  /// Of what is seen.
  uint64_t getBytes() const { return part ? storedBytes / part->parts : storedBytes; }
  /// Where it is stored in one piece, in whatever order; null: in rows.
  const uint8_t *findPiece() const;
  /// The same where it is stored as it is seen and kernels may read it.
  const uint8_t *findInPlace() const;
};

/// Makes `memory` what is in rows, in the order in which it is stored.
bundle::Error gatherPart(const WeightView &view, AlignedMemory &memory);

/// Makes `seen` what kernels see. Resource: there is no memory for it.
bundle::Error makeSeenWeight(const WeightView &view, AlignedMemory &seen);

/// Makes `seen` the weight of `bytes` bytes at `stored` in the order of `record`, which was validated. Resource: there
/// is no memory for it.
bundle::Error reorderWeight(const bundle::WeightOrderRecord &record, const void *stored, uint64_t bytes,
                            AlignedMemory &seen);

} // namespace weft

#endif // WEFT_MEMORY_WEIGHTORDER_H
