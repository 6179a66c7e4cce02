// Matrix instructions of a tiled kernel, counted in its tile kernel IR.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dot counts once for each iteration of the loops around it and each tile of the launch. Where masks bound a loop it
// is not known how often it runs: then its dots count for each step of the launch's model, but for one step of each
// tile if the pipeline took dots out of the loop. Shared memory is read in wavefronts of 128 bytes: by wgmma its right
// operand for every 64 rows, by mma.sync both operands by the rows and columns of warps, which are nearly square.
#include "CountDots.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Schedule/Wgmma.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft {

namespace {
/// Instructions of all warps, and bytes that they read of shared memory.
struct Work {
  double instructions = 0, bytes = 0;

  Work operator*(double times) const { return {instructions * times, bytes * times}; }
  Work &operator+=(const Work &other) {
    instructions += other.instructions;
    bytes += other.bytes;
    return *this;
  }
};
} // namespace

static std::optional<Work> countDot(tk::DotOp dot, int64_t warps, bool &isGmma) {
  auto result = cast<tk::TileType>(dot.getResult().getType());
  auto shaped = [](Type type) -> std::pair<ArrayRef<int64_t>, Type> {
    if (auto tile = dyn_cast<tk::TileType>(type))
      return {tile.getShape(), tile.getElementType()};
    auto shared = cast<tk::SharedType>(type);
    return {shared.getShape(), shared.getElementType()};
  };
  auto [lhs, element] = shaped(dot.getLhs().getType());
  int64_t bits = tg::getElementBits(element);
  if (lhs.size() != 2 || (element.isF32() && !dot.getTf32()) || element.isF64() || bits < 8)
    return std::nullopt;
  int64_t m = result.getShape()[0], n = result.getShape()[1], k = lhs[1];
  int64_t depth = int64_t(llvm::divideCeil(k * bits / 8, schedule::wgmmaDepthBytes));
  double left = isa<tk::SharedType>(dot.getLhs().getType()) ? double(m * k * bits / 8) : 0,
         right = double(n * k * bits / 8);
  isGmma = schedule::isWgmma(dot);
  if (isGmma) {
    double blocks = double(llvm::divideCeil(m, 64)), each = blocks * double(llvm::divideCeil(n, 256));
    if (std::optional<schedule::WgmmaTiling> tiling = schedule::getWgmmaTiling(m, n, warps))
      each = double(tiling->rowGroups * tiling->columnGroups * tiling->rowSteps * tiling->columnSteps);
    return Work{4 * each * double(depth), left + right * blocks};
  }
  warps /= dot.getSlices(); // Each group of warps reads its slice.
  int64_t rows = 1;
  while (rows * rows * 4 <= warps && m / (rows * 2) >= 16)
    rows *= 2;
  return Work{double(llvm::divideCeil(m, 16) * llvm::divideCeil(n, 8) * depth),
              left * double(std::max<int64_t>(warps / rows, 1)) + right * double(rows)};
}

/// Tiles of the launch around `op`; none if they are not known.
static std::optional<double> countTiles(tk::ForTilesOp tiles) {
  double count = 1;
  for (AffineExpr extent : tiles.getExtents().getResults()) {
    std::optional<int64_t> number = tg::getConstant(extent);
    if (!number)
      return std::nullopt;
    count *= double(*number);
  }
  return count;
}

std::optional<plan::MatrixWork> countDots(ModuleOp kernel, int64_t warps) {
  plan::MatrixWork total;
  Work fixed;
  llvm::MapVector<Operation *, Work> loops; ///< Of unknown length.
  bool isKnown = true, hasGmma = false, hasMma = false;
  kernel.walk([&](tk::DotOp dot) {
    bool isGmma = false;
    std::optional<Work> work = countDot(dot, warps, isGmma);
    (isGmma ? hasGmma : hasMma) = true;
    Operation *open = nullptr;
    double times = 1;
    Operation *parent = dot->getParentOp();
    for (; parent && !isa<tk::ForTilesOp, ModuleOp>(parent); parent = parent->getParentOp())
      if (auto loop = dyn_cast<scf::ForOp>(parent)) {
        std::optional<APInt> trips = loop.getStaticTripCount();
        isKnown &= trips || !open;
        open = trips ? open : parent;
        times *= trips ? double(trips->getZExtValue()) : 1;
      }
    auto tiles = dyn_cast_or_null<tk::ForTilesOp>(parent);
    std::optional<double> points = tiles ? countTiles(tiles) : std::nullopt;
    isKnown &= work && points;
    if (!isKnown)
      return;
    total.tiles = *points;
    (open ? loops[open] : fixed) += *work * times;
  });
  if (!isKnown || hasGmma == hasMma)
    return std::nullopt;
  Work step; // Loops one behind the other share the steps.
  for (auto &[loop, work] : loops)
    if (work.instructions > step.instructions)
      step = work;
  total.isGmma = hasGmma;
  total.fixed = fixed.instructions, total.fixedBytes = fixed.bytes;
  total.perStep = step.instructions, total.perStepBytes = step.bytes;
  return total;
}

} // namespace weft
