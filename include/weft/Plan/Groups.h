// Which ops may share a kernel, and which groups to form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Legality and enumeration only; Apply turns the groups into tg.kernel ops. The rules (cited by number in the code and
// in remarks):
//
//  R1  Values leave a group through one op, its sink; so no value is computed twice and each kernel has one iteration
//      space of outputs.
//
//  R2  A group has at most one contraction. With one, all other ops are elementwise, downstream of it, with its
//  result's
//      dimensions (an epilogue), so that they apply to the accumulator tile; or they compute an operand of it, for it
//      alone, from stored tensors of at most half the operand's bytes (CPU), so that its kernel unpacks what it reads.
//
//  R3  Reductions of a group run over the same axes of the same dimensions, and every other op has those dimensions,
//      with or without extents 1 in place of the reduced ones, or (after a reduction without keep_dims) with the
//      reduced ones gone: the group is a loop over rows, and a row's working set stays below a limit. A few
//      instructions an element may lack any of them: the cast of a norm's scale.
//
//  R4  In a group without reductions, values keep their dimensions along elementwise edges: a producer under a
//  stretching
//      broadcast would be computed again for every copy (an iota, extents and casts are free). Views (transpose, slice,
//      broadcast, pad) compose with elementwise ops; a gather may be read by elementwise ops, but nothing is fused into
//      its operands.
//
//  R5  A window belongs to the reduction that consumes it.
//
//  R6  Everything else (concat, scatter, scan, arg_reduce, top_k) is a kernel of its own.
//
//  R7  A group has at most 64 ops, also on a GPU: the time that a kernel takes to compile grows faster than its ops.
//  R8  The ops of a group are of one stage of the program (weft/Dialect/TileGraph/Analysis/Stages.h), also on a GPU.
//
// On a GPU Kernelize computes any value at any coordinates, so more is legal; what counts is that little is computed
// twice (costs in operations of an element, see GpuLegality.cpp):
//
//  G1  All results of a group have the dimensions of the largest one (DimClasses.h), or 1 in places, or are reductions
//      of parts of a product's result, each as large as a tile along one side (tg::findTileParts).
//
//  G2  A group has at most one fold, or contractions (up to 4) over the same dimensions with an operand in common, of
//      which none needs another's result. After it: elementwise ops over its result, seen through transpositions and
//      reshapes; of a vector, one wave of CTAs may compute it again for more elements. Before it: views and casts;
//      arithmetic, sums over windows and vectors that other contractions make (lib/Plan/Groups/InnerContractions.h)
//      where the model says that recomputing costs less than the bytes and the kernel it saves; of what a vector is
//      multiplied by, gathers of rows and what is computed of these. A pad that contractions alone read is theirs.
//
//  G3  Reductions run over the same axes of the same dimensions; every op after them has those of the rows, whole or
//      reduced, or reads them at other positions of the same row (lib/Plan/Groups/RowMoves.h). Before them: row-shaped
//      ops, sums over windows whose rows a CTA can hold, views, gathers, and cheap ops of any extents. Or they are sums
//      of few terms, each for many elements of a map of few waves, which each CTA of it computes again
//      (RowStatistics.h).
//
//  G4  What is read at several indices (under a broadcast, through views that move elements, as indices) is cheap.
//
//  G5  Scatter, scan, arg_reduce and top_k are kernels of their own. A group that ends in a widening cast leaves it to
//      the reader.
//
#ifndef WEFT_PLAN_GROUPS_H
#define WEFT_PLAN_GROUPS_H

#include "weft/Plan/BlockOps.h"
#include <functional>
#include <optional>
#include <string>

namespace weft {
struct Device;
} // namespace weft

namespace weft::plan {

constexpr size_t mostOpsOfGroup = 64; ///< R7.

class DimClasses;
class FusionConstraints;
class Records;

/// Who chooses among the groups that the rules allow. The rules are the same for all, so each plan can be run.
enum class Planner {
  Weft,      ///< From producers to consumers: post-dominators, then readers, then contractions that share an operand.
  DnnFusion, ///< Seeds and expansion by the combination table (DNNFusion, PLDI'21, listing 1).
  TvmRules,  ///< Kinds of operators and phases (TVM's FuseOps).
  Exact,     ///< Weft, then the cheapest plan of each region of up to 25 ops by search.
};
/// "weft", "dnnfusion", "tvm-rules" or "exact".
llvm::StringRef stringifyPlanner(Planner planner);
std::optional<Planner> parsePlanner(llvm::StringRef name);

struct GroupOptions {
  bool fuse = true;
  bool gpu = false; ///< Rules G instead of R; reshapes may be inside groups; groups may have several results.
  Planner planner = Planner::Weft;
  int64_t maxRowBytes = int64_t(1) << 20;
  const Device *device = nullptr; ///< Set with `gpu`: whose rates the rules weigh with.
  /// Measured times that override the rules' estimates; may be null.
  const Records *records = nullptr;
  bool isMeasured = false; ///< The group was measured as a kernel: rules that only estimate do not count.
  /// Which dimensions are one; set.
  const DimClasses *dims = nullptr;
  /// What the user asks for (Constraints.h): nothing where it is null. The demands are groups from the start.
  const FusionConstraints *constraints = nullptr;
};

/// The rule that forbids `group`, as a remark text, or an empty string if it is legal. Ops are in program order.
std::string findViolation(const Group &group, const GroupOptions &options);
/// The same by the rules G; `options.device` must be set.
std::string findGpuViolation(const Group &group, const GroupOptions &options);
/// Seconds that the contractions of `group` lose to what is computed in front of their operands: the price that rule
/// G2 compares with the bytes it saves.
double priceGpuPrologues(const Group &group, const GroupOptions &options);
/// Whether no legal group has both ops, whatever else is in it. False where that depends on other ops.
bool excludeEachOther(mlir::Operation *a, mlir::Operation *b, const GroupOptions &options);

/// Called for each edge that was tried and refused: producer, consumer, rule.
using RefusalSink = std::function<void(mlir::Operation *, mlir::Operation *, llvm::StringRef)>;

/// Groups of all ops of `block` that are not host ops, in program order of their sinks; ops of a group in program
/// order.
llvm::SmallVector<Group> formGroups(mlir::Block &block, const GroupOptions &options, const RefusalSink &refused);

} // namespace weft::plan

#endif // WEFT_PLAN_GROUPS_H
