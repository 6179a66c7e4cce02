// Which dots read packed operands straight from memory, and the order of their elements along k.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread of m16n8k16 has two neighbouring elements of k, two more eight elements on, and its three neighbours the
// others. Any elements will do, so long as both operands take the same: with four bits an element a thread takes the 32
// elements of one vector of 16 bytes, pair by pair, and a pair are two fields of a word that lie 16 bits apart: one
// instruction puts both into the halves of a register (lib/Lower/TileKernelToNVVM/Elements.cpp).
#include "Unpacked.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "weft/Schedule/Access.h"
#include "weft/Schedule/Mma.h"

using namespace mlir;

namespace weft::schedule {

static constexpr int64_t wordBits = 32, vectorBits = 128, pairBits = 16;

int64_t countFields(tk::LoadOp load, unsigned dim) {
  AffineMap map = load.getMap();
  if (!load.getResult().getType().getElementType().isInteger(wordBits) || map.getNumResults() != 1)
    return 1;
  // The word is a sum of what the tile's other dimensions and symbols give, and of `dim` floordiv the fields.
  int64_t fields = 1;
  SmallVector<AffineExpr> terms{map.getResult(0)};
  while (!terms.empty()) {
    AffineExpr term = terms.pop_back_val();
    auto binary = dyn_cast<AffineBinaryOpExpr>(term);
    if (binary && term.getKind() == AffineExprKind::Add) {
      terms.append({binary.getLHS(), binary.getRHS()});
      continue;
    }
    if (!term.isFunctionOfDim(dim))
      continue;
    auto by = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS()) : AffineConstantExpr();
    if (fields > 1 || !by || term.getKind() != AffineExprKind::FloorDiv ||
        binary.getLHS() != getAffineDimExpr(dim, load.getContext()))
      return 1;
    fields = by.getValue();
  }
  return fields <= wordBits && llvm::isPowerOf2_64(uint64_t(fields)) ? fields : 1;
}

/// The same of the largest tile of words that `operand` is computed from.
static int64_t countFields(Value operand, unsigned dim) {
  Operation *op = operand.getDefiningOp();
  if (auto load = dyn_cast_or_null<tk::LoadOp>(op))
    return countFields(load, dim);
  int64_t fields = 1;
  if (isa_and_nonnull<tk::MapOp>(op))
    for (Value input : op->getOperands())
      fields = std::max(fields, countFields(input, dim));
  return fields;
}

/// Whether all that `value` is made of is loaded or computed where it is needed.
static bool isLoaded(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tk::MapOp, tk::BroadcastOp>(op))
    return llvm::all_of(op->getOperands(), isLoaded);
  return isa_and_nonnull<tk::LoadOp, tk::AffineOp, tk::ConstantOp, tk::GuardOp>(op);
}

bool isUnpacked(Value operand, unsigned dim) { return isLoaded(operand) && countFields(operand, dim) > 1; }

/// Bits of the index along k as m16n8k16 counts them: one within a register, two across lanes, then registers.
static SmallVector<int64_t> orderDepth(int64_t depth, int64_t fields) {
  int64_t bits = llvm::Log2_64(uint64_t(depth)), fieldBits = wordBits / fields;
  int64_t vector = std::min<int64_t>(llvm::Log2_64(uint64_t(vectorBits / fieldBits)), bits - 2);
  int64_t pair = std::min<int64_t>(llvm::Log2_64(uint64_t(std::max<int64_t>(pairBits / fieldBits, 1))), vector - 1);
  SmallVector<int64_t> order{pair, vector, vector + 1};
  for (int64_t bit = 0; bit < bits; ++bit)
    if (!llvm::is_contained(order, bit))
      order.push_back(bit);
  return order;
}

namespace {

/// Bounds of indices along k that a value's elements are zero beyond, or that a condition states: expressions in d0 for
/// the index along k, d1 for the other one, and a symbol for each of `known`.
class DepthBounds {
public:
  /// Of the load, or of the condition of tk.guard, that `value` is.
  SmallVector<AffineExpr> of(Value value, unsigned depthDim) {
    MLIRContext *context = value.getContext();
    SmallVector<AffineExpr> dims;
    for (unsigned d = 0; d < 2; ++d)
      dims.push_back(getAffineDimExpr(d == depthDim ? 0 : 1, context));
    if (auto spread = value.getDefiningOp<tk::BroadcastOp>()) {
      dims = llvm::map_to_vector(spread.getDims(), [&](int64_t d) { return dims[size_t(d)]; });
      value = spread.getInput();
    }
    auto load = value.getDefiningOp<tk::LoadOp>();
    auto condition = value.getDefiningOp<tk::GuardOp>();
    std::optional<IntegerSet> set = condition ? std::optional(condition.getGuard())
                                    : load    ? load.getGuard()
                                              : std::nullopt;
    if (!set || (load && load.getFill()) || set->getNumDims() > dims.size() ||
        !(load ? load.getIndices() : condition.getIndices()).empty())
      return {};
    SmallVector<AffineExpr> symbols;
    for (Value symbol : load ? load.getSymbols() : condition.getSymbols()) {
      auto *found = llvm::find(known, symbol);
      symbols.push_back(getAffineSymbolExpr(unsigned(found - known.begin()), context));
      if (found == known.end())
        known.push_back(symbol);
    }
    SmallVector<AffineExpr> bounds;
    for (auto [bound, isEquality] : llvm::zip_equal(set->getConstraints(), set->getEqFlags()))
      if (!isEquality)
        bounds.push_back(bound.replaceDimsAndSymbols(dims, symbols));
    return bounds;
  }

  /// Whether `bounds` have all of `wanted`.
  bool include(ArrayRef<AffineExpr> bounds, ArrayRef<AffineExpr> wanted) const {
    return llvm::all_of(wanted, [&](AffineExpr bound) {
      return llvm::any_of(bounds, [&](AffineExpr other) {
        return simplifyAffineExpr(bound - other, 2, unsigned(known.size())) ==
               getAffineConstantExpr(0, bound.getContext());
      });
    });
  }

private:
  SmallVector<Value> known;
};

} // namespace

/// What the magnitude of a scalar of a map does not exceed where the floats of the map's operands are zero.
static double boundAtZero(Value value) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  constexpr unsigned mostBits = 8;
  Operation *op = value.getDefiningOp();
  if (!op)
    return isa<FloatType>(value.getType()) ? 0 : unknown;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
      return std::abs(number.getValueAsDouble());
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    Value integer = op->getOperand(0);
    while (isa_and_nonnull<arith::ExtUIOp, arith::ExtSIOp>(integer.getDefiningOp()))
      integer = integer.getDefiningOp()->getOperand(0);
    unsigned bits = integer.getType().getIntOrFloatBitWidth();
    return bits <= mostBits ? double(1 << bits) : unknown;
  }
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return boundAtZero(op->getOperand(0));
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return boundAtZero(op->getOperand(0)) + boundAtZero(op->getOperand(1));
  if (!isa<arith::MulFOp>(op))
    return unknown;
  double lhs = boundAtZero(op->getOperand(0)), rhs = boundAtZero(op->getOperand(1));
  return lhs == unknown || rhs == unknown ? unknown : lhs * rhs;
}

/// Takes from `operand` of a product what makes it zero past the end of k, where the other operand is zero anyway and
/// this one is a number.
static void dropMask(Value operand, unsigned depthDim, Value other) {
  constexpr double mostMagnitude = 60000; // f16 holds it.
  auto map = operand.getDefiningOp<tk::MapOp>();
  if (!map || map.getNumResults() != 1)
    return;
  Block &body = map.getBody().front();
  Operation *yield = body.getTerminator();
  auto choice = yield->getOperand(0).getDefiningOp<arith::SelectOp>();
  auto condition = choice ? dyn_cast<BlockArgument>(choice.getCondition()) : BlockArgument();
  if (!condition || !matchPattern(choice.getFalseValue(), m_AnyZeroFloat()) ||
      !(boundAtZero(choice.getTrueValue()) < mostMagnitude))
    return;
  DepthBounds bounds;
  SmallVector<AffineExpr> wanted = bounds.of(map->getOperand(condition.getArgNumber()), depthDim);
  if (wanted.empty() || !bounds.include(bounds.of(other, 1 - depthDim), wanted))
    return;
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), map->getOperands()))
    if (isa<FloatType>(argument.getType()) && !bounds.include(bounds.of(input, depthDim), wanted))
      return;
  yield->setOperand(0, choice.getTrueValue());
  if (choice->use_empty())
    choice.erase();
}

bool keepUnpacked(tk::DotOp dot, int64_t warps) {
  constexpr int64_t mostRows = 64; // Each warp loads all of them.
  std::optional<MmaForm> form = getMmaForm(dot);
  auto lhs = dyn_cast<tk::TileType>(dot.getLhs().getType()), rhs = dyn_cast<tk::TileType>(dot.getRhs().getType());
  if (!form || form->k != 16 || !lhs || !rhs || !isLoaded(dot.getLhs()) || !isLoaded(dot.getRhs()))
    return false;
  int64_t fields = std::max(countFields(dot.getLhs(), 1), countFields(dot.getRhs(), 0));
  int64_t depth = rhs.getShape()[0] / dot.getSlices();
  if (fields == 1 || !llvm::isPowerOf2_64(uint64_t(depth)) || depth < form->k)
    return false;
  // Each slice's warps share the rows and columns; a thread holds its part of both over the whole step.
  int64_t sharing = std::max<int64_t>(warps / dot.getSlices(), 1), m = lhs.getShape()[0], n = rhs.getShape()[1];
  // Of equal rows half the registers are.
  int64_t rows = dot.getLhs().getDefiningOp<tk::BroadcastOp>() ? m / 2 : m;
  int64_t words = (rows + std::max<int64_t>(n / sharing, form->n)) * depth / 64;
  if (words > mostUnpackedWords || m > mostRows)
    return false;
  dot.setDepthOrder(orderDepth(depth, fields));
  dot.removeLiveDepthAttr();
  dropMasks(dot);
  return true;
}

void dropMasks(tk::DotOp dot) {
  dropMask(dot.getRhs(), /*depthDim=*/0, dot.getLhs());
  dropMask(dot.getLhs(), /*depthDim=*/1, dot.getRhs());
}

} // namespace weft::schedule
