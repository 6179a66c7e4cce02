// The loop of a tile's products.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DotLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "weft/Schedule/Wgmma.h"

using namespace mlir;
using namespace weft;

scf::ForOp schedule::findDotLoop(tk::ForTilesOp tiles, bool byWarpgroups) {
  scf::ForOp found;
  bool isOne = true;
  tiles.walk([&](tk::DotOp dot) {
    auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
    isOne &= loop && loop->getParentOp() == tiles.getOperation() && isWgmma(dot) == byWarpgroups &&
             (!found || found == loop);
    found = loop;
  });
  return isOne ? found : scf::ForOp();
}

std::optional<int64_t> schedule::countSteps(scf::ForOp loop) {
  std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound());
  auto isZero = [](Value init) {
    auto constant = init.getDefiningOp<tk::ConstantOp>();
    auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    return number && number.getValue().isPosZero();
  };
  bool counts = end && loop.getNumResults() && getConstantIntValue(loop.getLowerBound()) == 0 &&
                getConstantIntValue(loop.getStep()) == 1;
  return counts && llvm::all_of(loop.getInitArgs(), isZero) ? end : std::nullopt;
}

void schedule::takeSteps(scf::ForOp loop, Value rank, int64_t parts, int64_t steps) {
  Location loc = loop.getLoc();
  OpBuilder before(loop), inside(loop.getBody(), loop.getBody()->begin());
  Value count = arith::ConstantIndexOp::create(before, loc, steps / parts);
  if (steps % parts) { // (steps - rank) / parts, rounded up.
    Value last = arith::ConstantIndexOp::create(before, loc, steps + parts - 1);
    count = arith::DivUIOp::create(before, loc, arith::SubIOp::create(before, loc, last, rank),
                                   arith::ConstantIndexOp::create(before, loc, parts));
  }
  auto round =
      arith::MulIOp::create(inside, loc, loop.getInductionVar(), arith::ConstantIndexOp::create(before, loc, parts));
  auto step = arith::AddIOp::create(inside, loc, round, rank);
  loop.getInductionVar().replaceAllUsesExcept(step, round);
  loop.setUpperBound(count);
}

Value schedule::openExchange(OpBuilder &builder, Location loc, Value buffer, int64_t consumers, int64_t bytes) {
  Value channel;
  if (bytes)
    channel = tk::MakeChannelOp::create(builder, loc, tk::ChannelType::get(builder.getContext(), 1),
                                        tk::CopyEngine::Tma, consumers, bytes, IntegerAttr());
  tk::ClusterOpenOp::create(builder, loc, buffer, channel);
  return channel;
}
