// One rule at one op: the replacement is built in place, priced against what would die, and taken back or kept.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Rewriter.h"
#include "ConstantValues.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Reference/Reference.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace weft::tg {

std::string describe(const Work &before, const Work &after) {
  return llvm::formatv("flops {0:f0} -> {1:f0}, bytes {2:f0} -> {3:f0} ({4:f0} -> {5:f0} fused)", before.flops,
                       after.flops, before.unfusedBytes, after.unfusedBytes, before.fusedBytes, after.fusedBytes);
}

/// Ops that were added behind `before` (null: the block's begin) and before `root`.
static OpSet findAdded(Operation *before, Operation *root) {
  OpSet added;
  for (Operation *op = before ? before->getNextNode() : &root->getBlock()->front(); op != root; op = op->getNextNode())
    added.insert(op);
  return added;
}

/// `root` and what nothing uses once `root` is replaced. Pure ops only.
static OpSet findDying(Operation *root, Value replacement) {
  OpSet dying;
  dying.insert(root);
  for (size_t i = 0; i < dying.size(); ++i)
    for (Value operand : dying[i]->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (op && op->getBlock() == root->getBlock() && op != replacement.getDefiningOp() && isPure(op) &&
          llvm::all_of(op->getUsers(), [&](Operation *user) { return dying.contains(user); }))
        dying.insert(op);
    }
  return dying;
}

/// Whether folding can read `value`: a constant, or a weight whose bytes are in the store.
static bool hasContents(Value value) {
  auto weight = value.getDefiningOp<WeightOp>();
  if (!weight)
    return isConstantOrWeight(value);
  auto *dialect = weight->getContext()->getLoadedDialect<TileGraphDialect>();
  DataAttr data = weight.getData();
  return dialect->getWeightStore().lookup(data.getSource(), data.getOffset(), data.getSize()).has_value();
}

OpSet Rewriter::findFoldable(const OpSet &added, int64_t &bytes) const {
  OpSet foldable;
  for (Operation *op : added) {
    auto tile = dyn_cast<TileOpInterface>(op);
    std::optional<int64_t> size = getByteSize(op->getResult(0).getType());
    if (!tile || !size || *size > limits.maxWeightBytes || !llvm::all_of(op->getOperands(), [&](Value operand) {
          Operation *producer = operand.getDefiningOp();
          return hasContents(operand) || (producer && foldable.contains(producer));
        }))
      continue;
    std::optional<int64_t> points = 1;
    for (AffineExpr extent : tile.getDomainExtents())
      points = getConstant(extent) && points && !llvm::MulOverflow(*points, *getConstant(extent), *points)
                   ? points
                   : std::nullopt;
    if (!points || *points > limits.maxFoldedPoints)
      continue;
    foldable.insert(op);
  }
  for (Operation *op : foldable) // Only what is left for run time is stored.
    if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !foldable.contains(user); }))
      bytes += *getByteSize(op->getResult(0).getType());
  if (weightBytes + bytes > limits.maxTotalWeightBytes) {
    bytes = 0;
    return {};
  }
  return foldable;
}

/// The ops that compute constants, whether folding may evaluate them or not.
static OpSet findConstant(const OpSet &added) {
  OpSet constant;
  for (Operation *op : added)
    if (op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), [&](Value operand) {
          Operation *producer = operand.getDefiningOp();
          return isConstantOrWeight(operand) || (producer && constant.contains(producer));
        }))
      constant.insert(op);
  return constant;
}

/// Whether `rule` multiplies constants of this match, so that it is nothing unless they fold.
static bool needsFolding(const Rule &rule, const Match &match) {
  bool needs = false;
  for (llvm::StringRef guard : rule.guards)
    if (guard.consume_front("constant(")) {
      needs = true;
      if (!isConstantOrWeight(match[guard.drop_back()]))
        return false; // Its guard is switched off.
    }
  return needs;
}

/// The part of the work of matched ops that stay which this rewrite may claim: a scale that several contractions read
/// dies with the last of them, so each claims its share. Only where all users are of the root's kind.
static Work countShares(const Match &match, const OpSet &dying) {
  Work shares;
  for (Operation *op : ArrayRef(match.ops).drop_front()) {
    if (dying.contains(op) ||
        llvm::any_of(op->getUsers(), [&](Operation *user) { return user->getName() != match.root->getName(); }))
      continue;
    OpSet one;
    one.insert(op);
    Work work = countWork(one);
    double users = double(std::distance(op->getUsers().begin(), op->getUsers().end()));
    shares.flops += work.flops / users;
    shares.scalars += work.scalars / users;
    shares.fusedBytes += work.fusedBytes; // Each user reads through it.
  }
  return shares;
}

void Rewriter::price(Attempt &attempt, Value replacement, const OpSet &added) {
  OpSet folded = findFoldable(added, attempt.weightBytes);
  if (folded.size() != findConstant(added).size() && needsFolding(*attempt.rule, attempt.match))
    attempt.failed = "weight-bytes"; // Unreadable, or beyond the limits on new weights.
  OpSet dying = findDying(attempt.root, replacement);
  attempt.before = countWork(dying);
  if (needsFolding(*attempt.rule, attempt.match)) {
    Work shares = countShares(attempt.match, dying);
    attempt.before.flops += shares.flops;
    attempt.before.scalars += shares.scalars;
    attempt.before.fusedBytes += shares.fusedBytes;
  }
  attempt.after = countWork(added, folded);
  attempt.seconds = std::numeric_limits<double>::infinity();
  for (const Prices *row : prices)
    attempt.seconds = std::min(attempt.seconds, getSeconds(attempt.before, *row) - getSeconds(attempt.after, *row));
}

std::optional<Attempt> Rewriter::attempt(const Rule &rule, Operation *root) {
  std::optional<Attempt> best;
  OpBuilder builder(root->getContext());
  Operation *before = root->getPrevNode();
  forEachMatch(rule, root, [&](const Match &match) {
    Guards guards(rule.name, licence);
    Attempt found;
    found.rule = &rule;
    found.root = root;
    found.match = match;
    if (Value replacement = applyRule(rule, match, builder, guards, licence)) {
      OpSet added = findAdded(before, root);
      price(found, replacement, added);
      for (Operation *op : llvm::reverse(added))
        op->erase();
    } else {
      found.failed = guards.getFailed().empty() ? "shapes" : guards.getFailed().str();
    }
    bool isBetter = !best || (found.failed.empty() && (!best->failed.empty() || found.seconds > best->seconds));
    if (isBetter)
      best = std::move(found);
    return false;
  });
  return best;
}

/// Evaluates `op`, whose operands are constants, in place. Leaves it to run time if that fails.
static void fold(OpBuilder &builder, Operation *op) {
  reference::Limits limits = reference::foldLimits();
  limits.maxWork = int64_t(1) << 30;
  auto elements = dyn_cast_or_null<DenseElementsAttr>(reference::foldToConstant(op->getResult(0), limits));
  if (!elements || elements.getType() != op->getResult(0).getType())
    return;
  builder.setInsertionPoint(op);
  op->getResult(0).replaceAllUsesWith(
      buildConstant(builder, op->getLoc(), elements, /*maxConstantBytes=*/int64_t(64) << 10));
}

bool Rewriter::apply(const Attempt &attempt) {
  Operation *root = attempt.root, *before = root->getPrevNode();
  OpBuilder builder(root->getContext());
  Guards guards(attempt.rule->name, licence);
  Value replacement = applyRule(*attempt.rule, attempt.match, builder, guards, licence);
  if (!replacement)
    return false;
  OpSet added = findAdded(before, root);
  OpSet dying = findDying(root, replacement);
  int64_t bytes = 0;
  OpSet folded = findFoldable(added, bytes);
  weightBytes += bytes;
  root->getResult(0).replaceAllUsesWith(replacement);
  for (Operation *op : dying) // A user comes before what it uses.
    op->dropAllReferences();
  for (Operation *op : dying)
    op->erase();
  for (Operation *op : folded)
    fold(builder, op);
  for (Operation *op : llvm::reverse(folded))
    if (op->use_empty())
      op->erase();
  return true;
}

} // namespace weft::tg
