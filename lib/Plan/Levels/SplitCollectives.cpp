// weft-split-collectives: GEMMs that ranks add up, in parts of rows with a collective each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The price is a simulation of two queues, the kernels' and the links'.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Dialect/TileGraph/Rewrite/RowParts.h"
#include "weft/Plan/LevelPasses.h"
#include "weft/Plan/Resolution.h"
#include "weft/Target/ContextDevices.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace weft::plan {
#define GEN_PASS_DEF_SPLITCOLLECTIVES
#include "weft/Plan/LevelPasses.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

static constexpr int64_t mostParts = 8;

/// Where parts end. They have equally many rows but for the last one; a GEMM's tiles, whose rows are powers of two, fit
/// an eighth of the greatest power of two in a part, so that the parts' last tiles are not much emptier than the
/// whole's.
static SmallVector<int64_t> listEnds(const tg::RowParts &parts, int64_t count) {
  int64_t each = llvm::divideCeil(parts.getRows(), count);
  each = int64_t(llvm::alignTo(uint64_t(each), std::max<uint64_t>(llvm::bit_floor(uint64_t(each)) / 8, 1)));
  each = int64_t(llvm::alignTo(uint64_t(each), uint64_t(parts.getMultiple())));
  SmallVector<int64_t> ends;
  for (int64_t end = each; end < parts.getRows(); end += each)
    ends.push_back(end);
  ends.push_back(parts.getRows());
  return ends;
}

/// Until the last collective has ended. `copies`: as RowParts::estimateWork.
static double estimate(const tg::RowParts &parts, ArrayRef<int64_t> ends, const tg::LayoutRates &rates, bool copies) {
  double computed = 0, moved = 0;
  int64_t begin = 0;
  for (int64_t end : ends) {
    computed += parts.estimateWork(end - begin, rates, copies);
    moved = std::max(moved, computed) + parts.estimateCollective(end - begin, rates);
    begin = end;
  }
  return moved;
}

namespace {
struct SplitCollectivesPass : weft::plan::impl::SplitCollectivesBase<SplitCollectivesPass> {
  using Base::Base;

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (mode == "off" || !main || main.isExternal() || !main.getBody().hasOneBlock())
      return;
    tg::LikelyExtents likely(getOperation());
    const Device *device = target.empty() ? nullptr : findDevice(&getContext(), target);
    rates = tg::LayoutRates::get(device, linkRate, linkLatency);
    for (auto op : llvm::make_early_inc_range(main.getOps<tg::AllReduceOp>()))
      choose(op);
  }

private:
  static auto makeRemark(StringRef name) { return remark::RemarkOpts::name(name).category("overlap").function("main"); }

  void choose(tg::AllReduceOp op) {
    Location loc = op.getLoc();
    std::string reason;
    std::optional<tg::RowParts> parts = tg::RowParts::find(op, reason);
    if (!parts) {
      remark::missed(loc, makeRemark("whole")) << remark::add("'all_reduce' in one part: {0}", reason);
      return;
    }
    constexpr double micro = 1e6;
    bool copies = target.empty(); // The CPU's GEMMs take operands as they lie.
    int64_t asked = 0;
    (void)StringRef(mode).getAsInteger(10, asked);
    double whole = estimate(*parts, {parts->getRows()}, rates, copies), best = 0;
    SmallVector<int64_t> ends;
    for (int64_t count = asked ? asked : 2; count <= (asked ? asked : mostParts); ++count) {
      SmallVector<int64_t> tried = listEnds(*parts, count);
      double seconds = estimate(*parts, tried, rates, copies);
      if (tried.size() < 2 || (!ends.empty() && seconds >= best))
        continue;
      ends = tried;
      best = seconds;
    }
    if (ends.empty() || (!asked && !isSlower(whole, best))) {
      std::string text = ends.empty() ? llvm::formatv("its {0} rows are too few", parts->getRows()).str()
                                      : llvm::formatv("{0:F1} us with its GEMM by the model, {1:F1} us in {2} parts",
                                                      whole * micro, best * micro, ends.size())
                                            .str();
      remark::missed(loc, makeRemark("whole")) << remark::add("'all_reduce' in one part: {0}", text);
      return;
    }
    std::string text = llvm::formatv("'all_reduce' in {0} parts of {1} rows of {2}: {3:F1} us with its GEMM by the "
                                     "model, {4:F1} us in one part",
                                     ends.size(), ends.front(), parts->getRows(), best * micro, whole * micro);
    remark::passed(loc, makeRemark("parts")) << remark::add("{0}", text);
    parts->split(ends);
  }

  tg::LayoutRates rates = {};
};
} // namespace
