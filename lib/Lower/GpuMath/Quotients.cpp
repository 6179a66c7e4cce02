// Quotients that are rounded to 16 bits: many by one number are products with one reciprocal.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With s a power of two and r = 1 / (s d), rounded, x / d is (s x) r. Where s d and its reciprocal are normal numbers
// s d is exact, and r and the product are off by 2^-24 each, relatively: within 2 units in the last place. s is 2^64
// for |d| < 2^-64, 2^-64 for |d| > 2^64, else 1, so that this holds for every d but 0 and infinities:
//   s x overflows only if |x| >= 2^64 and |d| < 2^-64, where the quotient is beyond 2^128;
//   s x is rounded as a subnormal only if |x| < 2^-62 and |d| > 2^64, where the quotient is below 2^-126: one unit of
//   2^-149 more.
// 0, infinities and NaN come out as of the division: d = 0 gives r infinite, 0 * inf = NaN = 0 / 0.
#include "Quotients.h"
#include "GpuEmitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace weft::lower {

bool isRoundedTo16Bits(Operation *op) {
  if (!isa<arith::DivFOp>(op) || !getElementTypeOrSelf(op->getResult(0)).isF32())
    return false;
  auto is16Bits = [](Operation *user) {
    return isa<arith::TruncFOp>(user) && getElementTypeOrSelf(user->getResult(0)).getIntOrFloatBitWidth() == 16;
  };
  llvm::SetVector<Value> seen; // The quotient, and what it passes through unchanged.
  seen.insert(op->getResult(0));
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].use_empty())
      return false;
    for (Operation *user : seen[i].getUsers()) {
      // Two are rounded by one instruction; a guard chooses between a quotient and another number.
      if (isa<vector::FromElementsOp, arith::SelectOp>(user))
        seen.insert(user->getResult(0));
      else if (!is16Bits(user))
        return false;
    }
  }
  return true;
}

/// s and r of the file's comment for the divisor `d`.
static std::pair<Value, Value> makeReciprocal(ImplicitLocOpBuilder &builder, Value d) {
  GpuEmitter e(builder, d.getType());
  Value size = math::AbsFOp::create(builder, d);
  auto choose = [&](arith::CmpFPredicate predicate, double bound, double scale, Value otherwise) -> Value {
    Value isBeyond = arith::CmpFOp::create(builder, predicate, size, e.real(d, bound));
    return arith::SelectOp::create(builder, isBeyond, e.real(d, scale), otherwise);
  };
  Value scale = choose(arith::CmpFPredicate::OGT, 0x1p64, 0x1p-64, e.real(d, 1.0));
  scale = choose(arith::CmpFPredicate::OLT, 0x1p-64, 0x1p64, scale);
  return {scale, e.div(e.real(d, 1.0), e.mul(d, scale))};
}

void shareReciprocals(ModuleOp module) {
  llvm::MapVector<std::pair<Block *, Value>, SmallVector<arith::DivFOp>> divisions;
  module.walk([&](arith::DivFOp op) {
    if (op.getType().isF32() && isRoundedTo16Bits(op))
      divisions[{op->getBlock(), op.getRhs()}].push_back(op);
  });
  for (auto &[key, ops] : divisions) {
    if (ops.size() < 2)
      continue;
    ImplicitLocOpBuilder first(ops.front().getLoc(), ops.front());
    auto [scale, reciprocal] = makeReciprocal(first, key.second);
    for (arith::DivFOp op : ops) {
      ImplicitLocOpBuilder builder(op.getLoc(), op);
      GpuEmitter e(builder, op.getType());
      op.replaceAllUsesWith(e.mul(e.mul(op.getLhs(), scale), reciprocal));
      op.erase();
    }
  }
}

} // namespace weft::lower
