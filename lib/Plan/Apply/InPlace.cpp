// What InPlace.h says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "InPlace.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/Program.h"

using namespace mlir;

namespace weft::plan {

/// The scatter that makes `value` in the memory of `argument`; null if something else reads that, which may run later.
static tg::ScatterOp findUpdate(Value value, BlockArgument argument) {
  auto scatter = value.getDefiningOp<tg::ScatterOp>();
  bool isUpdate = scatter && scatter.getData() == argument && argument.hasOneUse() && !scatter.getKind() &&
                  tg::getElementBits(scatter.getType().getElementType()) >= 8;
  return isUpdate ? scatter : tg::ScatterOp();
}

void markInPlace(func::FuncOp main) {
  for (auto [i, value] : llvm::enumerate(main.front().getTerminator()->getOperands())) {
    auto alias = main.getResultAttrOfType<IntegerAttr>(i, tg::aliasAttr);
    if (!alias || alias.getInt() < 0 || alias.getInt() >= main.getNumArguments())
      continue;
    BlockArgument argument = main.getArgument(unsigned(alias.getInt()));
    if (tg::ScatterOp update = findUpdate(value, argument)) {
      update->setAttr(tg::inPlaceAttr, UnitAttr::get(main.getContext()));
      continue;
    }
    main.removeResultAttr(i, StringAttr::get(main.getContext(), tg::aliasAttr));
    remark::missed(value.getLoc(), remark::RemarkOpts::name("in-place").category("plan"))
        << remark::add("result {0} is not made in the memory of argument {1}: expected an update of it that nothing "
                       "else reads",
                       std::to_string(i), std::to_string(alias.getInt()));
  }
}

/// `op` and the views of its results that stand above `place`, if they may stand behind it: nothing above it reads
/// them.
static bool collectMovable(Operation *op, Operation *place, SmallVectorImpl<Operation *> &moved) {
  moved.push_back(op);
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
    if (here && place->isBeforeInBlock(here))
      return true;
    return here && here != place && isa<tg::ReshapeOp>(here) && collectMovable(here, place, moved);
  });
}

/// The kernel whose result, maybe as a view of another shape, is the updates alone. The CPU's kernels have one result
/// in memory of its own.
static tg::KernelOp findMaker(tg::ScatterOp scatter, Value &result) {
  result = scatter.getUpdates();
  while (auto view = result.getDefiningOp<tg::ReshapeOp>()) {
    if (!result.hasOneUse())
      return {};
    result = view.getInput();
  }
  auto kernel = result.getDefiningOp<tg::KernelOp>();
  return kernel && kernel.getDomain() && result.hasOneUse() ? kernel : tg::KernelOp();
}

static tg::KernelOp makeCopy(tg::ScatterOp scatter) {
  OpBuilder builder(scatter);
  Value updates = scatter.getUpdates();
  auto kernel =
      tg::KernelOp::create(builder, scatter.getLoc(), TypeRange(updates.getType()), builder.getStringAttr("write"));
  builder.createBlock(&kernel.getBody());
  tg::YieldOp::create(builder, scatter.getLoc(), updates);
  scatter.getUpdatesMutable().assign(kernel.getResult(0));
  return kernel;
}

llvm::MapVector<Operation *, Write> findWrites(func::FuncOp function) {
  llvm::MapVector<Operation *, Write> writes;
  SmallVector<tg::ScatterOp> scatters;
  for (auto scatter : function.getOps<tg::ScatterOp>())
    if (scatter->hasAttr(tg::inPlaceAttr))
      scatters.push_back(scatter);
  for (tg::ScatterOp scatter : scatters) {
    Value result;
    tg::KernelOp kernel = findMaker(scatter, result);
    Operation *last = kernel;
    for (Value needed : {scatter.getData(), scatter.getIndices()})
      if (Operation *maker = needed.getDefiningOp(); maker && last && last->isBeforeInBlock(maker))
        last = maker;
    SmallVector<Operation *> moved;
    if (kernel && !writes.contains(kernel) && (last == kernel || collectMovable(kernel, last, moved))) {
      for (Operation *op : llvm::reverse(moved))
        op->moveAfter(last);
    } else {
      kernel = makeCopy(scatter);
      result = kernel.getResult(0);
    }
    writes[kernel] = {cast<OpResult>(result).getResultNumber(), scatter};
  }
  return writes;
}

} // namespace weft::plan
