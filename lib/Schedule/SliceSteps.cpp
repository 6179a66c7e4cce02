// --weft-tk-slice-steps: groups of warps that take slices of each step of a tile's product.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   for k: sum = dot(a, b, sum)                     sum: [m, n]
// becomes
//   for k: sums = dot(a, b, sums)                   sums: [m, n, slices]
//   sum = reduce(sums) along the slices
//
// so that a warp's instructions do not wait for each other's sums, and warps read less of each other's operands.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "weft/Schedule/DerivedLayouts.h"
#include "weft/Schedule/Mma.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/Wgmma.h"
#include "weft/Target/Slices.h"

using namespace mlir;

namespace weft::schedule {

#define GEN_PASS_DEF_TKSLICESTEPS
#include "weft/Schedule/Passes.h.inc"

namespace {

bool isZero(Value tile) {
  auto constant = tile.getDefiningOp<tk::ConstantOp>();
  if (!constant)
    return false;
  auto number = dyn_cast<FloatAttr>(constant.getValue());
  auto integer = dyn_cast<IntegerAttr>(constant.getValue());
  return (number && number.getValue().isPosZero()) || (integer && integer.getValue().isZero());
}

/// The state of `loop` that is a dot's sum, from zero on, and nothing else.
std::optional<unsigned> findSum(scf::ForOp loop, tk::DotOp dot) {
  auto state = dyn_cast<BlockArgument>(dot.getAcc());
  if (!state || state.getOwner() != loop.getBody() || state.getArgNumber() == 0 || !state.hasOneUse() ||
      !dot.getResult().hasOneUse())
    return std::nullopt;
  unsigned number = state.getArgNumber() - 1; // Behind the induction variable.
  bool isSum = loop.getYieldedValues()[number] == dot.getResult() && isZero(loop.getInitArgs()[number]);
  return isSum ? std::optional(number) : std::nullopt;
}

/// Whether threads compute sums of many terms for the operand, window by window: they have registers for no more.
bool isWindow(Value operand, Block *body) {
  constexpr unsigned mostLoads = 4; // A tensor, its scale and shift, a gate.
  llvm::SetVector<Operation *> behind;
  unsigned loads = 0;
  auto visit = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == body && behind.insert(op))
      loads += isa<tk::LoadOp>(op);
  };
  visit(operand);
  for (unsigned i = 0; i < behind.size(); ++i)
    llvm::for_each(behind[i]->getOperands(), visit);
  return loads > mostLoads;
}

/// Slices of the dot's steps; 1 where it is no mma.sync.
int64_t countSlices(scf::ForOp loop, tk::DotOp dot) {
  std::optional<APInt> steps = loop.getStaticTripCount();
  if (!steps || dot.getLiveDepth() || isWgmma(dot) || !getMmaForm(dot) || isWindow(dot.getLhs(), dot->getBlock()) ||
      isWindow(dot.getRhs(), dot->getBlock()))
    return 1;
  ArrayRef<int64_t> shape = dot.getAcc().getType().getShape();
  Type lhs = dot.getLhs().getType();
  int64_t bytes = getTileShape(lhs)[1] * tk::getElementBits(getTileElement(lhs)) / 8;
  return gpu::countSlices(shape[0], shape[1], bytes, bytes * steps->getSExtValue(), getWarps(dot));
}

/// Adds up the slices behind the loop.
Value addSlices(scf::ForOp loop, unsigned number, tk::TileType type) {
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(loop);
  Location loc = loop.getLoc();
  Type element = type.getElementType();
  int64_t slices = type.getRank(); // The dimension that the sums have more.
  auto sum = tk::ReduceOp::create(builder, loc, TypeRange(type), ValueRange(loop.getResult(number)),
                                  ArrayRef<int64_t>(slices));
  Block &block = sum.getCombiner().emplaceBlock();
  block.addArguments({element, element}, {loc, loc});
  builder.setInsertionPointToEnd(&block);
  Value total;
  if (isa<FloatType>(element))
    total = arith::AddFOp::create(builder, loc, block.getArgument(0), block.getArgument(1));
  else
    total = arith::AddIOp::create(builder, loc, block.getArgument(0), block.getArgument(1));
  tk::YieldOp::create(builder, loc, total);
  return sum.getResult(0);
}

bool slice(tk::DotOp dot) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!loop || !isa<tk::ForTilesOp>(loop->getParentOp()))
    return false;
  std::optional<unsigned> number = findSum(loop, dot);
  int64_t slices = number ? countSlices(loop, dot) : 1;
  if (slices < 2)
    return false;
  tk::TileType whole = dot.getAcc().getType();
  SmallVector<int64_t> shape(whole.getShape());
  shape.push_back(slices);
  auto type = tk::TileType::get(shape, whole.getElementType());
  OpBuilder before(loop);
  auto zero = loop.getInitArgs()[*number].getDefiningOp<tk::ConstantOp>();
  loop.getInitArgsMutable()[*number].set(tk::ConstantOp::create(before, zero.getLoc(), type, zero.getValueAttr()));
  for (Value value : {Value(loop.getRegionIterArg(*number)), Value(dot.getResult()), Value(loop.getResult(*number))})
    value.setType(type);
  Value sum = addSlices(loop, *number, whole);
  loop.getResult(*number).replaceAllUsesExcept(sum, sum.getDefiningOp());
  if (zero.use_empty())
    zero.erase();
  return true;
}

struct TkSliceSteps : impl::TkSliceStepsBase<TkSliceSteps> {
  void runOnOperation() override {
    getOperation()->walk([&](tk::DotOp dot) { numSliced += slice(dot); });
  }
};

} // namespace
} // namespace weft::schedule
