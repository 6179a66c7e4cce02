// Trying rules at ops: build, price, keep or take back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_REWRITER_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_REWRITER_H

#include "Cost.h"
#include "weft/Dialect/TileGraph/Rewrite/Rules.h"

namespace weft::tg {

struct RewriteLimits {
  int64_t maxWeightBytes = int64_t(16) << 20;      ///< Of one tensor that folding makes.
  int64_t maxTotalWeightBytes = int64_t(64) << 20; ///< Of all of them in a run.
  int64_t maxFoldedPoints = int64_t(1) << 27;      ///< Of the domain of an op that is folded.
};

/// A rule tried at an op.
struct Attempt {
  const Rule *rule = nullptr;
  mlir::Operation *root = nullptr;
  Match match;
  Work before, after;
  double seconds = 0;      ///< Least gain over the prices; positive if it pays on all of them.
  std::string failed;      ///< The guard that failed, or empty.
  int64_t weightBytes = 0; ///< New weights that folding makes.
  size_t order = 0;        ///< Among attempts, in program order.

  bool pays() const { return failed.empty() && seconds > 0; }
};

/// "flops 96 -> 64, bytes 1152 -> 768 (384 -> 384 fused)".
std::string describe(const Work &before, const Work &after);

class Rewriter {
public:
  Rewriter(RuleLicence licence, llvm::ArrayRef<const Prices *> prices, RewriteLimits limits)
      : licence(licence), prices(prices), limits(limits) {}

  /// The best attempt over all matches of `rule` at `root`; none if the pattern does not match. Leaves the IR as it
  /// was.
  std::optional<Attempt> attempt(const Rule &rule, mlir::Operation *root);
  /// Does what an attempt that pays found; `root` and what only it used are erased. Returns false if it cannot after
  /// all.
  bool apply(const Attempt &attempt);

  int64_t getWeightBytes() const { return weightBytes; }
  /// Without prices every legal rewrite "pays": for tests.
  bool isPriced() const { return !prices.empty(); }

private:
  void price(Attempt &attempt, mlir::Value replacement, const OpSet &added);
  OpSet findFoldable(const OpSet &added, int64_t &bytes) const;

  RuleLicence licence;
  llvm::SmallVector<const Prices *> prices;
  RewriteLimits limits;
  int64_t weightBytes = 0;
};

struct GreedyResult {
  unsigned numApplied = 0;
  std::vector<Attempt> missed; ///< What matched in the last round and was left.
};
/// Rounds of all attempts in `block`, those with the largest reduction of FLOPs first, until a round changes nothing.
/// Without prices a single round.
GreedyResult rewriteGreedily(mlir::Block &block, llvm::ArrayRef<const Rule *> rules, Rewriter &rewriter,
                             llvm::function_ref<void(mlir::Location, const Attempt &)> applied);

/// Options of the passes as values. Problems are errors at `op`.
llvm::LogicalResult parseRuleOptions(mlir::Operation *op, llvm::StringRef licence, llvm::StringRef prices,
                                     llvm::ArrayRef<std::string> only, RuleLicence &ruleLicence,
                                     llvm::SmallVectorImpl<const Prices *> &lists,
                                     llvm::SmallVectorImpl<const Rule *> &rules);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_REWRITER_H
