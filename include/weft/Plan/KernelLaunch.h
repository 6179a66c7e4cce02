// A kernel with its tiles as a launch of the cost models: which boxes of which tensors a CTA reads and writes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every tensor that the kernel reads or writes is followed by its access maps: along each of its axes a tile covers so
// many elements, and moves by so many from tile to tile and from step to step. What does not move is read again, what
// moves by less than it covers overlaps (windows), what depends on data is read once. Tensors are laid out anew, tile
// by tile: bytes and reuse are those of the kernel, addresses are not.
#ifndef WEFT_PLAN_KERNELLAUNCH_H
#define WEFT_PLAN_KERNELLAUNCH_H

#include "weft/Plan/Cost/Configuration.h"
#include "weft/Plan/Schedule.h"
#include "weft/Target/PlanAttributes.h"

namespace weft::plan {

struct KernelLaunch {
  std::vector<int64_t> counts;         ///< Tiles along each dimension of the result, outermost first.
  std::vector<int64_t> countsOfLaunch; ///< The same, those of symbols `countOfLaunch`.
  LaunchModel launch;                  ///< One stage; its grid is that of `colDims` (GridOrder.h).
  int64_t colDims = 1;
  int64_t elementBytes = 2;              ///< Of the operands of what multiplies, else of the widest tensor.
  double bytes = 0;                      ///< Of all tensors in it, once.
  std::optional<ProductExtents> product; ///< Where the kernel is one product without windows.
};

/// What a launch is described for.
struct LaunchRequest {
  int64_t colDims = 1;
  /// Steps along the longest reduced dimension only; the others (taps of a window) are in a step whole.
  bool mergesTaps = false;
  /// Boxes are laid out in at most so many rows (a power of two) of at least so many bytes: one of several is
  /// simulated.
  int64_t mostRows = 64, rowBytes = 128;
  bool isLikely = false; ///< Extents of the grid that are symbols are what they are likely to be.
};

/// None for kernels of symbolic grids (unless likely ones are asked for) or without tiles (results that are packed).
/// `tile` and `stream` as in a schedule.
std::optional<KernelLaunch> describeLaunch(const KernelToSchedule &kernel, const ScheduleChoice &choice,
                                           const LaunchRequest &request);

/// The kernel's contractions with affine operands, fused, for the lower bounds on traffic (weft/Plan/Cost/Bounds.h);
/// none without such a contraction, or where a mask other than a causal one says which steps of a fold are needed.
std::optional<AffineGroup> describeGroup(const KernelToSchedule &kernel);

/// Which elements of the kernel's result make a fold take more steps: a causal mask.
struct GrowingFold {
  unsigned dim = 0; ///< Of the result: query d sees the keys up to d + base.
  int64_t base = 0;
};
std::optional<GrowingFold> findGrowingFold(tg::FoldOp fold, const KernelAccess &access);

/// The most sectors that the choice of one launch's order looks up in all its simulations: what 20 ms allow.
constexpr int64_t mostOrderLookups = int64_t(1) << 20;
/// Sets `choice.order` of any kernel by the simulation of its launch, and adds the numbers to its reason where another
/// order than rows gains more than the model errs. `choice.ctasPerSm` is known. Returns the lookups.
int64_t chooseOrderOfLaunch(const KernelToSchedule &kernel, const Device &device, ScheduleChoice &choice);

/// The launch as `weft explain` and the explorer take it: JSON of a configuration. None as above.
std::optional<llvm::json::Object> writeKernelLaunch(const KernelToSchedule &kernel, const ScheduleChoice &choice,
                                                    const Device &device, llvm::StringRef name);

} // namespace weft::plan

#endif // WEFT_PLAN_KERNELLAUNCH_H
