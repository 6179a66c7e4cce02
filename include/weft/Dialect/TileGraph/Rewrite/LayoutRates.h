// What programs of ranks are priced by, where they are split and where collectives run beside kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_REWRITE_LAYOUTRATES_H
#define WEFT_DIALECT_TILEGRAPH_REWRITE_LAYOUTRATES_H

#include "mlir/IR/Operation.h"
#include "weft/Target/Device.h"

namespace weft::tg {

/// Seconds and rates of a second, of one rank.
struct LayoutRates {
  double bytes, operations;            ///< Of memory; outside of products.
  double wideProducts, narrowProducts; ///< Of f32 and wider elements, and of others.
  double kernelSeconds;                ///< One launch more.
  double capacity;                     ///< Bytes that a rank's weights may have; 0: any.
  LinkRates links;

  /// Of a GPU, or of the CPU where it is null; `linkRate` in GB/s (0: the device's) and `linkLatency` in us (below 0:
  /// the device's) replace those of its links.
  static LayoutRates get(const Device *device, double linkRate = 0, double linkLatency = -1);

  /// Of a collective that sends and reads and writes so many bytes.
  double exchange(double sent, double touched) const { return links.seconds + sent / links.bytes + touched / bytes; }
};

/// Seconds of a `tg` collective; 0: it is none, or a copy of its own part.
double estimateCollective(mlir::Operation *op, const LayoutRates &rates);
/// Seconds of an op's arithmetic; 0: it has no domain.
double estimateArithmetic(mlir::Operation *op, const LayoutRates &rates);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_REWRITE_LAYOUTRATES_H
