// Which dots read packed operands straight from memory, and the order of their places along k.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread of m16n8k16 has two neighbouring places of k, two more eight places on, and its three neighbours the others.
// Any places will do, so long as both operands take the same: with four bits a place a thread takes the 32 places of
// one vector of 16 bytes, pair by pair, and a pair are two fields of a word that lie 16 bits apart: one instruction
// puts both into the halves of a register (lib/Lower/TileKernelToNVVM/Elements.cpp).
#include "Unpacked.h"
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

/// Bits of the place along k as m16n8k16 counts them: one within a register, two across lanes, then registers.
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

bool keepUnpacked(tk::DotOp dot, int64_t warps) {
  constexpr int64_t mostWords = 160, mostRows = 64; // Of a thread's registers; each warp loads all rows.
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
  int64_t words = (m + std::max<int64_t>(n / sharing, form->n)) * depth / 64;
  if (words > mostWords || m > mostRows)
    return false;
  dot.setDepthOrder(orderDepth(depth, fields));
  dot.removeLiveDepthAttr();
  return true;
}

} // namespace weft::schedule
