// What the planner decided about every edge that it could have fused, and the numbers behind it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A candidate edge leads from an op of a block that goes into kernels to one that reads its result, also through
// reshapes between kernels. Other pairs (an op
// and its post-dominator, contractions that share an operand) are candidates too if the planner tried them. Each is
// decided once, by the groups that were formed; why not, say the rules that refused the pair, in the order of the
// attempts, or else the rule that the union of the two groups breaks. Edges inside of folds are there too, fused by the
// derivation of the fold. Extents that are symbols count as
// `symbolEstimate` (KernelAccess.h) in bytes.
#ifndef WEFT_PLAN_DECISIONS_H
#define WEFT_PLAN_DECISIONS_H

#include "weft/Plan/Groups.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringRef.h"

namespace weft::plan {

struct EdgeDecision {
  mlir::Operation *producer = nullptr, *consumer = nullptr;
  bool isFused = false;
  bool isDirect = false;  ///< The consumer reads a result of the producer.
  bool isRenamed = false; ///< It does so through a reshape that lies between kernels.
  bool isInFold = false;  ///< Both are inside of one fold: the derivation put them together (FoldEdges.h).
  bool wasTried = false;  ///< The planner refused it by itself; otherwise the reason was asked for afterwards.
  std::string reason;     ///< The rule that refused it; empty for a fused edge.
  int64_t bytes = 0;      ///< Of the results that go along it.
  /// Traffic that fusing saves: the consumer's read, and the write where nothing else reads the results.
  int64_t savedBytes = 0;
  unsigned producerGroup = 0, consumerGroup = 0; ///< Numbers in `groups`.
};

/// Takes down what the planner refuses while it forms groups.
class DecisionLog {
public:
  void refuse(mlir::Operation *producer, mlir::Operation *consumer, llvm::StringRef rule);

  /// Every candidate edge of the block of `groups`, by the position of its consumer.
  std::vector<EdgeDecision> decide(mlir::Block &block, llvm::ArrayRef<Group> groups, const GroupOptions &options) const;

private:
  llvm::MapVector<std::pair<mlir::Operation *, mlir::Operation *>, std::string> refusals;
};

/// One remark of category `fusion` for each: `fused` (passed), or `not-fused` (missed) with the rule, with `producer`
/// and `consumer` (op names), `producer-node` and `consumer-node` (where known), `kernel` or `kernels` (numbers in the
/// order of groups), `inside=tg.fold` where both are in one, `bytes` and `saved-bytes`.
void emitRemarks(llvm::ArrayRef<EdgeDecision> decisions, llvm::StringRef function);

/// A remark `planner` (analysis) at the function: `planner` ("none" where nothing is fused, "given" for a plan of the
/// user's), `ops` and `groups`, and by the model of groups `us` and
/// `unfused-us`, with each op a kernel.
void emitPlannerRemark(mlir::Operation *func, llvm::ArrayRef<Group> groups, const GroupOptions &options);

/// A remark `kernel` (analysis) at the kernel's location, which its dispatch has too: its number in the remarks above.
void emitKernelRemark(mlir::Operation *kernel, unsigned number, size_t ops, llvm::StringRef function);

} // namespace weft::plan

#endif // WEFT_PLAN_DECISIONS_H
