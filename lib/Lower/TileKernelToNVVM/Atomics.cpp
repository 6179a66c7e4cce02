// tk.store with a combiner: read-modify-write of global memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Memory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weft/Target/Device.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

static LLVM::AtomicBinOp getBinOp(tg::Monoid kind, Type element, bool isUnsigned) {
  bool isFloat = isa<FloatType>(element);
  if (kind == tg::Monoid::Add)
    return isFloat ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  if (kind == tg::Monoid::Max)
    return isFloat ? LLVM::AtomicBinOp::fmaximum : isUnsigned ? LLVM::AtomicBinOp::umax : LLVM::AtomicBinOp::max;
  return isFloat ? LLVM::AtomicBinOp::fminimum : isUnsigned ? LLVM::AtomicBinOp::umin : LLVM::AtomicBinOp::min;
}

/// Two f16 or bf16 at once: LLVM would make a compare-and-swap loop of it.
static void emitPairAdd(OpBuilder &builder, Location loc, Value base, int64_t byteOffset, ValueRange pair,
                        const Predicate &predicate) {
  SmallVector<Value> operands = packWords(builder, loc, pair);
  operands.push_back(base);
  std::string text = std::string("red.relaxed.gpu.global.add.noftz.") +
                     (pair[0].getType().isF16() ? "f16x2" : "bf16x2") + " [$1+" + std::to_string(byteOffset) + "], $0;";
  std::string constraints = "r,l,";
  if (!predicate.isTrue()) {
    operands.push_back(predicate.value);
    constraints += "b,";
    text = "@$2 " + text;
  }
  emitAsm(builder, loc, {}, operands, text, constraints + "~{memory}", /*hasSideEffects=*/true);
}

void weft::gpu::emitGlobalCombine(OpBuilder &builder, Location loc, StringRef target, tg::Monoid kind, bool isUnsigned,
                                  Value base, int64_t byteOffset, ValueRange values, const Predicate &predicate) {
  if (predicate.isFalse())
    return;
  Type element = values[0].getType();
  const Device *device = findDevice(target);
  bool hasPairs = element.isF16() || (element.isBF16() && device && device->can.bf16Atomics);
  if (kind == tg::Monoid::Add && hasPairs && values.size() > 1) {
    for (unsigned i = 0; i < values.size(); i += 2)
      emitPairAdd(builder, loc, base, byteOffset + i * 2, values.slice(i, 2), predicate);
    return;
  }
  OpBuilder::InsertionGuard guard(builder);
  if (!predicate.isTrue()) {
    auto branch = scf::IfOp::create(builder, loc, predicate.value, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  for (auto [i, value] : llvm::enumerate(values)) {
    Value offset = LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(byteOffset + int64_t(i) * bytes));
    Value pointer = LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(), base, ValueRange(offset));
    LLVM::AtomicRMWOp::create(builder, loc, getBinOp(kind, element, isUnsigned), pointer, value,
                              LLVM::AtomicOrdering::monotonic, "device");
  }
}
