// Variables of a kernel's module.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Variables.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

Value weft::gpu::getVariable(OpBuilder &builder, Location loc, const KernelInfo &info, StringRef name, int64_t bytes) {
  ModuleOp module = info.module;
  auto storage = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!storage) {
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    storage = LLVM::GlobalOp::create(top, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal, name,
                                     builder.getZeroAttr(RankedTensorType::get({bytes}, builder.getI8Type())),
                                     /*alignment=*/128, /*addrSpace=*/1);
  }
  return LLVM::AddressOfOp::create(builder, loc, storage);
}

Value weft::gpu::emitOffset(OpBuilder &builder, Location loc, Value pointer, Value bytes) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer, ValueRange(bytes));
}
