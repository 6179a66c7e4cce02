// tk.scan and tk.sort along a dimension whose bits lie in registers and lanes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "Shuffle.h"

#include "weft/Dialect/TileKernel/Layout/Text.h"
#include "weft/Schedule/DerivedLayouts.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;
using layout::LinearLayout;

namespace {

/// Where a bit of the index along the dimension is held.
struct PlaceBit {
  bool isLane = false;
  unsigned bit = 0; ///< Of the register's or lane's number.
};

/// The bits of the index along `dim`, lowest first; nothing, with a diagnostic, unless each is one bit of the register
/// or of the lane that moves nothing else.
FailureOr<SmallVector<PlaceBit>> findPlaceBits(Operation *op, const LinearLayout &layout, unsigned dim) {
  unsigned shift = 0, count = layout.outs()[dim].bits;
  for (unsigned i = 0; i < dim; ++i)
    shift += layout.outs()[i].bits;
  uint64_t mask = ((uint64_t(1) << count) - 1) << shift;
  SmallVector<std::optional<PlaceBit>> found(count);
  bool isPlain = true;
  for (StringRef name : {"register", "lane", "warp"})
    for (auto [bit, base] : llvm::enumerate(layout.basesOf(name.str()))) {
      if (!(base & mask))
        continue;
      isPlain = isPlain && name != "warp" && llvm::isPowerOf2_64(base);
      unsigned place = llvm::countr_zero(base & mask) - shift;
      isPlain = isPlain && !found[place];
      found[place] = PlaceBit{name == "lane", unsigned(bit)};
    }
  SmallVector<PlaceBit> bits;
  for (std::optional<PlaceBit> place : found)
    if (place)
      bits.push_back(*place);
  if (!isPlain || bits.size() != count)
    return op->emitOpError("expected dimension ")
           << dim << " in registers and lanes of one warp, bit by bit, got `" << layout::printLayout(layout) << "`";
  return bits;
}

class LaneBits {
public:
  LaneBits(OpBuilder &builder, Location loc, const Role &role) : builder(builder), loc(loc) {
    Value index = getThread(builder, loc, role).lane;
    lane = arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), index);
  }
  Value constant(int64_t value) { return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value)); }
  /// Whether a bit of the lane's number is set.
  Value isSet(unsigned bit) {
    Value masked = arith::AndIOp::create(builder, loc, lane, constant(1 << bit));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, masked, constant(0));
  }
  /// The lane's number with these bits set and those cleared.
  Value with(unsigned set, unsigned cleared) {
    Value result = arith::OrIOp::create(builder, loc, lane, constant(set));
    return arith::AndIOp::create(builder, loc, result, constant(~int64_t(cleared) & 31));
  }

private:
  OpBuilder &builder;
  Location loc;
  Value lane;
};

/// Sklansky's scheme: for each bit of the index, the upper half of each block takes in the last element of its lower
/// half. In reverse, lower and upper change sides.
class LowerScan : public TilePattern<tk::ScanOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::ScanOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const LinearLayout &layout = op.getInput().getType().getLayout().getValue();
    LinearLayout lines = schedule::getLineLayout(layout, op.getDim());
    FailureOr<SmallVector<PlaceBit>> bits = findPlaceBits(op, lines, op.getDim());
    FailureOr<SmallVector<Value>> moved = convertRegisters(rewriter, op.getLoc(), info, info.getRole(op),
                                                           adaptor.getInput(), layout, lines, info.getScratch(op));
    if (failed(bits) || failed(moved))
      return failure();
    LaneBits lanes(rewriter, op.getLoc(), info.getRole(op));
    SmallVector<Value> values = *moved;
    unsigned lowerRegisters = 0, lowerLanes = 0;
    for (PlaceBit bit : *bits) {
      step(rewriter, op, lanes, values, bit, lowerRegisters, lowerLanes);
      (bit.isLane ? lowerLanes : lowerRegisters) |= 1u << bit.bit;
    }
    moved = convertRegisters(rewriter, op.getLoc(), info, info.getRole(op), values, lines, layout, info.getScratch(op));
    if (failed(moved))
      return failure();
    rewriter.replaceOpWithMultiple(op, {*moved});
    return success();
  }

private:
  static void step(OpBuilder &builder, tk::ScanOp op, LaneBits &lanes, SmallVector<Value> &values, PlaceBit bit,
                   unsigned lowerRegisters, unsigned lowerLanes) {
    Location loc = op.getLoc();
    bool isReverse = op.getReverse();
    unsigned own = 1u << bit.bit;
    // The source: the last element (in reverse the first) of the block's other half.
    unsigned setLanes = isReverse ? 0 : lowerLanes, clearLanes = isReverse ? lowerLanes : 0;
    if (bit.isLane)
      (isReverse ? setLanes : clearLanes) |= own;
    Value source = lowerLanes || bit.isLane ? lanes.with(setLanes, clearLanes) : Value();
    Value takes = bit.isLane ? lanes.isSet(bit.bit) : Value();
    if (takes && isReverse)
      takes = arith::XOrIOp::create(builder, loc, takes, arith::ConstantIntOp::create(builder, loc, 1, 1));
    SmallVector<Value> before = values;
    DenseMap<Value, Value> shuffled;
    for (unsigned reg = 0; reg < values.size(); ++reg) {
      if (!bit.isLane && bool(reg & own) == isReverse)
        continue;
      unsigned from = isReverse ? reg & ~lowerRegisters : reg | lowerRegisters;
      if (!bit.isLane)
        from ^= own;
      Value other = before[from];
      if (source) {
        Value &moved = shuffled[other];
        if (!moved)
          moved = shuffleFrom(builder, loc, other, source);
        other = moved;
      }
      SmallVector<Value> arguments{other, before[reg]};
      Value sum = inlineScalars(builder, op.getCombiner(), arguments).front();
      values[reg] = takes ? Value(arith::SelectOp::create(builder, loc, takes, sum, before[reg])) : sum;
    }
  }
};

/// Bitonic sorting: blocks of 2^(k+1) elements are merged by exchanges over the distances 2^k ... 1, every other block
/// in the opposite order.
class LowerSort : public TilePattern<tk::SortOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::SortOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const LinearLayout &layout = cast<tk::TileType>(op.getInputs()[0].getType()).getLayout().getValue();
    for (Value input : op.getInputs())
      if (cast<tk::TileType>(input.getType()).getLayout().getValue() != layout)
        return op.emitOpError("expected operands of one layout");
    LinearLayout lines = schedule::getLineLayout(layout, op.getDim());
    FailureOr<SmallVector<PlaceBit>> bits = findPlaceBits(op, lines, op.getDim());
    if (failed(bits))
      return failure();
    auto move = [&](ValueRange values, const LinearLayout &from, const LinearLayout &to) {
      return convertRegisters(rewriter, op.getLoc(), info, info.getRole(op), values, from, to, info.getScratch(op));
    };
    LaneBits lanes(rewriter, op.getLoc(), info.getRole(op));
    SmallVector<SmallVector<Value>> tuples(countRegisters(lines));
    for (ValueRange input : adaptor.getInputs()) {
      FailureOr<SmallVector<Value>> values = move(input, layout, lines);
      if (failed(values))
        return failure();
      for (auto [tuple, value] : llvm::zip(tuples, *values))
        tuple.push_back(value);
    }
    for (unsigned block = 0; block < bits->size(); ++block)
      for (unsigned distance = block + 1; distance-- > 0;)
        exchange(rewriter, op, lanes, tuples, (*bits)[distance],
                 block + 1 < bits->size() ? std::optional<PlaceBit>((*bits)[block + 1]) : std::nullopt);
    SmallVector<SmallVector<Value>> results;
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      auto column = llvm::map_to_vector(tuples, [&](SmallVector<Value> &tuple) -> Value { return tuple[i]; });
      FailureOr<SmallVector<Value>> values = move(column, lines, layout);
      if (failed(values))
        return failure();
      results.push_back(*values);
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }

private:
  using Tuple = SmallVector<Value>;

  static Value isBefore(OpBuilder &builder, tk::SortOp op, const Tuple &a, const Tuple &b) {
    Tuple arguments = a;
    llvm::append_range(arguments, b);
    return inlineScalars(builder, op.getBefore(), arguments).front();
  }
  static Tuple select(OpBuilder &builder, Location loc, Value condition, const Tuple &a, const Tuple &b) {
    Tuple result;
    for (auto [x, y] : llvm::zip(a, b))
      result.push_back(arith::SelectOp::create(builder, loc, condition, x, y));
    return result;
  }

  /// One exchange of all pairs whose indices differ in `bit`; where bit `order` of the index is set (if there is one)
  /// the later element comes first.
  static void exchange(OpBuilder &builder, tk::SortOp op, LaneBits &lanes, SmallVector<Tuple> &tuples, PlaceBit bit,
                       std::optional<PlaceBit> order) {
    Location loc = op.getLoc();
    unsigned own = 1u << bit.bit;
    Value isDescending = order && order->isLane ? lanes.isSet(order->bit) : Value();
    Value isUpper = bit.isLane ? lanes.isSet(bit.bit) : Value();
    for (unsigned reg = 0; reg < tuples.size(); ++reg) {
      if (!bit.isLane && (reg & own))
        continue;
      Tuple mine = tuples[reg], other;
      if (bit.isLane)
        for (Value value : mine)
          other.push_back(shuffleXor(builder, loc, value, own));
      else
        other = tuples[reg | own];
      // Low and high are those of the pair, the same in both lanes.
      Tuple low = isUpper ? select(builder, loc, isUpper, other, mine) : mine;
      Tuple high = isUpper ? select(builder, loc, isUpper, mine, other) : other;
      bool isDown = order && !order->isLane && (reg >> order->bit & 1);
      Tuple first = isDown ? low : high, second = isDown ? high : low;
      if (isDescending) {
        first = select(builder, loc, isDescending, low, high);
        second = select(builder, loc, isDescending, high, low);
      }
      Value swaps = isBefore(builder, op, first, second);
      tuples[reg] = select(builder, loc, swaps, other, mine);
      if (!bit.isLane)
        tuples[reg | own] = select(builder, loc, swaps, mine, other);
    }
  }
};

} // namespace

void weft::gpu::populateScanPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                     const KernelInfo &info) {
  addTilePatterns<LowerScan, LowerSort>(patterns, converter, info);
}
