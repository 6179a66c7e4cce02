// What the numbers of a launch's tasks mean.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_LAUNCHES_H
#define WEFT_DIALECT_TILEKERNEL_IR_LAUNCHES_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"

namespace weft::tk {

/// The policy of a reader whose block b reads elements `step` b + `first` to `step` b + `last` of a tensor of which
/// each counter stands for `written`.
SignalPolicy namePolicy(int64_t step, int64_t first, int64_t last, int64_t written);

/// Counters of a writer, both inside.
struct CounterRange {
  int64_t first = 0, last = 0;
};
/// For which of a writer's `counters` block `block` of a reader waits.
CounterRange findCounters(AwaitAttr await, int64_t block, int64_t counters);

} // namespace weft::tk

#endif // WEFT_DIALECT_TILEKERNEL_IR_LAUNCHES_H
