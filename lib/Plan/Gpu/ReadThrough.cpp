// weft-read-through: a fold reads the parts of a concatenation that is stored for somebody else.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoding appends a row to a cache, and attends to the cache. Where the new cache is a result of the program, too, the
// kernel that stores it comes ahead of the fold, though the fold needs nothing that is not there already: the old
// cache, and a row. So the fold gets a concatenation of its own, with the little arithmetic that makes the row (a
// rotation). Rule G2 lets it in, and as the two kernels need each other no more they start as one
// (weft-tk-make-launches). The old cache is read twice, once from the L2 or at the same time; before, the new one was
// written and read.
#include "Stored.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/BlockOps.h"
#include "weft/Plan/Facts.h"
#include "weft/Plan/LevelPasses.h"
#include "weft/Target/ContextDevices.h"
#include "weft/Target/Device.h"
#include "llvm/ADT/SetVector.h"

namespace weft::plan {
#define GEN_PASS_DEF_READTHROUGH
#include "weft/Plan/LevelPasses.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

namespace {

/// A fold's result has at most this part of the elements that it streams, and a row of a cache of the cache's.
constexpr double fewRows = 16, smallPart = 16;
constexpr size_t mostOps = 16;

bool isView(Operation *op) { return isa_and_nonnull<tg::TransposeOp, tg::SliceOp, tg::ReshapeOp, tg::BroadcastOp>(op); }

/// One fold and what it streams.
class ReadThrough {
public:
  explicit ReadThrough(tg::FoldOp fold) : fold(fold) {}

  /// How many concatenations the fold has got for itself.
  unsigned run() {
    double largest = 0;
    SmallVector<Value> streamed = usedValues(fold);
    for (Value value : streamed)
      largest = std::max(largest, estimateElements(value));
    if (estimateElements(fold->getResult(0)) > largest / fewRows)
      return 0;
    unsigned count = 0;
    for (Value value : streamed)
      count += follow(value);
    return count;
  }

private:
  bool follow(Value value);
  bool collectPart(Value part, llvm::SetVector<Operation *> &ops) const;
  bool leadsToFold(Operation *user) const;

  tg::FoldOp fold;
};

/// Whether nobody reads the results of `user`, through views and scales, but the fold. Each op is visited once.
bool ReadThrough::leadsToFold(Operation *user) const {
  llvm::SetVector<Operation *> work;
  work.insert(user);
  for (size_t i = 0; i < work.size(); ++i) {
    Operation *op = work[i];
    if (op == fold || fold->isProperAncestor(op))
      continue;
    if (!isView(op) && !isa<tg::PointwiseOpInterface>(op))
      return false;
    work.insert(op->user_begin(), op->user_end());
  }
  return true;
}

/// The ops that make a small part of a concatenation from what larger kernels make; false where they are many.
bool ReadThrough::collectPart(Value part, llvm::SetVector<Operation *> &ops) const {
  SmallVector<Value> work{part};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    bool isCheap = isView(op) || isa_and_nonnull<tg::PointwiseOpInterface, tg::ConcatOp>(op);
    if (!isCheap || isEpilogue(op) || !ops.insert(op))
      continue;
    if (ops.size() > mostOps)
      return false;
    llvm::append_range(work, op->getOperands());
  }
  return true;
}

bool ReadThrough::follow(Value value) {
  Operation *op = value.getDefiningOp();
  while (isView(op) || (isa_and_nonnull<tg::PointwiseOpInterface>(op) && !isa<tg::ConcatOp>(op))) {
    auto whole = llvm::find_if(op->getOperands(),
                               [&](Value v) { return estimateElements(v) * fewRows > estimateElements(value); });
    op = whole == op->operand_end() ? nullptr : (*whole).getDefiningOp();
  }
  auto concat = dyn_cast_or_null<tg::ConcatOp>(op);
  if (!concat)
    return false;
  llvm::SetVector<Operation *> cloned;
  for (Value part : concat.getInputs())
    if (estimateElements(part) * smallPart <= estimateElements(concat) && !collectPart(part, cloned))
      return false;
  SmallVector<OpOperand *> own, others;
  for (OpOperand &use : concat->getUses())
    (leadsToFold(use.getOwner()) ? own : others).push_back(&use);
  bool isMadeForOthers = llvm::any_of(cloned, [&](Operation *each) {
    return llvm::any_of(each->getUsers(), [&](Operation *user) { return user != concat && !cloned.contains(user); });
  });
  if (own.empty() || (others.empty() && !isMadeForOthers))
    return false;
  OpBuilder builder(concat);
  IRMapping clones;
  SmallVector<Operation *> inOrder(cloned.begin(), cloned.end());
  llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *each : inOrder)
    builder.clone(*each, clones);
  Operation *copy = builder.clone(*concat, clones);
  for (OpOperand *use : own)
    use->set(copy->getResult(0));
  remark::passed(concat.getLoc(), remark::RemarkOpts::name("read-through").category("plan"))
      << remark::add("the fold reads {0} parts instead of what is made of them for others",
                     std::to_string(concat.getInputs().size()))
      << remark::metric("repeated-ops", int64_t(inOrder.size()));
  return true;
}

struct ReadThroughPass : weft::plan::impl::ReadThroughBase<ReadThroughPass> {
  using Base::Base;

  void runOnOperation() override {
    tg::LikelyExtents likely(getOperation());
    SmallVector<tg::FoldOp> folds;
    getOperation()->walk([&](tg::FoldOp fold) { folds.push_back(fold); });
    for (tg::FoldOp fold : folds)
      numConcats += ReadThrough(fold).run();
  }
};

} // namespace
