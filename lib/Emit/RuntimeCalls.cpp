// Functions of the compiler's run-time library, defined where they are needed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RuntimeCalls.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

static bool usesBFloat(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    for (const llvm::Instruction &instruction : llvm::instructions(function)) {
      if (instruction.getType()->getScalarType()->isBFloatTy())
        return true;
      for (const llvm::Use &operand : instruction.operands())
        if (operand->getType()->getScalarType()->isBFloatTy())
          return true;
    }
  return false;
}

void weft::emit::defineRuntimeCalls(llvm::Module &module) {
  constexpr char name[] = "__truncsfbf2";
  if (module.getFunction(name) || !usesBFloat(module))
    return;
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *f32 = llvm::Type::getFloatTy(context), *bf16 = llvm::Type::getBFloatTy(context);
  auto *function = llvm::Function::Create(llvm::FunctionType::get(bf16, {f32}, false),
                                          llvm::GlobalValue::InternalLinkage, name, module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", function));
  // As lower::expandToBF16: half a unit less one for an even last bit carries exactly when rounding to nearest even
  // goes up; a NaN becomes the quiet NaN of its sign.
  llvm::Value *x = function->getArg(0);
  llvm::Value *bits = b.CreateBitCast(x, b.getInt32Ty());
  llvm::Value *last = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  llvm::Value *rounded = b.CreateAdd(b.CreateAdd(bits, b.getInt32(0x7fff)), last);
  llvm::Value *quiet = b.CreateOr(bits, 0x400000);
  llvm::Value *chosen = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded);
  llvm::Value *upper = b.CreateTrunc(b.CreateLShr(chosen, 16), b.getInt16Ty());
  b.CreateRet(b.CreateBitCast(upper, bf16));
}
