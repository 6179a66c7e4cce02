// --weft-tk-narrow-maps: f32 arithmetic of maps whose result is rounded to 16 bits, in 16 bits where that is exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A float of p bits holds every integer up to 2^p. Sums of such integers are exact where their bound is one; a product
// of one with a number of p bits has 2 p bits at most, which f32 holds (f16: 22, bf16: 16), so f32 rounds it nowhere
// and the narrowing rounds it once: as a product in 16 bits does.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Schedule/Passes.h"

using namespace mlir;

namespace weft::schedule {

#define GEN_PASS_DEF_TKNARROWMAPS
#include "weft/Schedule/Passes.h.inc"

namespace {

/// A value in the narrow type, and an integer that its magnitude does not exceed.
struct Whole {
  Value value;
  int64_t bound;
};

class Narrower {
public:
  explicit Narrower(arith::TruncFOp root)
      : builder(root), loc(root.getLoc()), type(cast<FloatType>(root.getType())),
        mostBound(int64_t(1) << type.getFPMantissaWidth()) {}

  /// What rounds to the same as `value`; null if that is not known.
  Value narrow(Value value) {
    if (std::optional<Whole> whole = narrowInteger(value))
      return whole->value;
    if (auto choice = value.getDefiningOp<arith::SelectOp>()) {
      Value yes = narrow(choice.getTrueValue()), no = yes ? narrow(choice.getFalseValue()) : Value();
      return no ? arith::SelectOp::create(builder, loc, choice.getCondition(), yes, no).getResult() : Value();
    }
    auto product = value.getDefiningOp<arith::MulFOp>();
    if (!product)
      return {};
    for (auto [integer, factor] :
         {std::pair{product.getLhs(), product.getRhs()}, {product.getRhs(), product.getLhs()}}) {
      auto wide = factor.getDefiningOp<arith::ExtFOp>();
      if (!wide || wide.getIn().getType() != type)
        continue;
      if (std::optional<Whole> whole = narrowInteger(integer))
        return arith::MulFOp::create(builder, loc, whole->value, wide.getIn());
    }
    return {};
  }

private:
  /// `value`, where it is an integer that the type holds.
  std::optional<Whole> narrowInteger(Value value) {
    Operation *op = value.getDefiningOp();
    if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
      return narrowConstant(constant);
    if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op))
      return narrowConversion(op);
    if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op))
      return std::nullopt;
    std::optional<Whole> lhs = narrowInteger(op->getOperand(0)), rhs = narrowInteger(op->getOperand(1));
    if (!lhs || !rhs || lhs->bound + rhs->bound > mostBound)
      return std::nullopt;
    Value sum = isa<arith::AddFOp>(op) ? arith::AddFOp::create(builder, loc, lhs->value, rhs->value).getResult()
                                       : arith::SubFOp::create(builder, loc, lhs->value, rhs->value).getResult();
    return Whole{sum, lhs->bound + rhs->bound};
  }

  std::optional<Whole> narrowConstant(arith::ConstantOp constant) {
    auto number = dyn_cast<FloatAttr>(constant.getValue());
    if (!number || !number.getValue().isInteger())
      return std::nullopt;
    double value = number.getValueAsDouble();
    if (std::abs(value) > double(mostBound))
      return std::nullopt;
    return Whole{arith::ConstantOp::create(builder, loc, FloatAttr::get(type, value)), int64_t(std::abs(value))};
  }

  /// Of an integer of few bits, which may have been widened.
  std::optional<Whole> narrowConversion(Operation *op) {
    bool isSigned = isa<arith::SIToFPOp>(op);
    Value integer = op->getOperand(0);
    while (Operation *wider = integer.getDefiningOp()) {
      if (!isa<arith::ExtUIOp, arith::ExtSIOp>(wider))
        break;
      if (isa<arith::ExtSIOp>(wider) && !isSigned)
        return std::nullopt;
      isSigned = isa<arith::ExtSIOp>(wider);
      integer = wider->getOperand(0);
    }
    unsigned bits = integer.getType().getIntOrFloatBitWidth();
    if (bits >= type.getFPMantissaWidth()) // What the back end makes of bits in the float's own, without a conversion.
      return std::nullopt;
    Value number = isSigned ? arith::SIToFPOp::create(builder, loc, type, integer).getResult()
                            : arith::UIToFPOp::create(builder, loc, type, integer).getResult();
    return Whole{number, int64_t(1) << bits};
  }

  OpBuilder builder;
  Location loc;
  FloatType type;
  int64_t mostBound;
};

/// Erases what nothing uses any more, from the last op on.
void eraseDead(Block &block) {
  auto ops = llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

/// Whether the map reads integers from memory, and all of them one by one: their conversions take longer than what is
/// saved behind them (a product of 33 rows by 8 bits: 225 us narrowed, 212 else, an H100). Fields of words need none.
bool readsBytesOnly(tk::MapOp map) {
  bool hasBytes = false;
  for (Value input : map->getOperands()) {
    while (auto spread = input.getDefiningOp<tk::BroadcastOp>())
      input = spread.getInput();
    auto load = input.getDefiningOp<tk::LoadOp>();
    Type element = load ? load.getResult().getType().getElementType() : Type();
    if (element && element.isInteger(32))
      return false;
    hasBytes |= element && element.isInteger(8);
  }
  return hasBytes;
}

class TkNarrowMaps : public impl::TkNarrowMapsBase<TkNarrowMaps> {
  void runOnOperation() override {
    getOperation()->walk([&](tk::MapOp map) {
      if (readsBytesOnly(map))
        return;
      Block &body = map.getBody().front();
      bool changed = false;
      for (auto root : llvm::make_early_inc_range(body.getOps<arith::TruncFOp>())) {
        if (!root.getIn().getType().isF32() || !(root.getType().isF16() || root.getType().isBF16()))
          continue;
        if (Value narrow = Narrower(root).narrow(root.getIn())) {
          root.replaceAllUsesWith(narrow);
          changed = true;
          ++numNarrowed;
        }
      }
      if (changed)
        eraseDead(body);
    });
  }
};

} // namespace
} // namespace weft::schedule
