// The planners of weft/Plan/Groups.h behind one interface: each merges groups of a partition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_GROUPS_PLANNERS_H
#define WEFT_LIB_PLAN_GROUPS_PLANNERS_H

#include "Partition.h"

namespace weft::plan {

/// What a planner works on: all ops of a block that go into kernels, on a GPU with the renamings among them, and their
/// groups, which are those that the user demands at first.
struct Planning {
  llvm::ArrayRef<mlir::Operation *> ops;
  Partition &partition;
  const GroupOptions &options;
  const RefusalSink &refused;

  /// Merges the groups of `ops`, or reports that `producer` and `consumer` may not share one.
  bool merge(llvm::ArrayRef<mlir::Operation *> ops, mlir::Operation *producer, mlir::Operation *consumer) const;
  /// Merges two groups if nothing must run between them; else reports.
  bool mergePair(mlir::Operation *producer, mlir::Operation *consumer) const;
};

/// Merges what is one operator to other compilers: padding with the convolution or window that alone reads it, windows
/// with their reduction.
void joinOperators(const Planning &planning);

void planByPostDominators(const Planning &planning);
void planBySeeds(const Planning &planning);
void planByKinds(const Planning &planning);
/// Improves the groups of `planning`; of those in `demanded` no op is taken.
void planExactly(const Planning &planning, llvm::ArrayRef<Group> demanded);

/// A group without the renamings at its edges: what only renames what comes in, or the one result. Empty if nothing is
/// left.
Group trimRenamings(Group group);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GROUPS_PLANNERS_H
