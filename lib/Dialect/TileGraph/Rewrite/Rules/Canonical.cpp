// Canonical rules in MLIR's greedy driver: its worklist is the way to a fixpoint, the rules say what is done.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Canonical.h"
#include "Cost.h"
#include "Rewriter.h"
#include "RuleBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace weft::tg {

/// What `rule` makes of `op`, which is of its root's kind, built before it; or null. `failed` is then the guard that
/// the first match failed by; empty if there is no match, where a pattern whose operands are not looked at (`...`)
/// found none of those it is about included.
static Value tryRule(const Rule &rule, Operation *op, OpBuilder &builder, std::string &failed) {
  Value replacement;
  forEachMatch(rule, op, [&](const Match &match) {
    RuleLicence licence;
    Guards guards(rule.name, licence);
    replacement = applyRule(rule, match, builder, guards, licence);
    if (failed.empty())
      failed = !guards.getFailed().empty() ? guards.getFailed().str() : getBefore(rule).takesAny ? "" : "shapes";
    return bool(replacement);
  });
  return replacement;
}

/// The ops between `before` (null: the block's begin) and `op`.
static OpSet opsBetween(Operation *before, Operation *op) {
  OpSet between;
  for (Operation *next = before ? before->getNextNode() : &op->getBlock()->front(); next != op;
       next = next->getNextNode())
    between.insert(next);
  return between;
}

namespace {

/// Replaces a match's root, and says so. What is built is out of the driver's sight until it is kept: a guard that
/// fails on the way takes it back.
class CanonicalPattern : public RewritePattern {
public:
  CanonicalPattern(const Rule &rule, StringRef root, MLIRContext *context)
      : RewritePattern(root, /*benefit=*/1, context), rule(rule) {}
  CanonicalPattern(const Rule &rule, TypeID interface, MLIRContext *context)
      : RewritePattern(MatchInterfaceOpTypeTag(), interface, /*benefit=*/1, context), rule(rule) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!mayMatch(rule, op))
      return failure();
    OpBuilder builder(op->getContext());
    Operation *before = op->getPrevNode();
    std::string failed;
    Value replacement = tryRule(rule, op, builder, failed);
    if (!replacement)
      return failure();
    OpSet root, added = opsBetween(before, op);
    root.insert(op);
    if (auto *listener = dyn_cast_or_null<RewriterBase::Listener>(rewriter.getListener()))
      for (Operation *each : added)
        listener->notifyOperationInserted(each, {});
    if (op->getContext()->getRemarkEngine())
      remark::passed(op->getLoc(), remark::RemarkOpts::name("rewrite").category("rewrite"))
          << remark::add("{0}", rule.name + ": " + describe(countWork(root), countWork(added)));
    SmallVector<Value> operands(op->getOperands());
    rewriter.replaceOp(op, replacement);
    eraseUnread(operands, rewriter);
    return success();
  }

private:
  /// What made the root's operands and is read no more, at once: rules ask who else reads a value.
  static void eraseUnread(SmallVector<Value> values, PatternRewriter &rewriter) {
    while (!values.empty()) {
      Operation *maker = values.pop_back_val().getDefiningOp();
      if (!maker || !isOpTriviallyDead(maker))
        continue;
      for (Value operand : maker->getOperands())
        if (!llvm::is_contained(values, operand))
          values.push_back(operand);
      values.erase(llvm::remove_if(values, [&](Value value) { return value.getDefiningOp() == maker; }), values.end());
      rewriter.eraseOp(maker);
    }
  }

  const Rule &rule;
};

} // namespace

void populateCanonicalRules(RewritePatternSet &patterns, ArrayRef<StringRef> families) {
  MLIRContext *context = patterns.getContext();
  for (const Rule &rule : getRules()) {
    if (!rule.isCanonical || !llvm::is_contained(families, rule.family))
      continue;
    StringRef root = getBefore(rule).name;
    std::unique_ptr<RewritePattern> pattern;
    if (root == "elementwise")
      pattern = std::make_unique<CanonicalPattern>(rule, PointwiseOpInterface::getInterfaceID(), context);
    else
      pattern = std::make_unique<CanonicalPattern>(
          rule, ("tg." + root.take_until([](char c) { return c == '.'; })).str(), context);
    patterns.add(std::move(pattern));
  }
}

void emitMissedRules(Operation *root, ArrayRef<StringRef> families) {
  if (!root->getContext()->getRemarkEngine())
    return;
  SmallVector<const Rule *> rules;
  for (const Rule &rule : getRules())
    if (rule.isCanonical && llvm::is_contained(families, rule.family))
      rules.push_back(&rule);
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) { ops.push_back(op); });
  OpBuilder builder(root->getContext());
  for (Operation *op : ops)
    for (const Rule *rule : rules) {
      if (!mayMatch(*rule, op))
        continue;
      std::string failed;
      Operation *before = op->getPrevNode();
      if (tryRule(*rule, op, builder, failed)) {
        failed = "the driver's fixpoint, got its bound of rounds";
        for (Operation *added : llvm::to_vector(llvm::reverse(opsBetween(before, op).getArrayRef())))
          added->erase();
      }
      if (!failed.empty())
        remark::missed(op->getLoc(), remark::RemarkOpts::name("no-rewrite").category("rewrite"))
            << remark::add("{0}", rule->name + ": expected " + failed);
    }
}

} // namespace weft::tg
