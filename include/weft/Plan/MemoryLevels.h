// Where tensors are between the op that makes them and the op that reads them, and what crosses each level.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inside of a kernel: the tile of its result is propagated to every value that it needs (Welder's propagation; the
// coordinates are those of KernelAccess.h). What a GEMM reads is staged in shared memory, or, with CTAs of a
// cluster side by side, in that of the cluster; everything else is in registers, with a row's sums through shared
// memory where several warps have a part. Between kernels: what all kernels move from a tensor's making to its reading
// fits what the L2 keeps of it, or it comes from memory. Plain numbers, of symbols the estimates.
#ifndef WEFT_PLAN_MEMORYLEVELS_H
#define WEFT_PLAN_MEMORYLEVELS_H

#include "weft/Plan/Schedule.h"

namespace weft::plan {

enum class MemoryLevel : uint8_t { Register, Shared, Cluster, L2, Memory };

/// "register", "shared", "cluster", "L2" or "memory".
llvm::StringRef getLevelName(MemoryLevel level);

/// Of a tensor between two kernels, `moved` bytes (its own among them) after its making began.
MemoryLevel levelBetweenKernels(double moved, const Device &device);
/// What the whole GPU reads of a level in a second; of shared memory and the cluster's, all SMs together.
double bandwidthOf(MemoryLevel level, const Device &device);

/// A value of a kernel, as one tile of the result needs it.
struct ValueLevel {
  mlir::Value value;
  llvm::SmallVector<int64_t> tile; ///< Elements along each dimension.
  double bytes = 0;                ///< Of them.
  double moved = 0;                ///< Of an argument or a result: by all tiles, whole sectors.
  MemoryLevel level = MemoryLevel::Register;
  const char *reason = "";
  bool isEdge = true; ///< Between two ops of the kernel; otherwise an argument or a result.
};

struct KernelLevels {
  std::vector<ValueLevel> values;   ///< Each value once, results first, those inside of folds last.
  double tiles = 1;                 ///< CTAs' tiles of the result.
  double steps = 1;                 ///< Of a tile, along the stream.
  double read = 0, written = 0;     ///< Bytes between the L2 and all SMs, whole sectors of 32 bytes.
  double shared = 0, registers = 0; ///< Bytes that one tile holds there at a time, one step of each stream.
};

/// Of a kernel with this schedule. With `entersFolds` the values inside of its folds are there too, behind the others;
/// the sums leave them out.
KernelLevels analyseLevels(const KernelToSchedule &kernel, tg::ScheduleAttr schedule, bool entersFolds = false);

/// What reading a tile of a tensor costs in bytes, in whole transactions of `transaction` bytes: runs of contiguous
/// elements that are shorter waste the rest.
double coalescedBytes(llvm::ArrayRef<int64_t> tile, llvm::ArrayRef<int64_t> extents, double elementBytes,
                      double transaction = 32);

} // namespace weft::plan

#endif // WEFT_PLAN_MEMORYLEVELS_H
