// Tiles side by side for the CTAs of a cluster: what they read in common comes from L2 once, to all of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Roles.h"
#include "weft/Schedule/Access.h"
#include "weft/Target/Multicast.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

/// Whether `value` is computed from `from`.
static bool dependsOn(Value value, Value from, llvm::SmallPtrSetImpl<Operation *> &seen) {
  if (value == from)
    return true;
  Operation *op = value.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(value))
    op = argument.getOwner()->getParentOp();
  if (!op || isa<tk::ForTilesOp>(op) || !seen.insert(op).second)
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) { return dependsOn(operand, from, seen); });
}

static bool anyDependsOn(ValueRange values, Value from) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  return llvm::any_of(values, [&](Value value) { return dependsOn(value, from, seen); });
}

/// Whether each of `ctas` CTAs can copy a part of the tile's lines: whole blocks of the swizzle (8 lines) that are a
/// box, where several indices follow the lines, too.
static bool hasParts(tk::CopyOp copy, int64_t ctas) {
  AffineMap map = copy.getMap();
  SmallVector<int64_t> shape = getLiveShape(getAccess(copy));
  std::optional<SmallVector<BoxPart>> parts = getBoxParts(map, copy.getTarget().getType().getShape());
  if (!parts || shape.size() != 2 || map.getNumResults() == 0)
    return false;
  int64_t lines = map.getResults().back().isFunctionOfDim(0) ? 1 : 0, left = shape[lines] / ctas;
  if (shape[lines] % (8 * ctas) != 0)
    return false;
  for (const BoxPart &part : llvm::reverse(*parts)) {
    if (part.dim != lines)
      continue;
    bool isOutermost = part.divisor * part.extent >= copy.getTarget().getType().getShape()[lines];
    int64_t own = isOutermost ? left : std::min(left, part.extent);
    if (left % own != 0 || (!isOutermost && part.extent % own != 0))
      return false;
    left /= own;
  }
  return left == 1;
}

/// The copies that are the same for all tiles along the dimension of `tile`, in loops that run alike.
static SmallVector<tk::CopyOp> findCommon(tk::ForTilesOp tiles, Value tile, int64_t ctas) {
  SmallVector<tk::CopyOp> copies;
  tiles.walk([&](tk::CopyOp copy) {
    auto loop = dyn_cast<scf::ForOp>(copy->getParentOp());
    if (loop && loop->getParentOp() == tiles.getOperation() && hasParts(copy, ctas) &&
        !anyDependsOn(copy.getSymbols(), tile) &&
        !anyDependsOn({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}, tile))
      copies.push_back(copy);
  });
  return copies;
}

/// Whether tiles past the end along the dimension of `tile` do nothing: boxes end with their tensors, and others access
/// memory under guards that know the tile.
static bool endsByGuards(tk::ForTilesOp tiles, Value tile) {
  auto isGuarded = [&](auto access) {
    std::optional<IntegerSet> guard = access.getGuard();
    if (!guard)
      return false;
    for (unsigned i = 0; i < access.getSymbols().size(); ++i)
      if (anyDependsOn(access.getSymbols()[i], tile) &&
          llvm::any_of(guard->getConstraints(), [&](AffineExpr each) { return each.isFunctionOfSymbol(i); }))
        return true;
    return false;
  };
  return !tiles
              .walk([&](Operation *op) {
                bool isGlobal = llvm::any_of(op->getOperandTypes(), llvm::IsaPred<tk::GlobalType>);
                if (!isGlobal || !anyDependsOn(op->getOperands(), tile))
                  return WalkResult::advance();
                auto copy = dyn_cast<tk::CopyOp>(op);
                auto load = dyn_cast<tk::LoadOp>(op);
                auto store = dyn_cast<tk::StoreOp>(op);
                bool ends = copy    ? copy.getEngine() == tk::CopyEngine::Tma || isGuarded(copy)
                            : load  ? isGuarded(load)
                            : store ? isGuarded(store)
                                    : false;
                return ends ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

bool schedule::shareTiles(tk::ForTilesOp tiles, int64_t ctas) {
  AffineMap extents = tiles.getExtents();
  SmallVector<tk::CopyOp> best;
  unsigned along = 0;
  double most = 0;
  for (auto [i, extent] : llvm::enumerate(extents.getResults())) {
    auto constant = dyn_cast<AffineConstantExpr>(extent);
    Value tile = tiles.getBody().getArgument(i);
    if (!constant || constant.getValue() < 2 || (constant.getValue() % ctas && !endsByGuards(tiles, tile)))
      continue;
    SmallVector<tk::CopyOp> copies = findCommon(tiles, tile, ctas);
    double bytes = 0, part = double(constant.getValue()) / double(llvm::alignTo(constant.getValue(), ctas));
    for (tk::CopyOp copy : copies)
      bytes += part * double(countBoxBytes(getAccess(copy)));
    if (bytes > most)
      most = bytes, best = copies, along = i;
  }
  if (best.empty())
    return false;

  Location loc = tiles.getLoc();
  SmallVector<AffineExpr> fewer(extents.getResults());
  int64_t clusters = llvm::divideCeil(cast<AffineConstantExpr>(fewer[along]).getValue(), ctas);
  fewer[along] = getAffineConstantExpr(clusters, tiles.getContext());
  tiles.setExtents(AffineMap::get(extents.getNumDims(), extents.getNumSymbols(), fewer, tiles.getContext()));
  Value argument = tiles.getBody().getArgument(along);
  OpBuilder builder(&tiles.getBody().front(), tiles.getBody().front().begin());
  auto first = arith::MulIOp::create(builder, loc, argument, arith::ConstantIndexOp::create(builder, loc, ctas));
  auto tile = arith::AddIOp::create(builder, loc, first, tk::ClusterRankOp::create(builder, loc));
  argument.replaceAllUsesExcept(tile, first);
  for (tk::CopyOp copy : best) {
    copy->setAttr(gpu::multicastAttr, builder.getUnitAttr());
    copy.getChannel().getDefiningOp()->setAttr(gpu::multicastAttr, builder.getUnitAttr());
  }
  return true;
}
