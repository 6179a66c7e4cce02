// The time of kernels that memory bounds: XLA's model of reads, with the device table's rates.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is read of a tensor for the first time comes from DRAM; what is read again (by other tiles, under a broadcast,
// in transactions that are not used whole) comes from the L2 if the tensor fits it, from the L1s if it fits those, else
// from DRAM again. Arithmetic hides behind memory but for a twentieth. XLA's constants are 2.5 and 8 times DRAM's rate;
// ours are the L2's rate and 64 bytes a clock of an SM.
#ifndef WEFT_PLAN_READTIME_H
#define WEFT_PLAN_READTIME_H

#include "weft/Plan/MemoryLevels.h"

namespace weft::plan {

/// Of DRAM's quoted rate, reading and writing: 2,760 to 2,880 of an H100's 3,352 GB/s and a kernel's launch
/// (rmsnorm_8192x4096, residual_rmsnorm, softmax_16384x4096 of bench/gpu.py, H100, 2026-11-21).
constexpr double dramEfficiency = 0.875;

/// Seconds of reading `total` bytes, `net` of them different, by `ctas` CTAs: each has at most a transaction of 32
/// bytes a clock.
double readSeconds(double net, double total, double ctas, const Device &device);
/// Of writing.
double writeSeconds(double bytes, const Device &device);
/// Of `bytes` that are read or written at this level between kernels: the L2, or memory.
double moveSeconds(double bytes, MemoryLevel level, const Device &device);
/// Of both and of `arithmetic` seconds beside, in one kernel of a graph.
double kernelSeconds(double memory, double arithmetic, const Device &device);

/// Instructions of all elements: one each by the FMA and integer units, 4 by the special function unit, 16 by a
/// function. A term of a sum of products: a load, a conversion, an FMA.
double countInstructions(mlir::Operation &op);

struct MemoryTime {
  double first = 0, again = 0, written = 0; ///< Bytes.
  double arithmetic = 0;                    ///< Seconds.
  double seconds = 0;
};

/// Of a kernel without contractions and folds under this schedule.
MemoryTime estimateMemoryBound(const KernelToSchedule &kernel, tg::ScheduleAttr schedule, const Device &device);

} // namespace weft::plan

#endif // WEFT_PLAN_READTIME_H
