// Words of four bytes as elements of a contraction: u8 by i8, four products added up in i32.
//
// With VNNI that is one instruction. Without it, the even and the odd bytes of both factors become 16-bit numbers,
// whose products vpmaddwd adds in pairs: exact, where the shorter way, vpmaddubsw, saturates (255 * 127 * 2 has 17
// bits).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MicroKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace weft::cpu {

Value loadWord(OpBuilder &b, Location loc, Value memory, Value at) {
  Value bytes = vector::LoadOp::create(b, loc, VectorType::get({4}, b.getI8Type()), memory, at);
  Value word = vector::BitCastOp::create(b, loc, VectorType::get({1}, b.getI32Type()), bytes);
  return vector::ExtractOp::create(b, loc, word, ArrayRef<int64_t>{0});
}

Value addQuads(OpBuilder &b, Location loc, RegisterTile tile, Value first, Value second, Value acc) {
  auto as = [&](Value value, int64_t bits) -> Value {
    return vector::BitCastOp::create(b, loc, VectorType::get({tile.vectorBits / bits}, b.getIntegerType(bits)), value);
  };
  auto call = [&](StringRef name, ValueRange arguments) -> Value {
    return LLVM::CallIntrinsicOp::create(b, loc, acc.getType(), b.getStringAttr(name), arguments).getResult(0);
  };
  if (tile.addsQuads && tile.vectorBits == 512)
    return call("llvm.x86.avx512.vpdpbusd.512", {acc, as(first, 8), as(second, 8)});
  auto shorts = VectorType::get({tile.vectorBits / 16}, b.getI16Type());
  auto all = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(shorts, APInt(16, value)));
  };
  StringRef pairs = tile.vectorBits == 512   ? "llvm.x86.avx512.pmaddw.d.512"
                    : tile.vectorBits == 256 ? "llvm.x86.avx2.pmadd.wd"
                                             : "llvm.x86.sse2.pmadd.wd";
  Value u = as(first, 16), s = as(second, 16);
  Value evenU = arith::AndIOp::create(b, loc, u, all(0xff)), oddU = arith::ShRUIOp::create(b, loc, u, all(8));
  Value evenS = arith::ShRSIOp::create(b, loc, arith::ShLIOp::create(b, loc, s, all(8)), all(8));
  Value oddS = arith::ShRSIOp::create(b, loc, s, all(8));
  acc = arith::AddIOp::create(b, loc, acc, call(pairs, {evenU, evenS}));
  return arith::AddIOp::create(b, loc, acc, call(pairs, {oddU, oddS}));
}

} // namespace weft::cpu
