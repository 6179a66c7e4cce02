// tk.reduce: within a thread, then by butterflies within a warp, then across warps through shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "SharedTile.h"
#include "Shuffle.h"

#include "weft/Dialect/TileKernel/Layout/Text.h"
#include "weft/Schedule/DerivedLayouts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;
using layout::LinearLayout;

namespace {

using Tuple = SmallVector<Value>; ///< One value for each operand of the reduction.

class LowerReduce : public TilePattern<tk::ReduceOp> {
public:
  using TilePattern::TilePattern;

  LogicalResult matchAndRewrite(tk::ReduceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto from = cast<tk::TileType>(op.getInputs()[0].getType());
    const LinearLayout &layout = from.getLayout().getValue();
    std::optional<LinearLayout> natural = schedule::getReducedLayout(layout, op.getDims());
    if (!natural)
      return op.emitOpError(
                 "expected a layout whose registers, lanes and warps move either reduced or kept dimensions, got `")
             << layout::printLayout(layout) << "`";
    schedule::ReducedBits bits = schedule::getReducedBits(layout, op.getDims());
    SmallVector<Tuple> tuples = reduceThread(rewriter, op, adaptor.getInputs(), layout, bits.registers);
    for (unsigned bit = 0; bit < 5; ++bit)
      if (bits.lanes >> bit & 1)
        for (Tuple &tuple : tuples) {
          Tuple other;
          for (Value value : tuple)
            other.push_back(shuffleXor(rewriter, op.getLoc(), value, 1u << bit));
          tuple = combine(rewriter, op, tuple, other);
        }
    if (bits.warps)
      reduceWarps(rewriter, op, tuples, *natural, bits.warps);

    SmallVector<SmallVector<Value>> results;
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      SmallVector<Value> values = llvm::map_to_vector(tuples, [i = i](Tuple &tuple) -> Value { return tuple[i]; });
      FailureOr<SmallVector<Value>> converted =
          convertRegisters(rewriter, op.getLoc(), info, info.getRole(op), values, *natural,
                           cast<tk::TileType>(result.getType()).getLayout().getValue(), info.getScratch(op));
      if (failed(converted))
        return failure();
      results.push_back(*converted);
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }

private:
  static Tuple combine(OpBuilder &builder, tk::ReduceOp op, const Tuple &left, const Tuple &right) {
    Tuple arguments = left;
    llvm::append_range(arguments, right);
    return inlineScalars(builder, op.getCombiner(), arguments);
  }

  /// Halves the registers bit by bit; what is left are those of the result, in order.
  static SmallVector<Tuple> reduceThread(OpBuilder &builder, tk::ReduceOp op, ArrayRef<ValueRange> inputs,
                                         const LinearLayout &layout, uint64_t reducedBits) {
    layout::Vectors bases = layout.basesOf("register");
    uint64_t keptBits = 0;
    for (auto [i, base] : llvm::enumerate(bases))
      keptBits |= uint64_t(base && !(reducedBits >> i & 1)) << i;
    std::map<uint64_t, Tuple> tuples; // By register; registers that repeat others are left out.
    for (uint64_t reg = 0; reg < inputs[0].size(); ++reg)
      if (!(reg & ~(keptBits | reducedBits)))
        tuples[reg] = llvm::map_to_vector(inputs, [&](ValueRange input) -> Value { return input[reg]; });
    for (unsigned bit = bases.size(); bit-- > 0;) {
      if (!(reducedBits >> bit & 1))
        continue;
      std::map<uint64_t, Tuple> halves;
      for (auto &[reg, tuple] : tuples)
        if (!(reg >> bit & 1))
          halves[reg] = combine(builder, op, tuple, tuples[reg | uint64_t(1) << bit]);
      tuples = std::move(halves);
    }
    SmallVector<Tuple> results;
    for (auto &[reg, tuple] : tuples)
      results.push_back(tuple);
    return results;
  }

  /// Every warp stores its part; then every thread combines the parts of its
  /// elements in the same order.
  void reduceWarps(OpBuilder &builder, tk::ReduceOp op, SmallVector<Tuple> &tuples, const LinearLayout &natural,
                   uint64_t warps) const {
    Location loc = op.getLoc();
    Role role = info.getRole(op);
    unsigned partBits = llvm::popcount(warps);
    int64_t place = info.getScratch(op);
    emitBarrier(builder, loc, role);
    SmallVector<int64_t> places;
    SmallVector<schedule::PartLayouts> layouts;
    for (unsigned i = 0; i < op.getNumOperands(); ++i) {
      unsigned bits = tk::getElementBits(getElement(op, i));
      places.push_back(place);
      layouts.push_back(schedule::getPartLayouts(natural, warps, bits));
      auto values = llvm::map_to_vector(tuples, [&](Tuple &tuple) -> Value { return tuple[i]; });
      SharedTile(builder, loc, getSharedPointer(builder, loc, info, place), layouts[i].write, role, bits).store(values);
      place += llvm::alignTo((int64_t(bits) / 8) << (partBits + natural.outBits()), 16);
    }
    emitBarrier(builder, loc, role);
    SmallVector<SmallVector<Value>> parts;
    for (unsigned i = 0; i < op.getNumOperands(); ++i)
      parts.push_back(SharedTile(builder, loc, getSharedPointer(builder, loc, info, places[i]), layouts[i].read, role,
                                 tk::getElementBits(getElement(op, i)))
                          .load(getElement(op, i)));
    for (auto [reg, tuple] : llvm::enumerate(tuples)) {
      auto getPart = [&, reg = reg](unsigned part) {
        return llvm::map_to_vector(
            parts, [&](SmallVector<Value> &values) -> Value { return values[(reg << partBits) | part]; });
      };
      tuple = getPart(0);
      for (unsigned part = 1; part < 1u << partBits; ++part)
        tuple = combine(builder, op, tuple, getPart(part));
    }
  }

  static Type getElement(tk::ReduceOp op, unsigned i) {
    return cast<tk::TileType>(op.getInputs()[i].getType()).getElementType();
  }
};

} // namespace

void weft::gpu::populateReductionPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                          const KernelInfo &info) {
  addTilePatterns<LowerReduce>(patterns, converter, info);
}
