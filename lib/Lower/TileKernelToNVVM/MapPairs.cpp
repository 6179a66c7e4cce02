// Pairs of 16-bit elements: conversions from f32, arithmetic, and fields of words that become floats.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A field q of b bits becomes a float without a conversion, which takes four times an addition: the bits of 2^m + q,
// where the float has m bits behind its leading one, are those of 2^m with q in the lowest bits. One LOP3 takes the
// field out and puts the rest beside it, then 2^m is subtracted, exactly. Two fields that lie 16 bits apart in a word
// are the halves of one register. A field that ends within the m bits stays where it is: of 2^m + q 2^e the product
// with 2^-e is taken in the same instruction, so fields of a word share shifts.
#include "MapPairs.h"
#include "Memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;

namespace weft::gpu {
namespace {

bool is16Bit(Type type) { return type.isF16() || type.isBF16(); }

bool isNarrowing(Operation &op) {
  auto narrow = dyn_cast<arith::TruncFOp>(op);
  return narrow && narrow.getIn().getType().isF32() && is16Bit(narrow.getType());
}

bool isPairArithmetic(Operation &op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op) && is16Bit(op.getResult(0).getType());
}

/// (word >> position) as an integer of `bits` bits, and what is then subtracted.
struct Field {
  Value word, place;
  unsigned bits;
  bool isSigned;
  int64_t zero = 0;
};

/// The field that `op` makes a 16-bit float of, exactly, less a constant.
std::optional<Field> matchField(Operation &op) {
  if (auto difference = dyn_cast<arith::SubFOp>(op); difference && is16Bit(difference.getType())) {
    Operation *number = difference.getLhs().getDefiningOp();
    llvm::APFloat zero(0.0);
    std::optional<Field> field = number ? matchField(*number) : std::nullopt;
    if (!field || field->zero || !matchPattern(difference.getRhs(), m_ConstantFloat(&zero)) || !zero.isInteger())
      return std::nullopt;
    field->zero = int64_t(zero.convertToDouble());
    int64_t whole = int64_t(1) << (cast<FloatType>(difference.getType()).getFPMantissaWidth() - 1);
    int64_t half = field->isSigned ? int64_t(1) << (field->bits - 1) : 0;
    return field->zero >= 0 && field->zero + half <= whole ? field : std::nullopt; // 2^m and both are a number still.
  }
  if (!isa<arith::UIToFPOp, arith::SIToFPOp>(op) || !is16Bit(op.getResult(0).getType()))
    return std::nullopt;
  unsigned bits = op.getOperand(0).getType().getIntOrFloatBitWidth();
  unsigned held = cast<FloatType>(op.getResult(0).getType()).getFPMantissaWidth() - 1;
  Value value = op.getOperand(0);
  while (auto narrower = value.getDefiningOp<arith::TruncIOp>())
    value = narrower.getIn();
  APInt mask;
  if (auto masked = value.getDefiningOp<arith::AndIOp>();
      masked && matchPattern(masked.getRhs(), m_ConstantInt(&mask)) && mask.countTrailingOnes() >= bits)
    value = masked.getLhs();
  auto shift = value.getDefiningOp<arith::ShRUIOp>();
  if (!shift || !shift.getType().isInteger(32) || bits > held)
    return std::nullopt;
  return Field{shift.getLhs(), shift.getRhs(), bits, isa<arith::SIToFPOp>(op)};
}

std::optional<int64_t> constantOf(Value value) {
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  APInt number;
  return matchPattern(value, m_ConstantInt(&number)) ? std::optional(number.getSExtValue()) : std::nullopt;
}

class PairEmitter {
public:
  PairEmitter(OpBuilder &builder, Region &region, ArrayRef<Value> arguments) : builder(builder), region(region) {
    unsigned count = region.getNumArguments();
    for (unsigned i = 0; i < 2; ++i)
      scalars[i].map(region.getArguments(), arguments.slice(i * count, count));
  }

  SmallVector<Value> run() {
    Block &block = region.front();
    DenseSet<Operation *> inFields; // What only finds fields.
    for (Operation &op : llvm::reverse(block.without_terminator()))
      if (!op.use_empty() &&
          llvm::all_of(op.getUsers(), [&](Operation *user) { return inFields.contains(user) || matchField(*user); }))
        inFields.insert(&op);
    for (Operation &op : block.without_terminator())
      if (!inFields.contains(&op) || isa<arith::ConstantOp>(op) || matchField(op))
        emit(op);
    SmallVector<Value> results;
    for (unsigned i = 0; i < 2; ++i)
      for (Value value : block.getTerminator()->getOperands())
        results.push_back(scalarOf(i, value));
    return results;
  }

private:
  void emit(Operation &op) {
    if (isNarrowing(op))
      pairs[op.getResult(0)] =
          arith::TruncFOp::create(builder, op.getLoc(), pairType(op.getResult(0)), pairOf(op.getOperand(0)));
    else if (std::optional<Field> field = matchField(op))
      emitField(op, *field);
    else if (isPairArithmetic(op))
      emitArithmetic(op);
    else if (auto choice = dyn_cast<arith::SelectOp>(op);
             choice && scalarOf(0, choice.getCondition()) == scalarOf(1, choice.getCondition()) &&
             is16Bit(choice.getType()))
      pairs[choice] = arith::SelectOp::create(builder, op.getLoc(), scalarOf(0, choice.getCondition()),
                                              pairOf(choice.getTrueValue()), pairOf(choice.getFalseValue()));
    else
      clone(op);
  }

  void clone(Operation &op) {
    for (unsigned i = 0; i < 2; ++i) {
      for (Value operand : op.getOperands())
        (void)scalarOf(i, operand);
      builder.clone(op, scalars[i]);
    }
  }

  void emitArithmetic(Operation &op) {
    OperationState state(op.getLoc(), op.getName());
    state.addOperands({pairOf(op.getOperand(0)), pairOf(op.getOperand(1))});
    state.addTypes(pairType(op.getResult(0)));
    state.addAttributes(op.getAttrs());
    pairs[op.getResult(0)] = builder.create(state)->getResult(0);
  }

  void emitField(Operation &op, const Field &field) {
    Value result = op.getResult(0);
    Value words[2] = {scalarOf(0, field.word), scalarOf(1, field.word)};
    Value places[2] = {scalarOf(0, field.place), scalarOf(1, field.place)};
    std::optional<int64_t> first = constantOf(places[0]), second = constantOf(places[1]);
    constexpr int64_t half = 16;
    constexpr uint64_t bothHalves = 0x10001;
    if (words[0] == words[1] && first && second && *second == *first + half) {
      pairs[result] = takePair(op, field, words[0], *first);
      return;
    }
    if (words[0] == words[1]) { // The second is turned to the upper half.
      Location loc = op.getLoc();
      Value left = arith::SubIOp::create(builder, loc, arith::ConstantIntOp::create(builder, loc, half, 32), places[1]);
      Value turned = LLVM::FshlOp::create(builder, loc, words[1], words[1], left);
      Value upper = arith::AndIOp::create(builder, loc, turned, mask(loc, field, uint64_t(1) << half));
      Value both = arith::XOrIOp::create(builder, loc, upper,
                                         selectBits(op, shift(loc, words[0], places[0]), field, 1, bothHalves));
      pairs[result] = subtract(op, LLVM::BitcastOp::create(builder, loc, pairType(result), both), field);
      return;
    }
    for (unsigned i = 0; i < 2; ++i) {
      Value bits = selectBits(op, shift(op.getLoc(), words[i], places[i]), field, 1, 1);
      bits = arith::TruncIOp::create(builder, op.getLoc(), builder.getI16Type(), bits);
      Value number = arith::BitcastOp::create(builder, op.getLoc(), result.getType(), bits);
      scalars[i].map(result, subtract(op, number, field));
    }
  }

  /// The fields at `place` and 16 bits further.
  Value takePair(Operation &op, const Field &field, Value word, int64_t place) {
    constexpr uint64_t bothHalves = 0x10001;
    Location loc = op.getLoc();
    int64_t held = cast<FloatType>(op.getResult(0).getType()).getFPMantissaWidth() - 1;
    int64_t within = field.isSigned ? 0 : place % (held / field.bits * field.bits);
    if (place != within)
      word = shift(loc, word, makeBits(loc, uint64_t(place - within)));
    Value bits = selectBits(op, word, field, bothHalves << within, bothHalves);
    Value number = LLVM::BitcastOp::create(builder, loc, pairType(op.getResult(0)), bits);
    return within == 0 ? subtract(op, number, field) : scaleDown(op, number, field, within);
  }

  /// (2^m + q 2^e) 2^-e - 2^(m - e) - zero, of which each step is exact.
  Value scaleDown(Operation &op, Value number, const Field &field, int64_t within) {
    auto type = cast<FloatType>(op.getResult(0).getType());
    auto constant = [&](double value) -> Value {
      auto splat = DenseElementsAttr::get(pairType(op.getResult(0)), Attribute(builder.getFloatAttr(type, value)));
      return arith::ConstantOp::create(builder, op.getLoc(), splat);
    };
    double scale = std::ldexp(1.0, -int(within)), whole = std::ldexp(scale, int(type.getFPMantissaWidth()) - 1);
    return math::FmaOp::create(builder, op.getLoc(), number, constant(scale), constant(-whole - double(field.zero)));
  }

  Value shift(Location loc, Value word, Value place) { return arith::ShRUIOp::create(builder, loc, word, place); }

  /// 2^m, and for numbers with a sign half of their range more: with the highest bit flipped they count from there.
  static APFloat getOffset(Type type, const Field &field, int64_t extra = 0) {
    auto narrow = cast<FloatType>(type);
    int64_t whole = int64_t(1) << (narrow.getFPMantissaWidth() - 1);
    APFloat offset(double(whole + extra + (field.isSigned ? int64_t(1) << (field.bits - 1) : 0)));
    bool losesInfo = false;
    offset.convert(narrow.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return offset;
  }

  Value makeBits(Location loc, uint64_t bits) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(builder.getI32Type(), APInt(32, bits)));
  }
  Value mask(Location loc, const Field &field, uint64_t halves) {
    return makeBits(loc, ((uint64_t(1) << field.bits) - 1) * halves);
  }

  /// The fields of `word` in `halves` (bits 0 and 16), and 2^m beside them in `offsets`.
  Value selectBits(Operation &op, Value word, const Field &field, uint64_t halves, uint64_t offsets) {
    Location loc = op.getLoc();
    uint64_t offset = getOffset(op.getResult(0).getType(), field).bitcastToAPInt().getZExtValue();
    // Of two constants in two instructions the assembler makes no one LOP3. XOR: the highest bit of a number with a
    // sign is flipped.
    return emitAsm(builder, loc, builder.getI32Type(),
                   {word, mask(loc, field, halves), makeBits(loc, offset * offsets)}, "lop3.b32 $0, $1, $2, $3, 0x6a;",
                   "=r,r,n,n", /*hasSideEffects=*/false)
        .front();
  }

  Value subtract(Operation &op, Value number, const Field &field) {
    Type type = op.getResult(0).getType();
    auto offset = builder.getFloatAttr(type, getOffset(type, field, field.zero));
    TypedAttr value = offset;
    if (auto pair = dyn_cast<VectorType>(number.getType()))
      value = DenseElementsAttr::get(pair, Attribute(offset));
    return arith::SubFOp::create(builder, op.getLoc(), number, arith::ConstantOp::create(builder, op.getLoc(), value));
  }

  static VectorType pairType(Value value) { return VectorType::get(2, value.getType()); }

  Value pairOf(Value value) {
    Value &pair = pairs[value];
    if (!pair)
      pair = vector::FromElementsOp::create(builder, value.getLoc(), pairType(value),
                                            ValueRange{scalarOf(0, value), scalarOf(1, value)});
    return pair;
  }

  Value scalarOf(unsigned i, Value value) {
    if (!scalars[i].contains(value) && pairs.contains(value))
      scalars[i].map(value, vector::ExtractOp::create(builder, value.getLoc(), pairs[value], int64_t(i)));
    return scalars[i].lookupOrDefault(value);
  }

  OpBuilder &builder;
  Region &region;
  IRMapping scalars[2];
  DenseMap<Value, Value> pairs;
};

} // namespace

bool hasPairs(Region &region) {
  return llvm::any_of(region.front(),
                      [](Operation &op) { return isNarrowing(op) || isPairArithmetic(op) || matchField(op); });
}

unsigned findPairBit(Region &region, ArrayRef<SmallVector<Value>> inputs) {
  constexpr int64_t half = 16;
  for (Operation &op : region.front()) {
    std::optional<Field> field = matchField(op);
    auto word = field ? dyn_cast<BlockArgument>(field->word) : BlockArgument();
    auto place = field ? dyn_cast<BlockArgument>(field->place) : BlockArgument();
    if (!word || !place || word.getOwner() != &region.front() || place.getOwner() != &region.front())
      continue;
    ArrayRef<Value> words = inputs[word.getArgNumber()], places = inputs[place.getArgNumber()];
    std::optional<int64_t> first = constantOf(places[0]);
    for (unsigned bit = 0; first && size_t(1) << bit < places.size(); ++bit)
      if (words[0] == words[1u << bit] && constantOf(places[1u << bit]) == *first + half)
        return bit;
  }
  return 0;
}

SmallVector<Value> inlinePair(OpBuilder &builder, Region &region, ArrayRef<Value> arguments) {
  return PairEmitter(builder, region, arguments).run();
}

} // namespace weft::gpu
