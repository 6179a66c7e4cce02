// Greedy application of rules, and what the passes' options mean.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Rewriter.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace weft::tg {

/// More than any model needs: every rewrite gains, so that rounds end by themselves.
static constexpr unsigned maxRounds = 64;

static std::vector<Attempt> tryAll(Block &block, ArrayRef<const Rule *> rules, Rewriter &rewriter) {
  std::vector<Attempt> attempts;
  for (Operation &op : llvm::make_early_inc_range(block))
    for (const Rule *rule : rules)
      if (mayMatch(*rule, &op))
        if (std::optional<Attempt> attempt = rewriter.attempt(*rule, &op)) {
          attempt->order = attempts.size();
          attempts.push_back(std::move(*attempt));
        }
  llvm::sort(attempts, [](const Attempt &a, const Attempt &b) {
    double flops = (a.before.flops - a.after.flops) - (b.before.flops - b.after.flops);
    return std::make_tuple(-flops, b.seconds, a.order) < std::make_tuple(0.0, a.seconds, b.order);
  });
  return attempts;
}

/// Applies each of `attempts` that still pays: those around an earlier one have changed. Returns how many.
static unsigned applyAll(Block &block, ArrayRef<Attempt> attempts, Rewriter &rewriter,
                         llvm::function_ref<void(Location, const Attempt &)> applied) {
  unsigned count = 0;
  for (const Attempt &attempt : attempts) {
    if (!attempt.pays() || llvm::none_of(block, [&](Operation &op) { return &op == attempt.root; }) ||
        !mayMatch(*attempt.rule, attempt.root))
      continue;
    std::optional<Attempt> now = rewriter.attempt(*attempt.rule, attempt.root);
    if (!now || !now->pays())
      continue;
    Location loc = now->root->getLoc();
    if (!rewriter.apply(*now))
      continue;
    applied(loc, *now);
    ++count;
  }
  return count;
}

GreedyResult rewriteGreedily(Block &block, ArrayRef<const Rule *> rules, Rewriter &rewriter,
                             llvm::function_ref<void(Location, const Attempt &)> applied) {
  GreedyResult result;
  for (unsigned round = 0; round < (rewriter.isPriced() ? maxRounds : 1); ++round) {
    result.missed = tryAll(block, rules, rewriter);
    unsigned count = applyAll(block, result.missed, rewriter, applied);
    result.numApplied += count;
    if (count == 0)
      return result;
    result.missed.clear(); // Their ops may be gone.
  }
  return result;
}

LogicalResult parseRuleOptions(Operation *op, llvm::StringRef licence, llvm::StringRef prices,
                               ArrayRef<std::string> only, RuleLicence &ruleLicence,
                               SmallVectorImpl<const Prices *> &lists, SmallVectorImpl<const Rule *> &rules) {
  auto contract = llvm::StringSwitch<std::optional<Contract>>(licence)
                      .Case("exact", Contract::Exact)
                      .Case("reassociating", Contract::Reassociating)
                      .Case("approximating", Contract::Approximating)
                      .Default(std::nullopt);
  if (!contract)
    return op->emitError("licence: expected exact, reassociating or approximating, got `") << licence << "`";
  ruleLicence.allowed = *contract;
  SmallVector<llvm::StringRef> names;
  prices.split(names, ',');
  for (llvm::StringRef name : names) {
    if (name == "none")
      continue;
    lists.push_back(findPrices(name));
    if (!lists.back())
      return op->emitError("prices: expected cpu, gpu, dnnfusion or none, got `") << name << "`";
  }
  for (const Rule &rule : getRules())
    if (only.empty() ? !rule.isCanonical : llvm::is_contained(only, rule.name))
      rules.push_back(&rule);
  for (const std::string &name : only)
    if (llvm::none_of(rules, [&](const Rule *rule) { return rule->name == name; }))
      return op->emitError("rules: no rule `") << name << "`";
  return success();
}

} // namespace weft::tg
