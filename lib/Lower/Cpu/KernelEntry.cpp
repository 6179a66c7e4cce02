// weft-cpu-entry: the function of the kernel ABI around the body, in the LLVM dialect.
//
//   void entry(void *const *buffers, const int64_t *scalars, int64_t begin, int64_t end, void *scratch)
//
// The body takes each buffer as an argument of its own, which tells LLVM that they do not alias; it is not inlined, to
// keep that.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinOps.h"
#include "weft/Lower/Cpu/Passes.h"

namespace weft::cpu {
#define GEN_PASS_DEF_KERNELENTRY
#include "weft/Lower/Cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

namespace {

/// Scratch parts start at multiples of this.
constexpr int64_t partAlignment = 64;

AffineExpr alignedSize(AffineExpr bytes) { return bytes.ceilDiv(partAlignment) * partAlignment; }

/// Emits i64 arithmetic for an expression of symbols; all values are non-negative, divisors positive.
class EmitExpr : public AffineExprVisitor<EmitExpr, Value> {
public:
  EmitExpr(OpBuilder &b, Location loc, ArrayRef<Value> symbols) : b(b), loc(loc), symbols(symbols) {}

  Value visitConstantExpr(AffineConstantExpr expr) { return constant(expr.getValue()); }
  Value visitSymbolExpr(AffineSymbolExpr expr) { return symbols[expr.getPosition()]; }
  Value visitDimExpr(AffineDimExpr) { return constant(0); }
  Value visitAddExpr(AffineBinaryOpExpr e) { return LLVM::AddOp::create(b, loc, visit(e.getLHS()), visit(e.getRHS())); }
  Value visitMulExpr(AffineBinaryOpExpr e) { return LLVM::MulOp::create(b, loc, visit(e.getLHS()), visit(e.getRHS())); }
  Value visitModExpr(AffineBinaryOpExpr e) {
    return LLVM::URemOp::create(b, loc, visit(e.getLHS()), visit(e.getRHS()));
  }
  Value visitFloorDivExpr(AffineBinaryOpExpr e) {
    return LLVM::UDivOp::create(b, loc, visit(e.getLHS()), visit(e.getRHS()));
  }
  Value visitCeilDivExpr(AffineBinaryOpExpr e) {
    Value divisor = visit(e.getRHS());
    Value less = LLVM::SubOp::create(b, loc, divisor, constant(1));
    return LLVM::UDivOp::create(b, loc, LLVM::AddOp::create(b, loc, visit(e.getLHS()), less), divisor);
  }

private:
  Value constant(int64_t value) { return LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(value)); }

  OpBuilder &b;
  Location loc;
  ArrayRef<Value> symbols;
};

class KernelEntry : public weft::cpu::impl::KernelEntryBase<KernelEntry> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    LLVM::LLVMFuncOp body;
    for (LLVM::LLVMFuncOp func : module.getOps<LLVM::LLVMFuncOp>())
      if (!func.isExternal() && func.getLinkage() == LLVM::Linkage::External)
        body = func;
    auto parts = module->getAttrOfType<ArrayAttr>(weft::cpu::scratchPartsAttr);
    if (!body || !parts)
      return signalPassFailure();
    ArrayRef<Type> types = body.getFunctionType().getParams();
    size_t pointers = llvm::count_if(types, llvm::IsaPred<LLVM::LLVMPointerType>);
    if (pointers < parts.size() || types.size() < pointers + 2)
      return signalPassFailure();
    unsigned buffers = pointers - parts.size(), symbols = types.size() - pointers - 2;
    AffineExpr total = getAffineConstantExpr(0, &getContext());
    for (Attribute part : parts)
      total = total + alignedSize(cast<AffineMapAttr>(part).getValue().getResult(0));
    module->setAttr(weft::cpu::scratchAttr, AffineMapAttr::get(AffineMap::get(0, symbols, total)));
    module->removeAttr(weft::cpu::scratchPartsAttr);
    body.setName("body");
    body.setLinkage(LLVM::Linkage::Internal);
    body.setNoInline(true);
    build(module, body, buffers, symbols, parts);
  }

  static void build(ModuleOp module, LLVM::LLVMFuncOp body, unsigned buffers, unsigned symbols, ArrayAttr parts) {
    MLIRContext *context = module.getContext();
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    Location loc = body.getLoc();
    Type ptr = LLVM::LLVMPointerType::get(context), i64 = b.getI64Type(), i8 = b.getI8Type();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {ptr, ptr, i64, i64, ptr});
    auto entry = LLVM::LLVMFuncOp::create(b, loc, weft::cpu::entryName, type);
    Block *block = entry.addEntryBlock(b);
    b.setInsertionPointToStart(block);
    SmallVector<Value> arguments, symbolValues;
    auto element = [&](unsigned list, Type elementType, unsigned i) -> Value {
      Value address =
          LLVM::GEPOp::create(b, loc, ptr, elementType, block->getArgument(list), ArrayRef<LLVM::GEPArg>{int32_t(i)});
      return LLVM::LoadOp::create(b, loc, elementType, address);
    };
    for (unsigned i = 0; i < buffers; ++i)
      arguments.push_back(element(0, ptr, i));
    for (unsigned i = 0; i < symbols; ++i)
      symbolValues.push_back(element(1, i64, i));
    arguments.append(symbolValues);
    EmitExpr emit(b, loc, symbolValues);
    AffineExpr offset = getAffineConstantExpr(0, context);
    for (Attribute part : parts) {
      arguments.push_back(
          LLVM::GEPOp::create(b, loc, ptr, i8, block->getArgument(4), ArrayRef<LLVM::GEPArg>{emit.visit(offset)}));
      offset = offset + alignedSize(cast<AffineMapAttr>(part).getValue().getResult(0));
    }
    arguments.push_back(block->getArgument(2));
    arguments.push_back(block->getArgument(3));
    LLVM::CallOp::create(b, loc, body, arguments);
    LLVM::ReturnOp::create(b, loc, ValueRange{});
  }
};

} // namespace
