// Warp shuffles of scalars.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shuffle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace weft::gpu;

/// Shuffles move 32 bits: narrower values are widened, 64 bits go in two halves.
static Value shuffle(OpBuilder &builder, Location loc, Value value, Value lane, NVVM::ShflKind kind) {
  Type type = value.getType(), i32 = builder.getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  Type integer = builder.getIntegerType(bits);
  Value all = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(-1));
  Value clamp = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(31));
  auto exchange = [&](Value word) -> Value {
    return NVVM::ShflOp::create(builder, loc, word.getType(), all, word, lane, clamp, kind, UnitAttr());
  };
  if (type.isF32() || type.isInteger(32))
    return exchange(value);
  Value word = type == integer ? value : arith::BitcastOp::create(builder, loc, integer, value);
  if (bits < 32) {
    word = exchange(arith::ExtUIOp::create(builder, loc, i32, word));
    word = arith::TruncIOp::create(builder, loc, integer, word);
  } else {
    Value low = exchange(arith::TruncIOp::create(builder, loc, i32, word));
    Value half = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
    Value high = exchange(arith::TruncIOp::create(builder, loc, i32, arith::ShRUIOp::create(builder, loc, word, half)));
    high = arith::ShLIOp::create(builder, loc, arith::ExtUIOp::create(builder, loc, integer, high), half);
    word = arith::OrIOp::create(builder, loc, high, arith::ExtUIOp::create(builder, loc, integer, low));
  }
  return type == integer ? word : arith::BitcastOp::create(builder, loc, type, word);
}

Value weft::gpu::shuffleXor(OpBuilder &builder, Location loc, Value value, unsigned mask) {
  Value lanes = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(mask));
  return shuffle(builder, loc, value, lanes, NVVM::ShflKind::bfly);
}

Value weft::gpu::shuffleFrom(OpBuilder &builder, Location loc, Value value, Value lane) {
  return shuffle(builder, loc, value, lane, NVVM::ShflKind::idx);
}
