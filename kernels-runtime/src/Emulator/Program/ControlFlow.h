// Basic blocks and their priorities.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The control flow graph of a bound function, by its steps' flags. A block's priority is its position in a weak
// topological order (LoopOrder.h): of several splits of a warp, the one whose block has the least priority runs, so
// that splits meet again early.
#ifndef WEFT_EMULATOR_PROGRAM_CONTROLFLOW_H
#define WEFT_EMULATOR_PROGRAM_CONTROLFLOW_H

#include "Emulator/Exec/Binder.h"
#include "Emulator/Program/LoopOrder.h"

namespace weft::emu {

/// Steps first to first + count - 1 of a BoundCode; none only in an empty function.
struct Block {
  uint32_t first = 0;
  uint32_t count = 0;
  uint32_t priority = 0;
  bool isReachable = false;
  bool goesOn = false; ///< Control may pass from its last step to the step behind.
  bool fallsOff =
      false; ///< Control may leave the end of the body from it: by `goesOn`, or by a label that stands there.
};

struct ControlFlow {
  std::vector<Block> blocks;    ///< In the order of the text.
  std::vector<uint32_t> starts; ///< By step, and one past the last: the block that begins there; ptx::kNone inside one.
  Graph graph;                  ///< Over blocks; the one behind first.
  std::vector<uint32_t> order;  ///< Blocks by priority; unreachable ones last.
  /// By position in `order`: first position of the outermost loop around the block, and one past its last position; the
  /// block's own when it is in no loop.
  std::vector<uint32_t> loopBegin, loopEnd;
};

/// `labels`: by index of a label, the step it stands before (steps.size() at the end of the body).
ControlFlow buildControlFlow(const BoundCode &code, const std::vector<uint32_t> &labels);

} // namespace weft::emu

#endif // WEFT_EMULATOR_PROGRAM_CONTROLFLOW_H
