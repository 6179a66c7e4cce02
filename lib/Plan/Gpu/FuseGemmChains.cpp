// weft-fuse-gemm-chains: GEMMs of a GEMM's result, in one kernel where that moves fewer bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A chain E = f(A B) D has two ways to use a fast memory of S elements: rows of A and E stay while B and D pass by, or
// all four are cut in tiles. Rows move m l (k + n)^2 / S, tiles 2 m l (k + n) / sqrt S: rows win where k + n < 2 sqrt S
// (weft/Plan/Cost/BlockOrder.h finds the order and the tiles). What the lowering has is the kernel with resident rows,
// the fold. S is a CTA's shared memory; a chain that does not pass stays two GEMMs, each tiled for itself.
//
// Seconds: a GEMM reaches 0.78 of the matrix peak (761 to 800 of 989 TFLOP/s, gemm_4096 and gemm_8192 on an H100), a
// fold 0.6 (attn_B2_H32: 537, attn_B1_H32_S16384: 669). Apart, the intermediate is written and read, in the L2 where it
// fits, and there is one more kernel.
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Dialect/TileGraph/Rewrite/FoldChain.h"
#include "weft/Plan/Cost/BlockOrder.h"
#include "weft/Plan/LevelPasses.h"
#include "weft/Target/ContextDevices.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <array>
#include <cmath>
#include <map>

namespace weft::plan {
#define GEN_PASS_DEF_FUSEGEMMCHAINS
#include "weft/Plan/LevelPasses.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

namespace {

constexpr double productEfficiency = 0.78, foldEfficiency = 0.6;
constexpr int64_t rowsOfCta = 128, leastTile = 16, leastSide = 64;

/// The two ways of a chain in numbers.
struct ChainCost {
  double elements = 0;            ///< S.
  double resident = 0, apart = 0; ///< Bytes from the L2 to the SMs.
  double fused = 0, unfused = 0;  ///< Seconds.
  bool staysResident = false;     ///< k + n < 2 sqrt S, and the order with the fewest bytes has whole rows.
  std::string order;              ///< "m, l in blocks of 384 x 64".
};

double limitOf(const ChainCost &cost) { return 2 * std::sqrt(cost.elements); }

void estimateSeconds(const tg::ChainShape &s, const Device &device, ChainCost &cost) {
  double batch = double(s.batch), m = double(s.m), l = double(s.l), outer = double(s.k + s.n);
  double b = double(s.elementBytes), flops = 2 * batch * m * l * outer, between = 2 * batch * m * l * b;
  double ends = batch * b * (m + l) * outer; // m k + k l + l n + m n elements.
  unsigned rate = s.elementBytes == 2 ? device.matrix.f16 : device.f32PerClock;
  double peak = device.perSecond(rate), bandwidth = device.memoryBandwidth;
  bool isNear = between / 2 <= double(device.effectiveL2Bytes);
  cost.unfused = std::max(flops / (productEfficiency * peak),
                          ends / bandwidth + between / (isNear ? device.l2BytesPerSecond() : bandwidth)) +
                 2 * device.kernelSeconds();
  // A CTA has rows; fewer than SMs leave some idle.
  double ctas = batch * double(llvm::divideCeil(s.m, rowsOfCta)), waves = std::ceil(ctas / device.sms);
  cost.fused =
      std::max(flops / (foldEfficiency * peak) * waves * device.sms / ctas, ends / bandwidth) + device.kernelSeconds();
}

/// The numbers, or why there are none.
std::optional<ChainCost> estimate(const tg::ChainShape &shape, const Device &device, std::string &reason) {
  if (std::min({shape.batch, shape.m, shape.k, shape.l, shape.n}) < 1) {
    reason = "the extents of the GEMMs are not known";
    return std::nullopt;
  }
  ChainCost cost;
  cost.elements = double(device.sharedPerCta) / double(shape.elementBytes);
  AffineGroup group = makeChainGroup(shape.m, shape.k, shape.l, shape.n, shape.elementBytes, shape.batch);
  BlockOrder best;
  if (!chooseBlockOrder(group, device.sharedPerCta, leastTile, best, reason))
    return std::nullopt;
  auto wholeOf = [&](unsigned dim) { return best.tile[dim] >= group.dims[dim].extent; };
  cost.staysResident = double(shape.k + shape.n) < limitOf(cost) && wholeOf(1) && wholeOf(3);
  ChainTraffic forms = computeChainTraffic(shape.m, shape.k, shape.l, shape.n, cost.elements, shape.elementBytes);
  cost.resident = best.bytes;
  cost.apart = double(shape.batch) * forms.unfused;
  for (int32_t dim : best.loops)
    if (best.tile[dim] < group.dims[dim].extent && group.dims[dim].name != "batch")
      cost.order += (cost.order.empty() ? "" : ", ") + group.dims[dim].name + " by " + std::to_string(best.tile[dim]);
  estimateSeconds(shape, device, cost);
  return cost;
}

std::string describe(const tg::ChainShape &shape, const ChainCost &cost) {
  return llvm::formatv(
      "GEMMs {0} x {1} x {2} x {3}, {4} times: k + n = {5} {6} 2 sqrt S = {7} (S = {8} elements of "
      "shared memory); {9:f1} MB to the SMs in one kernel ({10}), {11:f1} MB in two; {12:f1} us fused, "
      "{13:f1} us apart",
      shape.m, shape.k, shape.l, shape.n, shape.batch, shape.k + shape.n,
      double(shape.k + shape.n) < limitOf(cost) ? "<" : ">=", int64_t(limitOf(cost)), int64_t(cost.elements),
      cost.resident * 1e-6, cost.order.empty() ? "whole" : cost.order, cost.apart * 1e-6, cost.fused * 1e6,
      cost.unfused * 1e6);
}

struct FuseGemmChainsPass : weft::plan::impl::FuseGemmChainsBase<FuseGemmChainsPass> {
  using Base::Base;

  void runOnOperation() override {
    tg::LikelyExtents likely(getOperation());
    const Device *device = findDeviceOrError(getOperation(), target);
    if (!device)
      return signalPassFailure();
    SmallVector<tg::FoldOp> folds;
    SmallVector<tg::ContractOp> sums;
    getOperation()->walk([&](Operation *op) {
      if (auto fold = dyn_cast<tg::FoldOp>(op))
        folds.push_back(fold);
      else if (auto contract = dyn_cast<tg::ContractOp>(op); contract && !op->getParentOfType<tg::FoldOp>())
        sums.push_back(contract);
    });
    for (tg::FoldOp fold : folds)
      explain(fold, *device);
    // The last first: the GEMM before it is gone then, or part of another chain.
    llvm::SmallPtrSet<Operation *, 8> gone;
    for (tg::ContractOp sum : llvm::reverse(sums))
      if (!gone.contains(sum))
        fuse(sum, *device, gone);
  }

  /// `estimate`, once for each shape: layers repeat.
  std::optional<ChainCost> price(const tg::ChainShape &shape, const Device &device, std::string &reason) {
    auto [it, isNew] =
        prices.try_emplace({shape.batch, shape.m, shape.k, shape.l, shape.n, shape.elementBytes}, std::nullopt, "");
    auto &[cost, problem] = it->second;
    if (isNew)
      cost = estimate(shape, device, problem);
    reason = problem;
    return cost;
  }

  /// Of a fold that was derived: a chain with a softmax between its GEMMs.
  void explain(tg::FoldOp fold, const Device &device) {
    std::optional<tg::ChainShape> shape = tg::describeChain(fold);
    std::string reason;
    std::optional<ChainCost> cost = shape ? price(*shape, device, reason) : std::nullopt;
    if (cost)
      remark::analysis(fold.getLoc(), remark::RemarkOpts::name("gemm-chain").category("plan"))
          << remark::add("{0}", describe(*shape, *cost));
  }

  void fuse(tg::ContractOp sum, const Device &device, llvm::SmallPtrSetImpl<Operation *> &gone) {
    std::string reason;
    std::optional<tg::ChainShape> shape = tg::describeChain(sum, reason);
    if (!shape)
      return;
    Location loc = sum.getLoc();
    std::optional<ChainCost> cost;
    if (shape->elementBytes != 2 || std::min(shape->m, shape->l) < leastSide || (shape->k | shape->n) % leastTile != 0)
      reason = "a fold pays with 16-bit elements, 64 rows and streamed elements, and multiples of 16 terms and columns";
    else
      cost = price(*shape, device, reason);
    bool pays = cost && cost->staysResident && cost->resident < cost->apart && cost->fused < cost->unfused;
    std::string text = cost ? describe(*shape, *cost) : reason;
    Operation *root = sum;
    if (!pays || !tg::foldChain(sum, reason)) {
      remark::missed(loc, remark::RemarkOpts::name("no-gemm-chain").category("plan"))
          << remark::add("{0}", pays ? reason : text);
      return;
    }
    gone.insert(root);
    eraseDead(gone);
    ++numChains;
    remark::passed(loc, remark::RemarkOpts::name("gemm-chain").category("plan")) << remark::add("{0}", text);
  }

  std::map<std::array<int64_t, 6>, std::pair<std::optional<ChainCost>, std::string>> prices;

  void eraseDead(llvm::SmallPtrSetImpl<Operation *> &gone) {
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
      if (isOpTriviallyDead(op)) {
        gone.insert(op);
        op->erase();
      }
    });
  }
};

} // namespace
